// Links from pages to the API's answers and their descriptions, and the table by which the documentation links to pages.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { api, DOCUMENT, PAGES, refusal, routeOf, visit } from './answers.mjs';
import { built } from './built.mjs';
import { tagsOf } from './html.mjs';

const { explore, stored } = await built();
const shown = JSON.parse(readFileSync(new URL('../shown.json', import.meta.url), 'utf8'));
/** Operations that only the browser asks for, after a click. */
const AFTER_A_CLICK = { EventStream: 'events', GraphCheck: 'book' };

const linksOf = (html) =>
  tagsOf(html)
    .filter(({ name, around }) => name === 'a' && around.includes('footer'))
    .map(({ attributes }) => attributes.href);

/** The page's HTML, and the operations that it asked for. */
async function open(path, options) {
  const { ask, asked } = api(options);
  const html = await (await explore(visit(path), stored, ask)).text();
  return { html, asked: asked.map(({ url }) => new URL(url)) };
}

/** `/markets/{id}` of `/markets/M1`. */
const fits = (pattern, path) => {
  const [names, values] = [pattern, path.split('?')[0]].map((it) => it.split('/'));
  return names.length === values.length && names.every((name, at) => name.startsWith('{') || name === values[at]);
};

for (const [name, [path]] of Object.entries(PAGES)) {
  test(`${name} links to each answer that it is made of, and to its description`, async () => {
    const { html, asked } = await open(path);
    const links = linksOf(html);
    for (const { pathname, search } of asked) {
      assert.ok(links.includes(`${pathname}${search}`), `${pathname}${search}`);
      const { get } = routeOf(pathname);
      assert.ok(
        links.some((link) => new RegExp(`^/v1/docs/reference-[a-z-]+#${get.operationId}$`).test(link)),
        get.operationId,
      );
      assert.ok(shown[get.operationId], `shown.json has ${get.operationId}`);
    }
  });
}

test('a page that failed links to the answer that refused it', async () => {
  const path = PAGES.market[0];
  const { html } = await open(path, { special: () => refusal(503, 'UNAVAILABLE') });
  assert.ok(linksOf(html).includes(`/v1${path}`));
});

test('the documentation links each operation to a page that asks for it', async () => {
  const operations = Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  for (const [operation, pattern] of Object.entries(shown)) {
    assert.ok(operations.includes(operation), `${operation} is an operation`);
    const pages = Object.entries(PAGES).filter(([, [path]]) => fits(pattern, path));
    assert.equal(pages.length, 1, `${pattern} is one page`);
    const [[name, [path]]] = pages;
    if (AFTER_A_CLICK[operation]) {
      assert.equal(name, AFTER_A_CLICK[operation]);
      continue;
    }
    const { asked } = await open(path);
    assert.ok(
      asked.some(({ pathname }) => routeOf(pathname).get.operationId === operation),
      `${name} asks for ${operation}`,
    );
  }
});
