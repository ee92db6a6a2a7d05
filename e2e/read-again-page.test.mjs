// The page that reads scores again, in Chromium against a real node: verdicts, and where its requests go.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { World } from '../chain/world/world.mjs';
import { startNode } from './chain-node.mjs';
import { launch } from './chromium.mjs';
import { allStarted } from './private-stack.mjs';
import { flipped, worldAnswer } from './read-again-world.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const PAGE = '/v1/docs/verify';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let [browser, node, other, answer, context, page] = [];
/** The origins that were sent requests, and errors of the page. */
let [origins, faults] = [new Set(), []];
const stops = [];

before(async () => {
  browser = await launch();
  [node, other] = await allStarted(startNode(), startNode('--chain-id', '7'));
  answer = await worldAnswer(await World.create(node.url));
}, { timeout: 120_000 });
after(async () => {
  await browser?.close();
  for (const stop of stops) stop();
  node?.stop();
  other?.stop();
});

/** An endpoint that passes requests on to the node, or answers with `status`; pages may read its answers if `open`. */
async function endpoint({ open, status }) {
  const headers = open ? { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'content-type' } : {};
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method === 'OPTIONS' || status) return response.writeHead(request.method === 'OPTIONS' ? 204 : status, headers).end();
    const from = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return response.writeHead(200, headers).end(await from.text());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

beforeEach(async () => {
  [origins, faults] = [new Set(), []];
  // No address of a caller, as in other tests of pages: that header would be one more for which a node has to give permission.
  context = await browser.newContext();
  page = await context.newPage();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (/content.security.policy/i.test(message.text())) faults.push(message.text());
  });
  await page.goto(new URL(PAGE, stack.edge).href, { waitUntil: 'networkidle' });
  context.on('request', (sent) => origins.add(new URL(sent.url()).origin));
});
afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

/** Fills in the form and sends it; resolves to what the page shows. */
async function read(given, ...endpoints) {
  await page.fill('#answer', typeof given === 'string' ? given : JSON.stringify(given));
  await page.fill('#endpoints', endpoints.join('\n'));
  await page.click('#read');
  const headline = page.locator('#again-outcome:not([data-outcome="working"]) strong');
  await headline.waitFor();
  const steps = await page.locator('#again-inputs > li').evaluateAll((rows) => rows.map(({ dataset }) => [dataset.step, dataset.outcome]));
  return {
    outcome: await page.getAttribute('#again-outcome', 'data-outcome'),
    text: await page.locator('#again-outcome').innerText(),
    steps: Object.fromEntries(steps),
    shown: await page.locator('#again-result').innerText(),
  };
}

describe('the page that reads scores again', () => {
  test('confirms what the node confirms, and asks nobody else', async () => {
    const result = await read(answer, node.url);
    assert.equal(result.outcome, 'confirmed', result.text);
    assert.deepEqual([result.steps['caps.tvl_usd'], result.steps['control.timelock_seconds']], ['ok', 'ok']);
    assert.match(result.text, /1 further inputs were stated by a source/);
    assert.deepEqual([...origins], [node.url], 'the service is asked nothing');
  });

  test('works after the service became unreachable', async () => {
    await context.route(`${stack.edge}/**`, (route) => route.abort());
    const result = await read(answer, node.url);
    assert.equal(result.outcome, 'confirmed', result.text);
  });

  test('names the call that the node contradicts', async () => {
    const result = await read(flipped(answer, 'control', 'timelock_seconds', 2), node.url);
    assert.equal(result.outcome, 'contradicted', result.text);
    assert.equal(result.steps['control.timelock_seconds'], 'failed');
    assert.equal(result.steps['caps.tvl_usd'], 'ok');
    assert.match(result.shown, /2: eth_call[\s\S]*published answer[\s\S]*the node’s answer/);
  });

  test('does not count the failure of a node against the service', async () => {
    for (const [endpoints, word] of [
      [[other.url], /another chain: its id is 7/],
      [[node.url, await endpoint({ open: false })], /CORS/],
      [[await endpoint({ open: true, status: 401 })], /may need a key/],
    ]) {
      const result = await read(answer, ...endpoints);
      assert.equal(result.outcome, 'not_checked', result.text);
      assert.match(result.shown, word);
    }
    assert.equal((await read(answer, node.url, await endpoint({ open: true }))).outcome, 'confirmed', 'both nodes confirm');
  });

  test('cannot reach a host that is neither on this machine nor named with https', async () => {
    const result = await read(answer, 'http://192.0.2.1:8545');
    assert.equal(result.outcome, 'not_checked', result.text);
    faults = faults.filter((fault) => !/connect-src/.test(fault));
  });

  test('says what cannot be read', async () => {
    for (const [given, endpoint, word] of [['hello', node.url, /not JSON/], [{}, node.url, /no score_provenance/], [answer, 'node', /must begin with https/]]) {
      const result = await read(given, endpoint);
      assert.equal(result.outcome, 'fault', result.text);
      assert.match(result.text, word);
      assert.equal(await page.locator('#again-result').isVisible(), false);
    }
  });

  test('cannot send what was pasted from the page itself: only the worker may ask nodes', async () => {
    const sent = await page.evaluate((url) => fetch(url, { method: 'POST', body: '{}' }).then(() => 'sent', () => 'blocked'), node.url);
    assert.equal(sent, 'blocked');
    assert.match(faults.join(), /connect-src/);
    faults = [];
    const policy = async (path) => (await stack.ok(path)).headers.get('content-security-policy');
    assert.match(await policy(PAGE), /connect-src 'self';/);
    assert.match(await policy('/v1/docs/read-again-worker.mjs'), /connect-src 'self' https: http:\/\/localhost:\* http:\/\/127\.0\.0\.1:\*$/);
  });

  test('has no accessibility violations with a result, fits a phone, and is cleared', async () => {
    await read(flipped(answer, 'caps', 'tvl_usd', 1), node.url);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    assert.deepEqual(violations.map(({ id, nodes }) => `${id} ${nodes[0].html.slice(0, 160)}`), []);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
    await page.click('#again .clear');
    assert.equal(await page.inputValue('#answer'), '');
    assert.equal(await page.locator('#again-result').isVisible(), false);
  });
});
