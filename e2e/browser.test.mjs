// A real browser: the service's own pages can read responses, pages of other sites cannot.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { launch } from './chromium.mjs';
import { bearer } from './operator.mjs';
import { ALLOWED_ORIGIN, OTHER_ORIGIN, sharedStack, uncachedTarget } from './stack.mjs';

const stack = sharedStack();

let site;
let browser;

before(async () => {
  site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title>'));
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  const here = `127.0.0.1:${site.address().port}`;
  // Both origins resolve to this test's server, whatever listens on their ports.
  browser = await launch(`--host-resolver-rules=MAP ${new URL(ALLOWED_ORIGIN).host} ${here}, MAP ${new URL(OTHER_ORIGIN).host} ${here}`);
}, { timeout: 60_000 });

after(async () => {
  await browser?.close();
  site?.close();
});

/** An empty page of `origin`. */
async function pageOf(origin) {
  const page = await browser.newPage();
  await page.goto(`${origin}/`);
  return page;
}

/** What a script of the page can read of the response, or the name of the error it gets instead. */
const read = (page, target, options = {}) =>
  page.evaluate(
    async ([url, init]) => {
      try {
        const response = await fetch(url, init);
        const names = ['x-request-id', 'x-cache', 'etag', 'age', 'retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
        return { status: response.status, body: await response.json(), headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name)])) };
      } catch (error) {
        return { error: error.name };
      }
    },
    [new URL(target, stack.edge).href, options],
  );

describe('a page of the service', () => {
  let page;

  before(async () => {
    page = await pageOf(ALLOWED_ORIGIN);
  });

  test('reads a list, with the headers that it needs', async () => {
    const answer = await read(page, uncachedTarget('/v1/vaults'));
    assert.equal(answer.status, 200, JSON.stringify(answer));
    assert.ok(answer.body.data.length > 0);
    assert.equal(answer.headers['x-cache'], 'MISS');
    assert.match(answer.headers['x-request-id'], /^[0-9a-f]{32}$/);
    assert.match(answer.headers.etag, /^W\//);
  });

  test('reads errors as well', async () => {
    const answer = await read(page, '/v1/vaults?page=0');
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error.request_id, answer.headers['x-request-id']);
  });

  test('posts a batch, after the preflight that JSON needs', async () => {
    const [{ id }] = (await read(page, '/v1/vaults?limit=1')).body.data;
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ ids: [id] }) };
    const answer = await read(page, '/v1/vaults/batch', options);
    assert.equal(answer.status, 200, JSON.stringify(answer));
    assert.equal(answer.body.data[0].id, id);
  });

  test('can read its remaining allowance, or that of the key that it sends', async () => {
    const answer = await read(page, '/v1/chains');
    assert.equal(answer.headers['x-ratelimit-limit'], '60');
    for (const name of ['x-ratelimit-remaining', 'x-ratelimit-reset']) assert.match(answer.headers[name], /^\d+$/);
    const keyed = await read(page, '/v1/chains', { headers: bearer(stack.keys.embedded) });
    assert.equal(keyed.headers['x-ratelimit-limit'], '1200', JSON.stringify(keyed));
  });

  test('gets a complete response when the browser revalidates its cache', async () => {
    const target = uncachedTarget('/v1/vaults?limit=2');
    const first = await read(page, target);
    const second = await read(page, target);
    assert.equal(second.status, 200);
    assert.deepEqual(second.body.data.map((row) => row.id), first.body.data.map((row) => row.id));
    assert.equal(second.headers.etag, first.headers.etag);
  });
});

describe('a page of another site', () => {
  let page;

  before(async () => {
    page = await pageOf(OTHER_ORIGIN);
  });

  test('can read neither responses nor errors', async () => {
    for (const target of ['/v1/vaults', '/v1/vaults?page=0', '/v1/health']) {
      assert.deepEqual(await read(page, target), { error: 'TypeError' }, target);
    }
  });

  test('cannot post, because the preflight fails', async () => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"ids":[]}' };
    assert.deepEqual(await read(page, '/v1/vaults/batch', options), { error: 'TypeError' });
  });

  test("cannot read a response that was cached for the service's own page", async () => {
    const target = uncachedTarget('/v1/vaults?limit=1');
    const ours = await pageOf(ALLOWED_ORIGIN);
    assert.equal((await read(ours, target)).status, 200);
    assert.deepEqual(await read(page, target), { error: 'TypeError' });
  });
});
