// Every page, from the example answers: its facts, its document, and that a browser makes the same of the same state.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { api, PAGES, refusal, visit } from './answers.mjs';
import { built, bundled } from './built.mjs';
import { appOf, problemsOf, stateOf, tagsOf, textOf } from './html.mjs';

const { explore, stored } = await built();
const { again } = await bundled(`
  import { renderToString } from 'preact-render-to-string';
  import { App } from './src/app.js';
  import { find } from './src/page.js';
  import { PAGES } from './src/pages/index.js';
  export async function again(url, state) {
    const { entry, params } = find(PAGES, url.pathname);
    const { default: page } = await entry.module();
    return renderToString(<App page={page} place={{ path: url.pathname, params, search: url.search.slice(1) }} state={state} />);
  }
`);

test('the table of these tests has every page', () => {
  const table = readFileSync(new URL('../src/pages/index.ts', import.meta.url), 'utf8');
  const names = [...table.matchAll(/name: '([^']+)'/g)].map(([, name]) => name);
  assert.deepEqual(Object.keys(PAGES), names);
});

for (const [name, [path, , fact]] of Object.entries(PAGES)) {
  test(`${name} shows its facts in a sound document`, async () => {
    const response = await explore(visit(path), stored, api().ask);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    const html = await response.text();
    assert.ok(textOf(appOf(html)).includes(fact), fact);
    assert.deepEqual(problemsOf(html), []);
    assert.equal(await again(new URL(path, 'https://explorer.test'), stateOf(html)), appOf(html), 'a browser makes other HTML');
  });

  test(`${name} has a head for search engines and previews`, async () => {
    const html = await (await explore(visit(path), stored, api().ask)).text();
    const tags = tagsOf(html);
    const meta = (key) =>
      tags.find(({ name: tag, attributes }) => tag === 'meta' && (attributes.name === key || attributes.property === key))?.attributes.content;
    const title = /<title>(.+) · Risk Data Service<\/title>/.exec(html)?.[1];
    assert.ok(title, 'title');
    assert.equal(meta('og:title'), `${title} · Risk Data Service`);
    assert.ok(meta('description').length > 20, meta('description'));
    assert.ok(meta('description').length <= 300);
    assert.equal(meta('og:description'), meta('description'));
    const canonical = tags.find(({ attributes }) => attributes.rel === 'canonical').attributes.href;
    assert.equal(canonical, `https://explorer.test${path.split('?')[0]}`);
  });
}

test('a vault shows its vectors, its cap and what it costs, its inputs with sources, and what it is exposed to', async () => {
  const { ask, asked } = api();
  const text = textOf(await (await explore(visit(PAGES.vault[0]), stored, ask)).text());
  for (const fact of ['Asset 6.57 35% 2.300', 'Asset drag: at most 7.57. It decides the score and costs 0.60', 'Sum of the vectors 8.1695'])
    assert.ok(text.includes(fact), fact);
  for (const fact of ['Audits Platform 3 simulation 2026-11-23 02:00 UTC', 'spny 65.0% 8.85', 'Value locked $910.39M', 'APR, net 5.70%'])
    assert.ok(text.includes(fact), fact);
  assert.ok(asked.length <= 6, `${asked.length} requests`);
});

test('a history of several methodologies marks the change', async () => {
  const point = (at, version) => ({
    observed_at: at,
    change_type: 'score',
    prev_score: 7,
    new_score: 8,
    prev_tier: 'Core',
    new_tier: 'Core',
    methodology_version: version,
  });
  const special = (path) =>
    path.endsWith('/score-history')
      ? { data: [point('2026-11-01T00:00:00.000Z', 'rds-1.0.0'), point('2026-11-10T00:00:00.000Z', 'rds-1.1.0')] }
      : undefined;
  const text = textOf(await (await explore(visit(PAGES.vault[0]), stored, api({ special }).ask)).text());
  assert.match(text, /2026-11-10 00:00 UTC 8\.00 Methodology rds-1\.1\.0 instead of rds-1\.0\.0/);
});

test('a list without a default limit is asked for whole, the others by pages', async () => {
  for (const [path, limit] of [
    ['/chains', null],
    ['/protocols', null],
    ['/vaults', '50'],
    ['/events', '50'],
  ]) {
    const { ask, asked } = api();
    await explore(visit(path), stored, ask);
    assert.equal(new URL(asked[0].url).searchParams.get('limit'), limit, path);
  }
});

test('a search says where it did not look at every row', async () => {
  const none = { data: [], meta: { page: 1, limit: 100, total: 0, totalPages: 0 } };
  const markets = Array.from({ length: 100 }, (_, n) => ({ id: `m${n}`, name: `M${n}`, address: '0x' }));
  const special = { '/v1/curators': none, '/v1/oracle': none, '/v1/markets': { data: markets, meta: { page: 1, limit: 100, total: 100 } } };
  const text = textOf(await (await explore(visit('/search?q=zzz'), stored, api({ special }).ask)).text());
  assert.ok(!text.includes('Only the first'));
  special['/v1/markets'].meta.total = 250;
  const partial = textOf(await (await explore(visit('/search?q=zzz'), stored, api({ special }).ask)).text());
  assert.match(partial, /Markets Only the first 100 of 250 are searched/);
});

test('a search that ends within a pair of code units is answered', async () => {
  const asked = `${'a'.repeat(199)}😀😀`;
  const response = await explore(visit(`/search?q=${encodeURIComponent(asked)}`), stored, api().ask);
  assert.equal(response.status, 200);
});

test('each vault of a comparison can be removed, also one that is not there, and the last one', async () => {
  const special = { '/v1/vaults/b': refusal(404, 'NOT_FOUND') };
  const removals = async (ids) => {
    const html = await (await explore(visit(`/compare?ids=${ids}`), stored, api({ special }).ask)).text();
    assert.deepEqual(problemsOf(html), []);
    return [...html.matchAll(/href="(\/compare\?ids=[^"]*)"/g)].map(([, href]) => href);
  };
  assert.deepEqual((await removals('a,b')).sort(), ['/compare?ids=a', '/compare?ids=b']);
  assert.deepEqual(await removals('a'), ['/compare?ids=']);
  assert.equal((await removals('a,b,c,d,e,f,g')).length, 5);
});
