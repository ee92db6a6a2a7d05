// Texts of data: hostile ones are text, very long and right-to-left ones fit, what is unknown is said, and empty answers are said too.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, PAGES, visit } from './answers.mjs';
import { built } from './built.mjs';
import { appOf, problemsOf, tagsOf, textOf } from './html.mjs';

const { explore, stored } = await built();
const NAMES = Object.entries(PAGES).filter(([name]) => name !== 'book');
const MARKUP = '<img src=x onerror=alert(1)>';

async function opened(path, options) {
  const response = await explore(visit(path), stored, api(options).ask);
  assert.equal(response.status, 200);
  const html = await response.text();
  assert.deepEqual(problemsOf(html), []);
  return html;
}

/** Replaces every text of data that is no id, instant, pattern or one of a set of words. Members that no schema names are texts too. */
const texts =
  (text) =>
  (value, { schema }, name) => {
    if (typeof value !== 'string' || schema?.enum || schema?.const || schema?.format || schema?.pattern) return undefined;
    if (/(^|_)(id|key|address|hash|slug|date|status|at|kind|tier|verdict)$|Id$|Key$|At$/i.test(name)) return undefined;
    if (/^\d{4}-\d\d-\d\d|^-?\d+(\.\d+)?$/.test(value)) return undefined;
    return /url/i.test(name) ? 'javascript:alert(1)' : text;
  };

for (const [name, [path]] of NAMES) {
  test(`${name}: markup in data is text, and an address that runs is no link`, async () => {
    const html = await opened(path, { change: texts(MARKUP) });
    assert.ok(!/<img|href="javascript|<svg[^>]*onload/i.test(html));
    if (name !== 'status') assert.ok(/&lt;img src=x onerror|&lt;Img src=x onerror/.test(appOf(html)), 'the text is not shown');
    for (const { attributes } of tagsOf(html)) assert.ok(!('onerror' in attributes));
  });

  test(`${name}: names from right to left and of 300 characters are shown whole and apart`, async () => {
    for (const text of ['كنز الفضة (اختبار) 123', 'W'.repeat(300), `${'long '.repeat(60)}end`, '\u202eevil', '👩‍👩‍👧‍👦'.repeat(30)]) {
      const html = await opened(path, { change: texts(text) });
      if (name !== 'status') assert.ok(textOf(appOf(html)).includes(text.trim()), text.slice(0, 20));
    }
  });

  test(`${name}: what is null is said, and never as 0`, async () => {
    const isPart = (value) => typeof value === 'object' && value !== null;
    const changes = [
      (value, { nullable }) => (nullable ? null : undefined),
      // Parts stay, so that the values in them are null.
      (value, { nullable, schema }, member) => (!isPart(value) && (nullable || (!schema && member === 'value')) ? null : undefined),
    ];
    for (const change of changes) {
      // All other numbers are 7, so that a 0 can only come from null.
      const rest = (value, _, member) =>
        typeof value === 'number' && !/page|limit|total|index/i.test(member) ? 7 : member === 'tvl_status' ? 'unavailable' : undefined;
      const html = await opened(path, { change: (...given) => (change(...given) === undefined ? rest(...given) : null) });
      const text = textOf(appOf(html));
      assert.doesNotMatch(text, /\$0\b|\b0\.00\b|\b0 (seconds|days)\b/);
      if (change === changes[0] && !['protocols', 'status', 'basket', 'signals', 'baskets'].includes(name))
        assert.match(text, /unknown|not scored|not known|none/);
    }
  });

  test(`${name}: empty lists are said`, async () => {
    const change = (value, { schema }, member) => (Array.isArray(value) && schema?.items && member !== 'data' ? [] : undefined);
    await opened(path, { change });
  });
}

test('a vault of which nothing is known says so for each fact', async () => {
  const html = await opened(PAGES.vault[0], {
    change: (value, { nullable }, name) => (name === 'tvl_status' ? 'unavailable' : nullable ? null : undefined),
  });
  const text = textOf(html);
  for (const fact of [
    'Value locked unknown',
    'APR, net unknown',
    'Utilization unknown',
    'Available now unknown',
    'Timelock unknown',
    'Code can change unknown',
    'Deployed unknown',
    'Strategy unknown',
  ]) {
    assert.ok(text.includes(fact), fact);
  }
  assert.match(text, /not scored/);
  assert.match(text, /This vault has not been scored, so there is no computation to show\./);
  assert.match(html, /name="description" content="[^"]*risk score not scored; an unknown amount locked\."/);
});

const LISTS = NAMES.filter(([name]) => `${name}`.endsWith('s') && !['status', 'index-levels'].includes(name)).concat([['security', PAGES.security]]);
for (const [name, [path]] of LISTS) {
  test(`${name}: an empty list says what there is none of, also behind filters and beyond its end`, async () => {
    const change = (value, _, member) => (member === 'data' && Array.isArray(value) ? [] : undefined);
    const total = (value, _, member) => (member === 'total' ? 0 : change(value, _, member));
    assert.match(textOf(await opened(path, { change: total })), /There are no [a-z]+ yet\./);
    assert.match(textOf(await opened(`${path}?page=9`, { change: total })), /The list ends before this page\. First page/);
  });
}

test('an empty list behind a filter says that nothing matches', async () => {
  const special = { '/v1/vaults': { data: [], meta: { page: 1, limit: 50, total: 0, totalPages: 0 } } };
  const text = textOf(await opened('/vaults?chain=nowhere', { special }));
  assert.match(text, /0 vaults match No vaults match these filters\./);
});

test('one row is counted as one', async () => {
  const [row] = (await (await api().ask(new Request('https://explorer.test/v1/vaults'))).json()).data;
  const special = { '/v1/vaults': { data: [row], meta: { page: 1, limit: 50, total: 1, totalPages: 1 } } };
  assert.match(textOf(await opened('/vaults?chain=devnet', { special })), /1 vault matches/);
});

test('empty pages of a search, a comparison and a book say what to do', async () => {
  assert.match(textOf(await opened('/search')), /Write a name, a symbol or an address/);
  assert.match(textOf(await opened('/compare')), /Choose vaults with “Compare” on their pages/);
  const special = () => ({ data: [], meta: { total: 0 } });
  assert.match(textOf(await opened('/search?q=nothing', { special })), /Nothing is known with these words/);
  assert.match(textOf(await opened('/book')), /This page needs JavaScript/);
});

test('severities have marks in their order', async () => {
  const levels = { Info: 'calm', Watch: 'warn', RiskChange: 'warn', PolicyBreach: 'bad' };
  for (const [severity, level] of Object.entries(levels)) {
    const html = await opened('/signals', { change: (value, _, name) => (name === 'severity' ? severity : undefined) });
    assert.match(appOf(html), new RegExp(`class="severity ${level}"`), severity);
  }
});
