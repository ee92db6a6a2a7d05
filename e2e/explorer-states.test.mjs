// The explorer on a stack of its own: a service without facts, a vault with very many holders, a revoked key, and a dead origin.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { launch, visit } from './chromium.mjs';
import { textOf } from './explorer/places.mjs';
import { mint, revoke, verb } from './operator.mjs';
import { ended, isAlive, serve, up } from './private-stack.mjs';
import { newCaller, request, uncachedTarget, until } from './stack.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Lists: address, path of the API, and what an empty one says. */
const LISTS = [
  ['/vaults', '/v1/vaults', 'There are no vaults yet.'],
  ['/assets', '/v1/assets/enriched', 'There are no assets yet.'],
  ['/markets', '/v1/markets', 'There are no markets yet.'],
  ['/oracles', '/v1/oracle', 'There are no feeds yet.'],
  ['/curators', '/v1/curators', 'There are no curators yet.'],
  ['/protocols', '/v1/protocols', 'There are no protocols yet.'],
  ['/chains', '/v1/chains', 'There are no chains yet.'],
  ['/events', '/v1/events', 'There are no events yet.'],
  ['/losses', '/v1/security-events/losses', 'There are no incidents yet.'],
  ['/security', '/v1/security-events', 'There are no reports yet.'],
  ['/signals', '/v1/signals', 'There are no signals yet.'],
  ['/baskets', '/v1/baskets', 'There are no baskets yet.'],
];
/** The most holders that one line of ingest may list. */
const HOLDERS = 100_000;
/** Longer than any answer stays fresh. */
const EXPIRY_SECONDS = 90;
const BANNER = '.banner:has-text("The service cannot be reached at the moment")';

let [stack, browser] = [];
let [seen, page, restarted] = [];

// Without a test clock, which the edge would not follow.
before(async () => {
  [stack, browser] = await Promise.all([up('--data', 'none'), launch()]);
}, { timeout: 400_000 });
after(async () => {
  await browser?.close();
  if (restarted) await ended(restarted, 'SIGTERM');
  await stack?.stop();
});
beforeEach(() => fresh());
afterEach(() => leave());

/** A new tab of a new caller. */
async function fresh() {
  await leave();
  seen = await visit(browser, stack.edge, newCaller(), { reducedMotion: 'reduce' });
  page = seen.page;
}

async function leave() {
  if (!seen) return;
  const { strangers, faults, context } = seen;
  seen = undefined;
  await context.close();
  assert.deepEqual({ strangers, faults }, { strangers: [], faults: [] });
}

const html = (path) => request(stack.edge, path, { headers: { accept: 'text/html', 'cf-connecting-ip': newCaller() } });

/** Opens a page and waits until it is hydrated. */
async function open(path, status = 200) {
  const answer = await page.goto(new URL(path, stack.edge).href);
  assert.equal(answer.status(), status, path);
  await page.waitForSelector('html.ready');
}

async function accessible(name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes[0].html.slice(0, 160)}`), []);
}

describe('a service without facts', () => {
  test('every list says that there is nothing yet', async () => {
    for (const [path, api, text] of LISTS) {
      const { json } = await stack.ok(api, { headers: { 'cf-connecting-ip': newCaller() } });
      assert.deepEqual(json.data, [], api);
      await fresh();
      await open(path);
      const said = await page.textContent('main');
      assert.ok(said.includes(text), `${path}: ${said}`);
      await accessible(path);
    }
  });

  test('the other pages are complete', async () => {
    for (const [path, text] of [['/status', 'Parts'], ['/book', 'Positions, as CSV'], ['/compare', 'Compare'], ['/search?q=usdc', 'Nothing is known']]) {
      await open(path);
      assert.ok((await page.textContent('main')).includes(text), path);
      await accessible(path);
    }
    await open('/vaults/nothing-1-0x0', 404);
  });
});

describe('with facts', () => {
  let vault;

  before(async () => {
    await verb(stack, 'simulate', '--vaults', '20', '--hours', '24');
    vault = await until('vaults are listed', 60, async () => (await stack.ok(uncachedTarget('/v1/vaults?limit=1&riskTier=prime,core,edge'))).json.data[0]);
  }, { timeout: 120_000 });

  test('a vault with very many holders shows their number and the largest ones', async () => {
    const address = (n) => `0x${n.toString(16).padStart(40, '0')}`;
    const holders = Array.from({ length: HOLDERS }, (_, n) => ({ address: address(n + 1), balance_raw: String(HOLDERS - n) }));
    const line = { kind: 'holder_snapshot', observed_at: new Date().toISOString(), source: 'e2e', vault_id: vault.id, backfill_complete: true, holders };
    const taken = await stack.operate('/ingest', { method: 'POST', body: JSON.stringify(line) });
    assert.equal(taken.status, 200, taken.text);
    await until('the holders are served', 60, async () => {
      const { json } = await stack.ok(`/v1/vault/${vault.chain_id}/${vault.address}/holders`, { headers: { 'cf-connecting-ip': newCaller() } });
      return json.data.holder_count === HOLDERS;
    });
    const answer = await html(`/vaults/${vault.id}`);
    assert.ok(answer.text.length < 500_000, `${answer.text.length} characters`);
    await open(`/vaults/${vault.id}`);
    const said = await page.textContent('section[aria-labelledby="holders"]');
    assert.ok(said.includes('100,000'), said);
    assert.equal(await page.locator('section[aria-labelledby="holders"] tbody tr').count(), 20);
    await accessible('a vault');
  });

  test('very long names and names from right to left fit on a telephone', async () => {
    const names = ['W'.repeat(200), 'كنز الفضة (اختبار) 123 כספת', `${'long '.repeat(39)}end`];
    const observed_at = new Date().toISOString();
    const lines = names.map((name, n) => ({
      kind: 'vault', observed_at, source: 'e2e', protocol_id: vault.protocol_id, chain_id: vault.chain_id, address: `0x${String(n + 1).padStart(40, 'e')}`,
      name, asset_mode: 'holdings',
    }));
    const taken = await stack.operate('/ingest', { method: 'POST', body: lines.map((line) => JSON.stringify(line)).join('\n') });
    assert.equal(taken.status, 200, taken.text);
    for (const [n, name] of names.entries()) {
      const id = `${vault.protocol_id}-${vault.chain_id}-${lines[n].address}`;
      await until('the vault is served', 30, async () => (await stack.get(`/v1/vaults/${id}`, { headers: { 'cf-connecting-ip': newCaller() } })).status === 200);
      for (const path of [`/vaults/${id}`, `/vaults/${id}/exposure`, `/compare?ids=${id},${vault.id}`, `/search?q=${encodeURIComponent(name)}`]) {
        await fresh();
        await page.setViewportSize({ width: 360, height: 740 });
        await open(path);
        const { width, room, isolated } = await page.evaluate((text) => ({
          width: document.documentElement.scrollWidth,
          room: innerWidth,
          isolated: [...document.querySelectorAll('main bdi')].some((it) => it.textContent.includes(text)),
        }), name);
        assert.ok(width <= room, `${path} is ${width} pixels wide`);
        assert.ok(isolated, `${path} has the name in an element of its own direction`);
        await accessible(path);
      }
    }
  });

  test('a key that was revoked is refused on the next page, says so, and can be removed', async () => {
    const holder = await mint(stack);
    await open('/chains');
    await page.evaluate((key) => localStorage.setItem('rds-key', key), holder.key);
    await open('/chains');
    await page.waitForSelector('summary:has-text("Key ✓")');
    await page.click('nav a[href="/protocols"]');
    await page.waitForSelector('h1:has-text("Protocols")');
    await revoke(stack, holder);
    await page.click('nav a[href="/curators"]');
    await page.waitForSelector('h1:has-text("The key is not accepted")');
    assert.match(await page.textContent('main'), /revoked or mistyped/);
    await accessible('a refused key');
    await page.click('summary:has-text("Key ✓")');
    await page.click('button:has-text("Remove the key")');
    await page.waitForSelector('h1:has-text("Curators")');
  });

  describe('while the origin is dead', () => {
    before(async () => {
      // What the edge has kept of a vault is what somebody has asked for.
      await html(`/vaults/${vault.id}`);
      process.kill(stack.pids.origin, 'SIGKILL');
      await until('the process has exited', 10, () => !isAlive(stack.pids.origin));
      await until('answers are stale', EXPIRY_SECONDS, async () => {
        const { headers } = await stack.get(`/v1/vaults/${vault.id}?points=180`, { headers: { 'cf-connecting-ip': newCaller() } });
        return headers.get('x-cache') === 'STALE-ERROR';
      }, 500);
    }, { timeout: 120_000 });

    test('lists and vaults that are kept are shown, and marked as old, also without JavaScript', async () => {
      for (const path of [`/vaults?sortBy=name`, `/vaults/${vault.id}`]) {
        const { status, text } = await html(path);
        assert.equal(status, 200, path);
        assert.match(textOf(text), /The service cannot be reached at the moment\. These facts are .+ old/, path);
        assert.ok(textOf(text).includes(vault.name), path);
      }
      await open('/vaults');
      await page.waitForSelector(BANNER);
      await accessible('old facts');
      await page.click(`a[href="/vaults/${vault.id}"]`);
      await page.waitForSelector(`h1:has-text("${vault.name}")`);
      await page.waitForSelector(BANNER);
    });

    test('what nobody has asked for is a page that says so and can be tried again', async () => {
      await open('/events?search=nobody-has-asked-for-this', 503);
      await page.waitForSelector('h1:has-text("Not available now")');
      assert.ok(await page.locator('a:has-text("Try again")').count());
      await accessible('not available');
    });

    test('a browser without a connection keeps the page, says so, and goes on when it has one', async () => {
      await open('/vaults');
      await seen.context.setOffline(true);
      await page.click('nav a[href="/chains"]');
      await page.waitForSelector('h1:has-text("The service cannot be reached")');
      await seen.context.setOffline(false);
      await page.click('nav a[href="/vaults"]');
      await page.waitForSelector('h1:has-text("Vaults")');
    });

    test('the mark goes away when the origin is back', async () => {
      restarted = serve(stack);
      await until('the mark is gone', 120, async () => {
        const { status, text } = await html('/vaults');
        return status === 200 && !text.includes('The service cannot be reached');
      }, 500);
      await open('/vaults');
      assert.equal(await page.locator(BANNER).count(), 0);
    });
  });
});
