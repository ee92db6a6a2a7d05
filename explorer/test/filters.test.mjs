// Forms, sorts and pages of lists: every parameter of the API has a field, and the address holds every state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, DOCUMENT, follow, PAGES, visit } from './answers.mjs';
import { built, bundled } from './built.mjs';
import { problemsOf, tagsOf, textOf } from './html.mjs';

const { explore, stored } = await built();
const { addressesOf, Pages, fill } = await bundled(`
  import { sortedBy, sortingOf, pageOf, filtersOf } from './src/ui/filters.js';
  import { parametersOf, queryOf } from './src/ui/list.js';
  export { Pages, fill } from './src/ui/virtual.js';
  export function addressesOf(path, search, api) {
    const place = { path, params: {}, search };
    const list = parametersOf(api);
    return {
      sorted: (field) => sortedBy(sortingOf(place, list), field),
      paged: (page) => pageOf(place, page),
      set: filtersOf(place, list),
      query: queryOf(place, api),
    };
  }
`);
const open = async (path, options) => {
  const { ask, asked } = api(options);
  const html = await (await explore(visit(path), stored, ask)).text();
  assert.deepEqual(problemsOf(html), []);
  return { html, asked, tags: tagsOf(html) };
};
const parametersOf = (path) => DOCUMENT.paths[path].get.parameters.map(follow).filter((it) => it.in === 'query');
const LISTS = Object.values(PAGES).filter(([path, main]) => main && !path.slice(1).includes('/') && !['/status'].includes(path));
const OTHERS = ['page', 'limit', 'strict', 'sortBy', 'sortOrder'];
/** Parameters without a field: the first adds members that no column shows, the others belong to the loss board, which has a page. */
const LEFT_OUT = { '/v1/assets/enriched': ['include_quality'], '/v1/security-events': ['hasLoss', 'minLossUsd'] };

for (const [path, main] of LISTS) {
  test(`${path}: the form has a field for each filter of the API`, async () => {
    const { tags } = await open(path);
    const names = new Set(tags.filter(({ name }) => ['input', 'select'].includes(name)).map(({ attributes }) => attributes.name));
    const expected = parametersOf(main)
      .map(({ name }) => name)
      .filter((name) => !OTHERS.includes(name) && !LEFT_OUT[main]?.includes(name));
    for (const name of expected) assert.ok(names.has(name), name);
  });

  test(`${path}: each sort of the API has a header that sorts, or is sorted by an address`, async () => {
    const sorts = follow(parametersOf(main).find(({ name }) => name === 'sortBy')?.schema)?.enum ?? [];
    for (const sort of sorts) {
      const { asked } = await open(`${path}?sortBy=${sort}&sortOrder=asc`);
      const { searchParams } = new URL(asked.find(({ url }) => new URL(url).pathname === main).url);
      assert.equal(searchParams.get('sortBy'), sort);
      assert.equal(searchParams.get('sortOrder'), 'asc');
    }
  });
}

test('fields show what the address sets, also what is no option', async () => {
  const search = 'riskTier=prime,edge&chain=8453&search=a%22%3E%3Cb&minTvl=1000&stablecoin=true&depositable=maybe&sortBy=name&sortOrder=asc';
  const { tags, asked } = await open(`/vaults?${search}`);
  const fields = tags.filter(({ attributes }) => attributes.name);
  const valueOf = (name) => fields.find(({ attributes }) => attributes.name === name)?.attributes.value;
  const checked = fields
    .filter(({ attributes }) => attributes.name === 'riskTier' && 'checked' in attributes)
    .map(({ attributes }) => attributes.value);
  assert.deepEqual(checked, ['prime', 'edge']);
  assert.equal(valueOf('chain'), '8453');
  assert.equal(valueOf('search'), 'a"><b');
  assert.equal(valueOf('minTvl'), '1000');
  assert.equal(valueOf('sortBy'), 'name');
  assert.equal(valueOf('sortOrder'), 'asc');
  const selected = tags.filter(({ name, attributes }) => name === 'option' && 'selected' in attributes).map(({ attributes }) => attributes.value);
  assert.deepEqual(selected, ['true', 'maybe']);
  assert.equal(
    tags.some(({ name, attributes }) => name === 'details' && 'open' in attributes),
    true,
  );
  const sent = new URL(asked[0].url).searchParams;
  for (const [name, value] of new URLSearchParams(search)) assert.equal(sent.get(name), value, name);
});

test('a form without JavaScript sends a name several times, and empty fields', async () => {
  const { asked } = await open('/vaults?riskTier=prime&riskTier=core&search=&chain=');
  const sent = new URL(asked[0].url).searchParams;
  assert.equal(sent.get('riskTier'), 'prime,core');
  assert.equal(sent.has('search'), false);
  assert.equal(sent.has('chain'), false);
});

test('parameters that the list does not have are not sent', async () => {
  const { asked } = await open('/security?hasLoss=true&strict=true&limit=1000&x=1');
  assert.equal(new URL(asked[0].url).search, '?limit=50');
});

test('sorting keeps filters, forgets the page, and turns around', () => {
  const { sorted } = addressesOf('/vaults', 'riskTier=prime&page=3', '/v1/vaults');
  assert.equal(sorted('name'), '/vaults?riskTier=prime&sortBy=name&sortOrder=asc');
  assert.equal(sorted('total_score'), '/vaults?riskTier=prime&sortBy=total_score&sortOrder=desc');
  assert.equal(sorted('tvl_usd'), '/vaults?riskTier=prime&sortBy=tvl_usd&sortOrder=asc', 'the list is sorted by it without being asked');
  const again = addressesOf('/vaults', 'sortBy=name&sortOrder=asc', '/v1/vaults');
  assert.equal(again.sorted('name'), '/vaults?sortBy=name&sortOrder=desc');
});

test('pages keep filters and sorts', () => {
  const { paged, query } = addressesOf('/vaults', 'riskTier=prime&sortBy=name&page=3', '/v1/vaults');
  assert.equal(paged(4), '/vaults?riskTier=prime&sortBy=name&page=4');
  assert.equal(paged(1), '/vaults?riskTier=prime&sortBy=name');
  assert.deepEqual(query, { riskTier: 'prime', sortBy: 'name', page: '3' });
});

test('a list of several pages links to the next and the previous one', async () => {
  const next = (html) => /rel="next" href="([^"]+)"/.exec(html)?.[1];
  const previous = (html) => /rel="prev" href="([^"]+)"/.exec(html)?.[1];
  const first = await open('/events?severity=Critical');
  assert.equal(next(first.html), '/events?severity=Critical&amp;page=2');
  assert.equal(previous(first.html), undefined);
  const change = (value, _, name) => (name === 'page' ? 2 : undefined);
  const second = await open('/events?page=2', { change });
  assert.equal(previous(second.html), '/events');
  assert.match(textOf(second.html), /Page 2/);
  const last = await open('/events?page=2', { change: (value, _, name) => (name === 'hasMore' ? false : change(value, _, name)) });
  assert.equal(next(last.html), undefined);
});

test('the header that a list is sorted by says so', async () => {
  const { html } = await open('/vaults?sortBy=total_score&sortOrder=asc');
  assert.match(html, /<th scope="col" class="number" aria-sort="ascending"><a href="[^"]*sortBy=total_score&amp;sortOrder=desc">Score/);
});

test('rows that fail to load are not asked for again until the wait is over', async () => {
  let requests = 0;
  const said = [];
  const fail = async () => {
    requests += 1;
    throw new Error('refused');
  };
  const pages = new Pages([], fail, (failure) => said.push(failure?.status ?? null));
  await pages.want(0, 20);
  await pages.want(0, 20);
  await pages.want(100, 120);
  assert.equal(requests, 1);
  assert.deepEqual(said, [502]);
  pages.resume();
  await pages.want(100, 120);
  assert.equal(requests, 2);
});

test('rows are asked for once, one request at a time, and old ones are let go', async () => {
  const asked = [];
  const pages = new Pages(
    ['first'],
    async (page) => {
      asked.push(page);
      return Array.from({ length: 100 }, (_, at) => page * 100 + at);
    },
    () => undefined,
  );
  assert.equal(pages.row(0), 'first');
  await pages.want(0, 0);
  assert.deepEqual(asked, [], 'the first rows are here');
  const [one, other] = [pages.want(50, 250), pages.want(50, 250)];
  await Promise.all([one, other]);
  assert.deepEqual(asked, [0]);
  await pages.want(50, 250);
  await pages.want(50, 250);
  await pages.want(50, 250);
  assert.deepEqual(asked, [0, 1, 2]);
  assert.equal(pages.row(205), 205);
  for (let page = 3; page < 70; page += 1) await pages.want(page * 100, page * 100);
  assert.equal(pages.row(205), undefined);
});

test('a page of rows that comes is filled in over several frames, and what was filled stays so', () => {
  const positions = Array.from({ length: 30 }, (_, at) => 100 + at);
  const isHere = (at) => at < 120;
  let [before, frames] = [new Set([100, 101]), 0];
  for (;;) {
    const { filled, isRest } = fill(positions, before, isHere);
    assert.deepEqual([...before].filter((at) => !filled.has(at)), []);
    assert.ok(filled.size - before.size <= 6, `${filled.size - before.size} rows in one frame`);
    [before, frames] = [filled, frames + 1];
    if (!isRest) break;
  }
  assert.deepEqual([...before].sort(), positions.filter(isHere));
  assert.equal(frames, 3);
  // A row that was let go, or is out of view, is not filled any more.
  assert.deepEqual([...fill(positions.slice(10), before, (at) => at !== 112).filled].includes(112), false);
});
