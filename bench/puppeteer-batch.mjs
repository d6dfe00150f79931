// puppeteer-batch: reads pages with puppeteer-core the way its users write it.
//   node puppeteer-batch.mjs BROWSER TABS URLFILE SCRIPTFILE fresh|kept [FLAG...]
// "fresh" opens a page per URL, "kept" navigates one page per tab again and
// again. Prints one JSON line as bareloop does.
import { readFileSync } from 'node:fs';
import puppeteer from 'puppeteer-core';

const [browserPath, tabs, urlFile, scriptFile, how, ...flags] =
  process.argv.slice(2);
const urls = readFileSync(urlFile, 'utf8').split('\n').filter(Boolean);
const script = readFileSync(scriptFile, 'utf8');

const browser = await puppeteer.launch({
  executablePath: browserPath,
  headless: browserPath.endsWith('headless-shell') ? 'shell' : true,
  pipe: true,
  args: flags,
});
const total = { pages: 0, elements: 0, characters: 0 };
let next = 0;

async function read(page, url) {
  await page.goto(url, { waitUntil: 'load' });
  const result = await page.evaluate(script);
  total.pages++;
  total.elements += result.pageInfo.totalElements;
  total.characters += result.content.textLength;
}

async function slot() {
  const kept = how === 'kept' ? await browser.newPage() : null;
  while (next < urls.length) {
    const url = urls[next++];
    const page = kept ?? await browser.newPage();
    await read(page, url);
    if (!kept)
      await page.close();
  }
}

const started = performance.now();
await Promise.all(Array.from({ length: Number(tabs) }, slot));
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({
  pages: total.pages,
  seconds: Number(seconds.toFixed(3)),
  elements: total.elements,
  characters: total.characters,
}));
await browser.close();
