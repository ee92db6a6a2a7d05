// What a reader sees when the API refuses, fails, cannot be reached, or answers with what it has kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, PAGES, refusal, visit } from './answers.mjs';
import { built } from './built.mjs';
import { problemsOf, stateOf, textOf } from './html.mjs';

const { explore, stored } = await built();
const MAIN = Object.entries(PAGES).filter(([, [, main]]) => main);
/** Pages that fail where their main answer does. */
const failing = async (name, answer) => {
  const [path, main] = PAGES[name];
  const special = { [decodeURIComponent(main)]: answer, [main]: answer };
  const response = await explore(visit(path), stored, api({ special }).ask);
  const html = await response.text();
  assert.deepEqual(problemsOf(html), [], name);
  assert.ok(stateOf(html).failure, name);
  return { response, html, text: textOf(html) };
};

const CASES = [
  ['a record that is not there', () => refusal(404, 'NOT_FOUND'), 404, 'Not found'],
  ['too many requests', () => refusal(429, 'RATE_LIMITED', { 'retry-after': '90' }), 429, 'The next try may succeed in 1 minute.'],
  ['a service that is not available', () => refusal(503, 'UNAVAILABLE'), 503, 'Not available now'],
  ['a key that is needed', () => refusal(401, 'UNAUTHORIZED'), 401, 'A key is needed'],
  ['a plan that does not include it', () => refusal(403, 'FORBIDDEN'), 403, 'Not allowed with this key'],
  ['an address that is not valid', () => refusal(400, 'INVALID_PARAMETER'), 400, 'Open this page without filters'],
  ['a service that cannot be reached', () => () => Promise.reject(new Error('unreachable')), 503, 'The service cannot be reached'],
  [
    'an answer that is not JSON',
    () => new Response('{"data": [', { headers: { 'content-type': 'application/json' } }),
    502,
    'The answer of the service cannot be read.',
  ],
  ['an error that is not JSON', () => new Response('<h1>Bad gateway</h1>', { status: 502 }), 502, 'The service answered with status 502.'],
];

for (const [what, answer, status, sentence] of CASES) {
  test(`${what}: every page says so with status ${status}`, async () => {
    for (const [name] of MAIN) {
      const { response, text } = await failing(name, answer());
      assert.equal(response.status, status, name);
      assert.ok(text.includes(sentence), `${name}: ${text}`);
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.equal(response.headers.get('etag'), null);
    }
  });
}

test('429 says when another try may succeed, to programs too', async () => {
  const { response, text } = await failing('vaults', refusal(429, 'RATE_LIMITED', { 'retry-after': '7' }));
  assert.equal(response.headers.get('retry-after'), '7');
  assert.match(text, /in 7 seconds/);
  assert.match(text, /A key has a limit of its own/);
});

test('a failure shows its request id and hostile messages as text', async () => {
  const { html, text } = await failing('vault', refusal(503, 'UNAVAILABLE', {}, '<img src=x onerror=alert(1)>'));
  assert.ok(text.includes('Request id: r-1'));
  assert.ok(!html.includes('<img'));
  assert.ok(text.includes('<img src=x onerror=alert(1)>'));
});

test('a failed page has no body for HEAD', async () => {
  const response = await explore(visit('/vaults', {}, 'HEAD'), stored, api({ special: () => refusal(503, 'UNAVAILABLE') }).ask);
  assert.equal(response.status, 503);
  assert.equal(await response.text(), '');
});

/** Parts that a page can do without: its name, the end of the API path, and what it calls the part. */
const PARTS = [
  ['vaults', '/v1/stats', 'totals'],
  ['vault', '/score-history', 'the history of the score'],
  ['vault', '/holders', 'holders'],
  ['exposure', '/look-through', 'the whole graph'],
  ['asset', '/v1/vaults', 'vaults'],
  ['market', '/events', 'events'],
  ['chain', '/v1/vaults', 'vaults'],
  ['chain', '/v1/events', 'events'],
  ['basket', '/changes', 'changes'],
  ['index-levels', '/levels', 'levels'],
  ['compare', '', 'the vault '],
  ...['/v1/vaults', '/v1/events', '/v1/markets', '/v1/chains'].map((path) => ['search', path, path.slice(4)]),
];

for (const [name, end, what] of PARTS) {
  test(`${name} without ${what} is a page with a sentence`, async () => {
    const sentences = [
      [refusal(404, 'NOT_FOUND'), `There is no record of ${what}`],
      [refusal(401, 'UNAUTHORIZED'), `A key that allows it is needed for ${what}`],
      [refusal(403, 'FORBIDDEN'), `A key that allows it is needed for ${what}`],
      [refusal(429, 'RATE_LIMITED', { 'retry-after': '60' }), 'can be loaded again in 1 minute.'],
      [refusal(503, 'UNAVAILABLE'), 'cannot be loaded now.'],
      [() => Promise.reject(new Error('unreachable')), 'cannot be loaded now.'],
      [new Response('{'), 'cannot be loaded now.'],
    ];
    for (const [answer, sentence] of sentences) {
      const special = (path) => (path.endsWith(end) && path !== PAGES[name][1] ? answer : undefined);
      const response = await explore(visit(PAGES[name][0]), stored, api({ special }).ask);
      const html = await response.text();
      assert.equal(response.status, 200);
      assert.deepEqual(problemsOf(html), []);
      assert.ok(textOf(html).toLowerCase().includes(sentence.toLowerCase()), `${sentence}: ${textOf(html)}`);
    }
  });
}

test('a vault without its score history still shows value and events', async () => {
  const special = (path) => (path.endsWith('/score-history') ? refusal(503, 'UNAVAILABLE') : undefined);
  const text = textOf(await (await explore(visit(PAGES.vault[0]), stored, api({ special }).ask)).text());
  assert.match(text, /Value locked: \$918\.99M/);
});

test('answers that were kept are marked with their age, the oldest one counts', async () => {
  const kept = (age) => ({ warning: '111 - "Revalidation Failed"', age: String(age) });
  for (const [name, [path]] of Object.entries(PAGES)) {
    if (name === 'book') continue;
    const response = await explore(visit(path), stored, api({ headers: kept(600) }).ask);
    const html = await response.text();
    assert.equal(response.status, 200, name);
    assert.deepEqual(problemsOf(html), []);
    assert.match(textOf(html), /The service cannot be reached at the moment\. These facts are 10 minutes old\./, name);
  }
  const special = { '/v1/stats': () => Response.json({ data: {} }, { headers: kept(7300) }) };
  const text = textOf(await (await explore(visit('/vaults'), stored, api({ special, headers: kept(60) }).ask)).text());
  assert.match(text, /These facts are 2 hours old/);
});

test('answers that were kept without an age, and fresh ones', async () => {
  const open = async (headers) => textOf(await (await explore(visit('/vaults'), stored, api({ headers }).ask)).text());
  assert.match(await open({ 'x-cache': 'STALE-ERROR' }), /These facts are the last ones that were kept\./);
  assert.doesNotMatch(await open({ age: '20' }), /cannot be reached/);
});
