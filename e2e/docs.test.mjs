// The documentation in a real browser: complete, usable, and without requests to other origins.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { launch, visit } from './chromium.mjs';
import { newCaller, request, sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const DOCS = '/v1/docs';
const NARROW = { viewport: { width: 390, height: 844 } };
const WIDE = { viewport: { width: 1280, height: 900 } };
const contract = JSON.parse(readFileSync(new URL('../openapi/openapi.json', import.meta.url), 'utf8'));
const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([method, { operationId: id }]) => (id ? [{ id, path, method: method.toUpperCase() }] : [])),
);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
let names;

before(async () => {
  browser = await launch();
  // Every page is in the navigation of every page.
  const { text } = await stack.ok(DOCS);
  const navigation = text.slice(text.indexOf('<nav'), text.indexOf('</nav>'));
  names = [...navigation.matchAll(/href="\/v1\/docs\/?([^"#]*)"/g)].map(([, name]) => name);
  assert.ok(names.includes('') && names.includes('reference-vaults'), names.join());
}, { timeout: 60_000 });
after(() => browser?.close());

/** Opens a page as a new caller. */
async function open(name, options = WIDE) {
  const seen = await visit(browser, stack.edge, newCaller(), options);
  const answer = await seen.page.goto(new URL(name ? `${DOCS}/${name}` : DOCS, stack.edge).href);
  assert.equal(answer.status(), 200, name);
  return seen;
}

/** Expects no requests to other origins, no violations of the content security policy and no script errors. */
function expectClean({ strangers, faults }) {
  assert.deepEqual({ strangers, faults }, { strangers: [], faults: [] });
}

describe('over HTTP', () => {
  test('llms.txt and other well-known paths lead to the documentation', async () => {
    const index = await stack.ok('/');
    for (const name of ['documentation', 'openapi', 'health', 'status', 'llms']) await stack.ok(index.json[name]);
    assert.equal((await stack.ok('/llms.txt')).text, (await stack.ok(`${DOCS}/llms.txt`)).text);
    assert.match((await stack.ok('/robots.txt')).text, /^Allow: \/v1\/docs$/m);
    assert.match((await stack.ok('/favicon.ico')).headers.get('content-type'), /^image\/svg/);
    const security = (await stack.ok('/.well-known/security.txt')).text;
    const contact = new URL(security.match(/^Contact: (.*)$/m)[1]);
    assert.equal(contact.host, new URL(stack.edge).host);
    await stack.ok(contact.pathname);
    assert.ok(Date.parse(security.match(/^Expires: (.*)$/m)[1]) > Date.now());
    const missing = await stack.get(`${DOCS}/nope`, { headers: { accept: 'text/html,*/*;q=0.8' } });
    assert.equal(missing.status, 404);
    assert.match(missing.text, /<h1>Page not found<\/h1>[\s\S]*href="\/v1\/docs\/reference"/);
    assert.equal((await stack.get(`${DOCS}/nope`)).json.error.code, 'NOT_FOUND');
  });

  test('a page has caching and security headers, and is revalidated by its ETag', async () => {
    for (const base of [stack.edge, stack.relay]) {
      const page = await request(base, DOCS);
      assert.equal(page.status, 200, page.text.slice(0, 200));
      assert.match(page.headers.get('content-type'), /^text\/html; charset=utf-8$/);
      assert.equal(page.headers.get('cache-control'), 'public, max-age=0, must-revalidate');
      assert.match(page.headers.get('content-security-policy'), /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.match(page.headers.get('content-security-policy'), /base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/);
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
      assert.equal(page.headers.get('cross-origin-resource-policy'), 'same-origin');
      for (const name of ['', '/site.js', '/llms.txt']) {
        assert.equal((await request(base, DOCS + name)).headers.get('x-content-type-options'), 'nosniff', `${base}${name}`);
      }
      const etag = page.headers.get('etag');
      const again = await request(base, DOCS, { headers: { 'if-none-match': etag } });
      assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag]);
      const head = await request(base, DOCS, { method: 'HEAD' });
      assert.deepEqual([head.status, head.text, head.headers.get('etag')], [200, '', etag]);
      assert.equal(Number(head.headers.get('content-length')), Buffer.byteLength(page.text));
    }
  });

  test('edge and origin serve the same bytes', async () => {
    for (const name of names) {
      const [edge, relay] = await Promise.all([stack.edge, stack.relay].map((base) => request(base, name ? `${DOCS}/${name}` : DOCS)));
      assert.equal(edge.headers.get('etag'), relay.headers.get('etag'), name);
    }
  });

  test('reading is not charged to the allowance', async () => {
    const headers = { 'cf-connecting-ip': newCaller() };
    for (let count = 0; count < 15; count += 1) {
      const page = await stack.get(DOCS, { headers });
      assert.deepEqual([page.status, page.headers.get('x-ratelimit-limit')], [200, null]);
    }
  });

  test('an unknown page is a 404 in the error envelope, and POST is refused', async () => {
    const missing = await stack.get(`${DOCS}/no-such-page`);
    assert.deepEqual([missing.status, missing.json.error.code], [404, 'NOT_FOUND']);
    const posted = await stack.post(DOCS, {});
    assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
  });

  test('llms.txt names every operation and links the guides as Markdown', async () => {
    const index = await stack.ok(`${DOCS}/llms.txt`);
    assert.match(index.headers.get('content-type'), /^text\/plain/);
    for (const { method, path } of operations) assert.ok(index.text.includes(`[${method} ${path}]`), `${method} ${path}`);
    const guides = [...index.text.matchAll(/\((\/v1\/docs\/[a-z-]+\.md)\)/g)].map(([, path]) => path);
    assert.ok(guides.length >= 9);
    for (const path of guides) assert.match((await stack.ok(path)).text, /^# /);
  });
});

describe('in the browser', () => {
  test('every page opens without errors or foreign requests, and does not scroll sideways on a phone', async () => {
    const seen = await visit(browser, stack.edge, newCaller(), NARROW);
    for (const name of names) {
      await seen.page.goto(new URL(name ? `${DOCS}/${name}` : DOCS, stack.edge).href);
      const beyond = await seen.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(beyond <= 0, `${name} is ${beyond} pixels too wide`);
      assert.equal(await seen.page.locator('h1').count(), 1, name);
    }
    expectClean(seen);
    await seen.context.close();
  });

  test('every operation of the OpenAPI document is listed, and the list can be filtered', async () => {
    const seen = await open('reference');
    const listed = await seen.page.locator('.operations a').evaluateAll((links) => links.map((link) => link.hash.slice(1)));
    assert.deepEqual(listed.toSorted(), operations.map(({ id }) => id).toSorted());
    // No single-character shortcut: speech input can trigger one by accident (WCAG 2.1.4).
    await seen.page.keyboard.press('/');
    assert.notEqual(await seen.page.evaluate(() => document.activeElement.id), 'filter');
    await seen.page.getByLabel('Filter operations').focus();
    await seen.page.keyboard.type('graph check');
    await seen.page.locator('.operations li:visible').first().waitFor();
    const left = await seen.page.locator('.operations li:visible').allTextContents();
    assert.ok(left.length > 0 && left.length < 5 && left.some((text) => text.includes('/v1/graph/check')), left.join());
    expectClean(seen);
    await seen.context.close();
  });

  /** Opens an operation's form on its page. */
  async function form(page, id) {
    const section = page.locator(`[data-operation="${id}"]`);
    await section.locator('.try > summary').click();
    return { section, field: (name) => section.locator(`[data-name="${name}"]:is(input, select)`), send: section.locator('.send'), status: section.locator('.answered'), body: section.locator('.answer .body') };
  }
  const answered = (locator, pattern) => locator.filter({ hasText: pattern }).waitFor({ timeout: 15_000 });

  test('a public call can be sent from the page, which shows the response', async () => {
    const seen = await open('reference-vaults');
    const list = await form(seen.page, 'VaultList');
    await list.field('limit').fill('3');
    await list.field('sortOrder').selectOption('asc');
    await list.section.getByRole('group', { name: 'riskTier' }).getByLabel('prime').check();
    await list.section.getByRole('group', { name: 'riskTier' }).getByLabel('edge').check();
    await list.send.click();
    await answered(list.status, /^200/);
    const { data, meta } = JSON.parse(await list.body.textContent());
    assert.deepEqual([data.length, meta.limit], [3, 3]);
    assert.ok(data.every(({ risk_tier: tier }) => ['Prime', 'Edge'].includes(tier)), 'checked values are sent as one comma-separated list');
    await list.section.locator('.answer summary').click();
    assert.match(await list.section.locator('.answer details code').textContent(), /x-request-id: [0-9a-f]{32}/);

    const batch = await form(seen.page, 'VaultBatch');
    await batch.section.locator('textarea').fill(JSON.stringify({ ids: [data[0].id] }));
    await batch.send.click();
    await answered(batch.status, /^200/);
    assert.equal(JSON.parse(await batch.body.textContent()).data[0].id, data[0].id);

    await list.field('page').fill('0');
    await list.send.click();
    await answered(list.status, /^400/);
    assert.equal(JSON.parse(await list.body.textContent()).error.code, 'INVALID_PARAMETER');
    expectClean(seen);
    await seen.context.close();
  });

  test('a keyed call is sent with a key that the page does not store', async () => {
    const seen = await open('reference-vaults');
    const scores = await form(seen.page, 'VaultScores');
    await scores.field('limit').fill('2');
    await scores.send.click();
    await answered(scores.status, /^401/);
    await seen.page.locator('#key').fill(stack.keys.data);
    await seen.page.locator('#key').press('Enter');
    await scores.send.click();
    await answered(scores.status, /^200/);
    assert.equal(JSON.parse(await scores.body.textContent()).data.length, 2);
    const stored = await seen.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    assert.ok(!stored.includes('pk_live_'), stored);
    await seen.page.reload();
    assert.equal(await seen.page.locator('#key').inputValue(), '');
    expectClean(seen);
    await seen.context.close();
  });

  test('the event stream is shown live until it is stopped', async () => {
    const seen = await open('reference-events');
    await seen.page.locator('#key').fill(stack.keys.data);
    const stream = await form(seen.page, 'EventStream');
    await stream.send.click();
    await answered(stream.body, /event: ready/);
    await stream.send.filter({ hasText: 'Stop' }).click();
    await answered(stream.status, /^stopped/);
    expectClean(seen);
    await seen.context.close();
  });

  test('the methodology page is compared with the rules in force and matches them', async () => {
    const seen = await open('methodology');
    await seen.page.locator('#in-force').filter({ hasText: 'Compared with' }).waitFor();
    assert.match(await seen.page.locator('#in-force').textContent(), /every value on this page matches it/);
    assert.equal(await seen.page.locator('.changed').count(), 0);
    expectClean(seen);
    await seen.context.close();
  });

  test('the status page shows every component of the feed', async () => {
    const seen = await open('status', NARROW);
    await seen.page.locator('#components li').first().waitFor();
    const { json: feed } = await stack.ok('/v1/status');
    assert.equal(await seen.page.locator('#components li').count(), feed.components.length);
    assert.equal(await seen.page.locator('#overall').getAttribute('data-status'), feed.rollup);
    expectClean(seen);
    await seen.context.close();
  });

  test('the status is announced when it changes, not at every refresh', async () => {
    const seen = await open('status');
    let feed = (await stack.ok('/v1/status')).json;
    await seen.page.route('**/v1/status', (route) => route.fulfill({ json: feed }));
    const again = (parts, rollup) => {
      feed = { ...feed, rollup, components: feed.components.map((row) => ({ ...row, status: 'operational', detail: null, ...parts[row.name] })) };
      return seen.page.evaluate(() => globalThis.read());
    };
    const says = (text) => seen.page.getByRole('status').filter({ hasText: text }).waitFor();
    await again({}, 'operational');
    await says('All components work');
    await seen.page.evaluate(() => {
      globalThis.announced = [];
      const head = document.getElementById('overall');
      new MutationObserver(() => globalThis.announced.push(head.textContent)).observe(head, { childList: true, characterData: true, subtree: true });
    });
    await again({}, 'operational');
    await again({ webhooks: { status: 'degraded', detail: 'a delivery was given up' } }, 'degraded');
    await says('Degraded: Webhooks');
    await again({ reachability: { detail: 'not sampled' } }, 'operational');
    await says('not monitored: Reachability');
    assert.equal((await seen.page.evaluate(() => globalThis.announced)).length, 2);
    expectClean(seen);
    await seen.context.close();
  });

  test('copying is announced to screen readers', async () => {
    const seen = await open('', { ...WIDE, permissions: ['clipboard-read', 'clipboard-write'] });
    await seen.page.getByRole('button', { name: 'Copy' }).first().press('Enter');
    await seen.page.getByRole('status').filter({ hasText: /^Copied$/ }).waitFor();
    assert.match(await seen.page.evaluate(() => navigator.clipboard.readText()), new RegExp(`^export RDS=${stack.edge}\\ncurl `));
    expectClean(seen);
    await seen.context.close();
  });

  test('only boxes that scroll can be focused with the keyboard', async () => {
    const seen = await open('webhooks', NARROW);
    const stops = () => seen.page.evaluate(() =>
      [...document.querySelectorAll('.scroll, .code pre')].filter((box) => (box.scrollWidth > box.clientWidth) !== (box.tabIndex === 0)).length);
    await until('narrow boxes are focusable', 5, async () => (await stops()) === 0);
    const narrow = await seen.page.locator('.code pre[tabindex]').count();
    await seen.page.setViewportSize({ width: 2200, height: 900 });
    await until('fewer boxes are focusable in a wide window', 5, async () => (await stops()) === 0 && (await seen.page.locator('.code pre[tabindex]').count()) < narrow);
    expectClean(seen);
    await seen.context.close();
  });

  test('the deprecation link leads to the list of deprecated fields', async () => {
    const answer = await stack.ok('/v1/rwa');
    const [, link] = answer.headers.get('link').match(/<([^>]+)>; rel="deprecation"/);
    const seen = await visit(browser, stack.edge, newCaller(), WIDE);
    await seen.page.goto(new URL(link, stack.edge).href);
    await seen.page.locator(new URL(link, stack.edge).hash).waitFor();
    assert.match(await seen.page.locator('main').innerText(), /aum_scope[\s\S]*use canonical_aum/);
    await seen.context.close();
  });

  test('the first Tab focuses the skip link, whatever the position of the page in the navigation', async () => {
    for (const name of ['', 'errors', 'status', 'reference-vaults', 'reference-service']) {
      const seen = await open(name);
      // The navigation is scrolled so that the page's own entry is visible.
      const [entry, frame] = await Promise.all(['#nav [aria-current]', '#nav'].map((part) => seen.page.locator(part).boundingBox()));
      assert.ok(entry.y >= frame.y - 1 && entry.y + entry.height <= frame.y + frame.height + 1, name);
      await seen.page.keyboard.press('Tab');
      assert.equal(await seen.page.evaluate(() => document.activeElement.className), 'skip', name);
      await seen.context.close();
    }
  });

  test('the skip link and the theme switch work with the keyboard, and the theme is kept', async () => {
    const seen = await open('limits', { ...WIDE, colorScheme: 'light' });
    await seen.page.keyboard.press('Tab');
    assert.equal(await seen.page.evaluate(() => document.activeElement.className), 'skip');
    await seen.page.keyboard.press('Enter');
    assert.equal(await seen.page.evaluate(() => document.activeElement.id), 'main');
    const paper = () => seen.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await seen.page.locator('#theme').press('Enter');
    assert.notEqual(await paper(), light);
    await seen.page.reload();
    assert.notEqual(await paper(), light);
    expectClean(seen);
    await seen.context.close();
  });

  test('pages can be read without scripts, and the menu works', async () => {
    const seen = await open('methodology', { ...NARROW, javaScriptEnabled: false });
    assert.match(await seen.page.locator('table').first().innerText(), /Prime\s+8/);
    assert.equal(await seen.page.locator('nav').isVisible(), false);
    await seen.page.locator('.menu').click();
    await seen.page.locator('nav').getByText('All operations').click();
    await seen.page.waitForURL('**/reference');
    assert.equal(await seen.page.locator('.operations li:visible').count(), operations.length);
    assert.equal(await seen.page.locator('.filter').isVisible(), false);
    await seen.context.close();
  });

  for (const colorScheme of ['light', 'dark']) {
    test(`axe finds no accessibility violations, ${colorScheme}`, async () => {
      const seen = await visit(browser, stack.edge, newCaller(), { ...WIDE, colorScheme, reducedMotion: 'reduce' });
      // The reference pages have one template: two of them represent all.
      const alike = (name) => name.startsWith('reference-') && !['reference-vaults', 'reference-webhooks'].includes(name);
      for (const name of names.filter((name) => !alike(name))) {
        await seen.page.goto(new URL(name ? `${DOCS}/${name}` : DOCS, stack.edge).href);
        // Forms are created when they are opened; opening two includes them in the check.
        for (const summary of (await seen.page.locator('.try > summary').all()).slice(0, 2)) await summary.click();
        await seen.page.evaluate(axe);
        const { violations } = await seen.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(violations.map(({ id, impact, nodes }) => `${name}: ${id} (${impact}) ${nodes[0].html.slice(0, 160)}`), []);
      }
      expectClean(seen);
      await seen.context.close();
    });
  }
});
