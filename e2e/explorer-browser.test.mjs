// The explorer in Chromium on the real stack: navigation, keyboard, accessibility, long tables, keys, the stream, and the book.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { launch, visit } from './chromium.mjs';
import { firstPages } from './explorer/places.mjs';
import { mint, organisation } from './operator.mjs';
import { newCaller, sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The rules of WCAG 2.2 AA. */
const RULES = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'] };
const WIDE = { viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' };

let browser;
let pages;
let holder;
let [seen, page] = [];

before(async () => {
  [browser, pages, holder] = await Promise.all([launch(), firstPages(stack), mint(stack, { plan: 'decisioning' })]);
}, { timeout: 120_000 });
after(() => browser?.close());

/** A new tab of a new caller. */
async function fresh(options = {}) {
  await seen?.context.close();
  seen = await visit(browser, stack.edge, newCaller(), { ...WIDE, ...options });
  page = seen.page;
}
beforeEach(() => fresh());
afterEach(async () => {
  const { strangers, faults } = seen;
  await seen.context.close();
  seen = undefined;
  assert.deepEqual({ strangers, faults }, { strangers: [], faults: [] });
});

/** Opens a page and waits until it is hydrated. */
async function open(path, status = 200) {
  const answer = await page.goto(new URL(path, stack.edge).href);
  assert.equal(answer.status(), status, path);
  await page.waitForSelector('html.ready');
}

/** Keeps a key in the browser, as its form does. */
const keep = (key) => page.evaluate((value) => localStorage.setItem('rds-key', value), key);

async function accessible(name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, rules), RULES);
  assert.deepEqual(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes[0].html.slice(0, 160)}`), []);
}

describe('every page', () => {
  for (const colorScheme of ['light', 'dark']) {
    test(`axe finds no violation, the page does not scroll sideways, and nothing changes when it is hydrated, ${colorScheme}`, { timeout: 240_000 }, async () => {
      for (const [name, { path }] of Object.entries(pages)) {
        await fresh({ colorScheme, viewport: colorScheme === 'light' ? { width: 1280, height: 900 } : { width: 360, height: 740 } });
        await open(path);
        const { width, room, heading } = await page.evaluate(() => ({
          width: document.documentElement.scrollWidth,
          room: innerWidth,
          heading: document.querySelectorAll('h1').length,
        }));
        assert.ok(width <= room, `${name} is ${width} pixels wide in a window of ${room}`);
        assert.equal(heading, 1, name);
        await accessible(name);
        const { strangers, faults } = seen;
        assert.deepEqual({ strangers, faults }, { strangers: [], faults: [] }, name);
      }
      await fresh({ colorScheme });
      await open('/vaults/nothing-1-0x0', 404);
      await accessible('not found');
    });
  }

  test('at 2,560 pixels nothing scrolls sideways', async () => {
    await fresh({ viewport: { width: 2560, height: 1200 } });
    for (const name of ['vaults', 'vault', 'market']) {
      await open(pages[name].path);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    }
  });
});

describe('navigation', () => {
  test('links inside load no document, move the focus to the heading, and the back button returns', async () => {
    await open('/vaults');
    await page.evaluate(() => (globalThis.same = true));
    await page.click('tbody a[href^="/vaults/"]');
    await page.waitForFunction(() => document.querySelector('h1 + .headline, .headline'));
    assert.match(new URL(page.url()).pathname, /^\/vaults\/./);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
    assert.ok((await page.title()).startsWith(await page.textContent('h1')));
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('h1').textContent === 'Vaults');
    assert.ok(await page.evaluate(() => globalThis.same));
  });

  test('headers sort, filters apply, and the address has both', async () => {
    await open('/vaults');
    await page.click('thead a:has-text("Score")');
    await page.waitForURL(/sortBy=total_score/);
    await page.waitForSelector('th[aria-sort]:has-text("Score")');
    await page.click('summary:has-text("Filters")');
    await page.check('input[name="riskTier"][value="edge"]');
    await page.click('.filters button[type="submit"]');
    await page.waitForURL(/riskTier=edge/);
    await page.waitForFunction(() => /match/.test(document.querySelector('.count')?.textContent ?? ''));
    assert.match(page.url(), /sortBy=total_score/);
    const tiers = await page.$$eval('tbody .tier', (marks) => marks.map((mark) => mark.textContent));
    assert.ok(tiers.length > 0 && tiers.every((tier) => tier === 'Edge'), tiers.join());
  });

  test('a slash focuses the search, which finds a vault; the first stop of Tab skips the menu', async () => {
    await open('/status');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'find');
    await page.keyboard.type(pages.vault.row.name);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/search\?q=/);
    await page.waitForSelector(`a[href="${pages.vault.path}"]`);
  });

  test('arrow keys walk the exposure graph', async () => {
    await open(pages.exposure.path);
    await page.focus('.graph .node.vault');
    await page.keyboard.press('ArrowRight');
    const there = await page.evaluate(() => document.activeElement.getAttribute('data-node'));
    assert.ok(there && !there.startsWith('vault:'), there);
    await page.keyboard.press('ArrowLeft');
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('data-node')), /^vault:/);
  });

  test('the theme stays over a reload, and a comparison is remembered', async () => {
    await open(pages.vault.path);
    await page.click('button:has-text("Dark")');
    await page.click('button:has-text("Compare")');
    await open('/compare');
    await page.waitForURL(/ids=/);
    await page.waitForSelector(`th a[href="${pages.vault.path}"]`);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  });
});

describe('with a key', () => {
  test('the table of vaults scrolls to its last row', async () => {
    const total = (await stack.ok('/v1/vaults?limit=1')).json.meta.total;
    await open('/vaults');
    await keep(holder.key);
    await open('/vaults');
    await page.waitForSelector('.virtual');
    await page.evaluate(() => document.querySelector('.virtual').scrollTo(0, 1e7));
    await page.waitForSelector(`tr[aria-rowindex="${total + 1}"] th a`);
    assert.equal(await page.getAttribute('table', 'aria-rowcount'), String(total + 1));
  });

  test('a key that is not known is refused, and can be removed', async () => {
    await open('/vaults');
    await page.click('summary:has-text("Key")');
    await page.fill('#key', 'rds_live_nothing');
    await page.click('button:has-text("Use this key")');
    await page.waitForSelector('h1:has-text("not accepted")');
    await page.click('summary:has-text("Key")');
    await page.click('button:has-text("Remove the key")');
    await page.waitForSelector('h1:has-text("Vaults")');
    assert.equal(await page.evaluate(() => localStorage.getItem('rds-key')), null);
  });

  test('the stream shows an event as it is published, as text', async () => {
    await open('/events');
    await keep(holder.key);
    await open('/events');
    await page.click('button:has-text("Follow the stream")');
    await page.waitForSelector('.live:has-text("Live: new events appear here.")');
    const now = (await stack.operate('/clock')).json.now;
    const title = `<img src=x onerror=alert(1)> ${organisation()}`;
    const line = { kind: 'event', observed_at: now, source: 'e2e', event_key: organisation(), event_type: 'Notice', severity: 'Info', title, occurred_at: now };
    assert.equal((await stack.operate('/ingest', { method: 'POST', body: `${JSON.stringify(line)}\n` })).status, 200);
    await page.waitForFunction((text) => document.querySelector('.live ul')?.textContent.includes(text), title);
    assert.equal(await page.$('.live img'), null);
    const found = await until('the event is listed', 30, async () => (await stack.ok(`/v1/events?search=onerror&limit=${1 + Math.floor(Math.random() * 90)}`)).json.data[0]);
    await open(`/events/${found.id}`);
    assert.equal(await page.textContent('h1'), title);
    assert.equal(await page.$('main img'), null);
  });

  test('a book is checked, limits change the verdict, and a decision is verified here and by anybody', { timeout: 90_000 }, async () => {
    const vaults = await stack.vaults();
    const [a, b] = vaults.filter(({ protocol_id: id }, at, all) => all.findIndex((one) => one.protocol_id === id) === at);
    await open('/book');
    await keep(holder.key);
    await open('/book');
    const sent = [];
    page.on('request', (request) => sent.push(request.url()));
    await page.fill('#positions', `vault,amount\n${a.id},"1,000,000"\n${b.chain_id}:${b.address},500000.50\n`);
    await page.waitForSelector('#book-state:has-text("2 vaults")');
    assert.deepEqual(sent, [], 'nothing leaves the browser before it is told to');
    await page.fill('#maxSharePerProtocol', '90');
    await page.fill('#maxSharePerAsset', '100');
    await page.click('button:has-text("Check")');
    await page.waitForSelector('.verdict');
    const before = await page.textContent('.verdict');
    await page.fill('#maxSharePerProtocol', '40');
    await page.waitForSelector('.verdict:has-text("Reject")');
    assert.ok(!before.includes('Reject'), before);
    await accessible('book with a result');
    await page.click('button:has-text("Issue a signed decision")');
    await page.waitForSelector(':text("Genuine: this browser has verified the signature.")');
    const shared = await page.getAttribute('a[href^="/v1/docs/verify#"]', 'href');
    const id = shared.split('#')[1];
    assert.equal((await stack.ok(`/v1/graph/decision/${id}/verify`)).json.data.signatureValid, true);
    await page.fill('#positions', 'vault,amount\nnothing here,1');
    await page.waitForSelector('.problems');
    assert.equal(await page.$('.verdict'), null);
  });
});

test('speed on a slow machine: largest paint and layout shift of the first page', { timeout: 90_000 }, async (context) => {
  const session = await seen.context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', { offline: false, latency: 40, downloadThroughput: 200_000, uploadThroughput: 90_000 });
  await page.addInitScript(() => {
    globalThis.measured = { paint: 0, shift: 0 };
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (globalThis.measured.paint = entry.startTime))).observe({ type: 'largest-contentful-paint', buffered: true });
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (globalThis.measured.shift += entry.value))).observe({ type: 'layout-shift', buffered: true });
  });
  await open('/');
  await page.waitForLoadState('networkidle');
  const { paint, shift } = await page.evaluate(() => globalThis.measured);
  context.diagnostic(`largest contentful paint ${Math.round(paint)} ms, layout shift ${shift.toFixed(4)}`);
  assert.ok(shift < 0.02, `the layout shifts by ${shift}`);
});
