// The explorer on the real stack: its pages without JavaScript, what they say when something fails, and their headers.

import assert from 'node:assert/strict';
import { get } from 'node:http';
import { before, describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { newCaller, request, sharedStack } from './stack.mjs';
import { firstPages, htmlOf, textOf } from './explorer/places.mjs';

const stack = sharedStack();
const html = (path, headers = {}) => request(stack.edge, path, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } });
/** Bytes of JavaScript and CSS that a first page may load, compressed. */
const MAX_FIRST_PAGE = 120_000;
let pages;

before(async () => {
  pages = await firstPages(stack);
});

describe('without JavaScript', () => {
  test('every page has the facts that the API has', async () => {
    for (const [name, { path, facts }] of Object.entries(pages)) {
      const answer = await html(path);
      assert.equal(answer.status, 200, `${name}: ${answer.status}`);
      const text = textOf(answer.text);
      for (const fact of facts) assert.ok(text.includes(fact), `${name} at ${path} does not say ${fact}`);
    }
  });

  test('filters, sorting and pages are forms and links, and their state is in the address', async () => {
    const address = '/vaults?riskTier=prime&sortBy=total_score&sortOrder=asc';
    const { text } = await html(address);
    const { json } = await stack.ok('/v1/vaults?riskTier=prime&sortBy=total_score&sortOrder=asc&limit=50');
    assert.ok(json.data.length > 5);
    const shown = [...text.matchAll(/<th scope="row"><a href="\/vaults\/([^"]+)"/g)].map(([, id]) => decodeURIComponent(id));
    assert.deepEqual(shown, json.data.map(({ id }) => id));
    assert.match(text, /<input[^>]*name="riskTier"[^>]*value="prime"[^>]*checked/);
    assert.match(text, /href="\/vaults\?riskTier=prime&amp;sortBy=total_score&amp;sortOrder=desc"/);
    const second = await html('/vaults?page=2');
    assert.match(textOf(second.text), /Page 2 of 2/);
  });

  test('one search finds vaults, assets, markets and curators', async () => {
    const { text } = await html('/search?q=quillfish');
    assert.match(text, /href="\/vaults\/quillfish-/);
    assert.match(text, /href="\/protocols\/quillfish"/);
    assert.match(text, /href="\/markets\/quillfish-/);
    assert.match(textOf((await html('/search?q=nothing-has-this-name')).text), /Nothing is known/);
  });
});

describe('the API stays the API', () => {
  test('a browser gets JSON at an address of the API, and programs get the index at the root', async () => {
    const vault = pages.vault.api;
    assert.match((await html(vault)).headers.get('content-type'), /^application\/json/);
    assert.match((await stack.get('/')).headers.get('content-type'), /^application\/json/);
    assert.equal((await request(stack.edge, '/vaults', { method: 'POST' })).status, 404);
  });
});

describe('headers', () => {
  test('strict content security, an ETag, nothing inline, and files that never change', async () => {
    const answer = await html('/');
    assert.equal(answer.status, 200);
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /default-src 'none'/);
    assert.ok(!policy.includes('unsafe-inline'));
    assert.ok(!/ style=|<script(?![^>]*(src=|application\/json))/.test(answer.text));
    const again = await html('/', { 'if-none-match': answer.headers.get('etag') });
    assert.ok([200, 304].includes(again.status));
    if (again.status === 200) assert.notEqual(again.headers.get('etag'), answer.headers.get('etag'), 'the same page has the same ETag');
    const files = [...new Set([...answer.text.matchAll(/(?:href|src)="(\/explorer\/[^"]+)"/g)].map(([, file]) => file))];
    let bytes = 0;
    for (const file of files) {
      const { status, headers, text } = await html(file);
      assert.equal(status, 200, file);
      assert.match(headers.get('cache-control'), /immutable/);
      if (/\.(js|css)$/.test(file)) bytes += gzipSync(text).length;
    }
    assert.ok(bytes > 10_000 && bytes <= MAX_FIRST_PAGE, `${bytes} bytes`);
    assert.equal((await html('/explorer/nothing.js')).status, 404);
  });

  test('a page and its scripts are compressed for a browser', async () => {
    const bytes = (path, headers) =>
      new Promise((resolve, reject) => {
        get(new URL(path, stack.edge), { headers: { accept: 'text/html', ...headers } }, async (answer) => {
          resolve({ encoding: answer.headers['content-encoding'], body: Buffer.concat(await answer.toArray()) });
        }).on('error', reject);
      });
    const { text } = await html('/status');
    const [script] = text.match(/\/explorer\/browser-[^"]+\.js/);
    for (const path of ['/status', script]) {
      const plain = await bytes(path, {});
      const packed = await bytes(path, { 'accept-encoding': 'gzip, br' });
      assert.equal(plain.encoding, undefined);
      assert.equal(packed.encoding, 'gzip');
      assert.ok(packed.body.length * 2 < plain.body.length, `${packed.body.length} of ${plain.body.length} bytes`);
      assert.match(gunzipSync(packed.body).toString(), path === script ? /export|import/ : /<\/html>/);
    }
  });

  test('a page names its title, description, address and picture for previews', async () => {
    const { text } = await html(pages.vault.path);
    const named = (name) => text.match(new RegExp(`<meta (?:property|name)="${name}" content="([^"]+)"`))?.[1];
    assert.ok(named('og:title').includes(htmlOf(pages.vault.row.name)));
    assert.ok(named('description').includes(pages.vault.row.protocol_name));
    const picture = await request(stack.edge, new URL(named('og:image')).pathname);
    assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/png']);
  });
});

describe('when something fails', () => {
  test('what does not exist is a page with status 404', async () => {
    for (const path of ['/vaults/nothing-1-0x0', '/markets/nothing', '/events/1', '/curators/nobody', '/chains/nowhere']) {
      const answer = await html(path);
      assert.equal(answer.status, 404, path);
      assert.match(answer.headers.get('content-type'), /^text\/html/);
      assert.match(textOf(answer.text), /Not found/);
    }
  });

  test('an invalid filter is a page with status 400 that says which', async () => {
    const answer = await html('/vaults?minRiskScore=eleven');
    assert.equal(answer.status, 400);
    assert.match(textOf(answer.text), /minRiskScore/);
  });

  test('requests of a page count for its caller, and a used-up limit is a page with status 429', async () => {
    const caller = { 'cf-connecting-ip': newCaller() };
    let refused;
    for (let n = 0; n < 400 && !refused; n += 1) {
      const answer = await request(stack.edge, '/v1/chains', { headers: caller });
      if (answer.status === 429) refused = answer;
    }
    assert.ok(refused, 'the limit of an address was not reached');
    const answer = await html('/vaults', caller);
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.match(textOf(answer.text), /Too many requests/);
    assert.equal((await html('/vaults')).status, 200, 'another caller is not affected');
  });

  test('credentials that a browser sends with a navigation are not used', async () => {
    const answer = await html('/indices', { authorization: `Bearer ${stack.index_token}` });
    assert.equal(answer.status, 401);
  });
});
