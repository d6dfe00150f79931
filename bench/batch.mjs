// batch: pages per second and controller CPU of one batch of 100 local pages,
// ours against its peers, in turns within one run.
//   node batch.mjs BUILDDIR [--rounds N] [--tabs 1,3,5] [--sites 1|20]
//                           [--browser FILE] [--chromium FILE] [--only NAME,...]
// Puppeteer drives the full Chromium, as for its users, and in rows of its own
// the headless shell that the service and the bare loop use.
// Ratios within one run are what counts; absolute figures belong to a machine.
import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync }
  from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const build = args.shift();
const option = (name, value) => {
  const i = args.indexOf('--' + name);
  return i === -1 ? value : args[i + 1];
};
if (!build) {
  console.error('usage: node batch.mjs BUILDDIR [--rounds N] [--tabs 1,3,5] ' +
    '[--sites 1|20] [--browser FILE] [--only NAME,...]');
  process.exit(2);
}
const rounds = Number(option('rounds', '3'));
const tabCounts = option('tabs', '1,3,5').split(',').map(Number);
const sites = Number(option('sites', '1'));
const browser =
  option('browser', '/usr/lib/chromium/chromium-headless-shell');
const chromium = option('chromium', '/usr/lib/chromium/chromium');
const only = option('only', '').split(',').filter(Boolean);
const work = mkdtempSync(join(tmpdir(), 'browsertask-bench.'));
const children = new Set();

function start(command, argv, options = {}) {
  const child = spawn(command, argv,
    { stdio: ['pipe', 'pipe', 'inherit'], ...options });
  children.add(child);
  child.on('exit', () => children.delete(child));
  return child;
}

async function firstLine(stream) {
  for await (const line of createInterface({ input: stream }))
    return line;
  throw new Error('no output');
}

// CPU seconds of a process tree, browsers left out. Sampled, since processes
// end and their parents' sums would count the browser too.
class CpuMeter {
  constructor(pid, onBrowser = () => {}) {
    this.pid = pid;
    this.onBrowser = onBrowser;
    this.seen = new Map();
    this.before = 0;
    this.timer = setInterval(() => this.sample(), 40);
  }

  sample() {
    const queue = [this.pid];
    while (queue.length > 0) {
      const pid = queue.pop();
      try {
        const exe = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
        if (/^(chromium|headless_shell|chrome)/.test(exe)) {
          this.onBrowser(pid);
          continue;
        }
        const ns = readFileSync(`/proc/${pid}/schedstat`, 'utf8');
        this.seen.set(pid, Number(ns.split(' ')[0]) / 1e9);
        queue.push(...readFileSync(
          `/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
          .filter(Boolean).map(Number));
      } catch {
        // It ended between two reads.
      }
    }
  }

  total() {
    this.sample();
    return [...this.seen.values()].reduce((a, b) => a + b, 0);
  }

  stop() {
    clearInterval(this.timer);
    return this.total();
  }
}

async function peer(command, argv) {
  const child = start(command, argv, { cwd: here });
  const meter = new CpuMeter(child.pid);
  const result = JSON.parse(await firstLine(child.stdout));
  const cpu = meter.stop();
  if (child.exitCode === null)
    await once(child, 'exit');
  return { ...result, cpu };
}

class Service {
  async start() {
    this.child = start(join(build, 'launcher/browsertaskd'), [
      '-P', build, '-s', join(work, 'state'), '-r', join(work, 'run'),
      '-B', browser, '--ready-fd', '3',
    ], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
    await firstLine(this.child.stdio[3]);
  }

  ctl(...argv) {
    return execFileSync(join(build, 'ctl/browsertaskctl'), argv, {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
      env: {
        ...process.env,
        BROWSERTASK_SOCKET: join(work, 'run/client.sock'),
      },
    });
  }

  // The bare loop gets the flags of the service's own browser; puppeteer keeps
  // what it gives its users.
  noteFlags(pid) {
    if (this.flags)
      return;
    // Chromium writes its title with blanks between the arguments.
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split(/[\0 ]/);
    if (argv.length > 5 && !argv.some(a => a.startsWith('--type=')))
      this.flags = argv.slice(1).filter(a => a &&
        a !== '--remote-debugging-pipe' && !a.startsWith('--user-data-dir'))
        .concat('--user-data-dir=' + join(work, 'profile'));
  }

  async batch(urlFile, tabs) {
    const meter = new CpuMeter(this.child.pid, pid => this.noteFlags(pid));
    const before = meter.total();
    const argv = ['submit', 'batch_extract_pages', 'urls=@' + urlFile,
      'concurrency:=' + tabs, '--mode', 'sync', '--json'];
    const ctl = start(join(build, 'ctl/browsertaskctl'), argv, {
      env: {
        ...process.env,
        BROWSERTASK_SOCKET: join(work, 'run/client.sock'),
      },
    });
    const ctlMeter = new CpuMeter(ctl.pid);
    let text = '';
    for await (const chunk of ctl.stdout)
      text += chunk;
    const cpu = meter.stop() - before + ctlMeter.stop();
    const run = JSON.parse(text);
    if (run.status !== 'succeeded')
      throw new Error(`run ${run.status}: ${text.slice(0, 400)}`);
    const read = name => JSON.parse(
      this.ctl('artifact', 'get', run.runId, '--kind', name));
    const items = read('extraction');
    const step = read('task_result').steps
      .find(s => s.meta && s.meta.items !== undefined) ??
      read('task_result').steps.at(-1);
    const sum = f => items.reduce((n, item) => n + f(item), 0);
    return {
      pages: items.length,
      seconds: step.duration_ms / 1000,
      elements: sum(item => item.pageInfo.totalElements),
      characters: sum(item => item.content.textLength),
      cpu,
      whole: run.metrics.elapsedMs / 1000,
    };
  }
}

const median = list => {
  const sorted = [...list].sort((a, b) => a - b);
  const mid = sorted.length >> 1;
  return sorted.length % 2 ? sorted[mid] : (sorted[mid - 1] + sorted[mid]) / 2;
};

async function main() {
  const site = start(join(build, 'site/demosite'), ['--exit-on-eof']);
  const address = new URL(await firstLine(site.stdout));
  const urlFile = join(work, 'urls');
  const urls = [];
  for (let k = 1; k <= 100; k++) {
    const host = sites === 1 ? address.host :
      `${'abcdefghijklmnopqrst'[k % sites]}.localhost:${address.port}`;
    urls.push(`http://${host}/corpus/${k}`);
  }
  writeFileSync(urlFile, urls.join('\n') + '\n');
  const script = join(build, 'bench/extract.js');
  const service = new Service();
  await service.start();

  const puppeteer = (program, tabs, how) => peer(process.execPath,
    ['puppeteer-batch.mjs', program, tabs, urlFile, script, how]);
  const contenders = {
    'browsertaskd': tabs => service.batch(urlFile, tabs),
    'bare loop': tabs => peer(join(build, 'bench/bareloop'),
      ['-b', browser, '-k', tabs, '-u', urlFile, '-s', script, '--',
        ...service.flags]),
    'puppeteer, page per URL': tabs => puppeteer(chromium, tabs, 'fresh'),
    'puppeteer, kept pages': tabs => puppeteer(chromium, tabs, 'kept'),
    'puppeteer on the shell, page per URL':
      tabs => puppeteer(browser, tabs, 'fresh'),
    'puppeteer on the shell, kept pages':
      tabs => puppeteer(browser, tabs, 'kept'),
  };
  const names = Object.keys(contenders)
    .filter(name => only.length === 0 || only.some(o => name.startsWith(o)));
  const results = {};
  for (const tabs of tabCounts)
    for (let round = 0; round < rounds; round++)
      for (const name of names) {
        const r = await contenders[name](String(tabs));
        ((results[tabs] ??= {})[name] ??= []).push(r);
        console.error(`tabs ${tabs} round ${round + 1} ${name}: ` +
          `${(r.pages / r.seconds).toFixed(1)} pages/s, ` +
          `${r.cpu.toFixed(3)} s CPU, ${r.pages} pages, ` +
          `${r.elements} elements, ${r.characters} characters`);
      }
  report(results, names);
  service.child.kill();
  site.kill();
}

function report(results, names) {
  console.log(`\n100 pages, ${sites} site(s), median of ${rounds}\n`);
  console.log('| contender | ' + tabCounts.map(t =>
    `${t} tab${t > 1 ? 's' : ''}: pages/s | ours × | CPU s`).join(' | ') +
    ' |');
  console.log('|---|' + '---|'.repeat(tabCounts.length * 3));
  for (const name of names) {
    const cells = tabCounts.flatMap(tabs => {
      const rate = n => median(results[tabs][n].map(r => r.pages / r.seconds));
      const ours = results[tabs].browsertaskd ? rate('browsertaskd') : NaN;
      return [rate(name).toFixed(1), (ours / rate(name)).toFixed(2),
        median(results[tabs][name].map(r => r.cpu)).toFixed(3)];
    });
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
  const all = Object.values(results).flatMap(r => Object.values(r).flat());
  const same = all.every(r => r.pages === all[0].pages &&
    r.elements === all[0].elements && r.characters === all[0].characters);
  console.log(same ? '\nAll contenders read the same content.' :
    '\nThe contenders did NOT read the same content.');
}

try {
  await main();
} finally {
  for (const child of children)
    child.kill();
  rmSync(work, { recursive: true, force: true });
}
