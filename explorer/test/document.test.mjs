// The document as HTTP sees it: policy, caching, conditions, methods, addresses that are not pages, and what reaches the API.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, PAGES, visit } from './answers.mjs';
import { built } from './built.mjs';
import { stateOf } from './html.mjs';

const { explore, stored, files, loaded, read } = await built();
const open = (path, options = {}) => explore(visit(path, options.headers, options.method), stored, options.ask ?? api().ask);

test('every page has a strict policy without inline code', async () => {
  for (const [path] of Object.values(PAGES)) {
    const policy = (await open(path)).headers.get('content-security-policy');
    const rules = new Map(policy.split('; ').map((rule) => [rule.split(' ')[0], rule.split(' ').slice(1).join(' ')]));
    assert.equal(rules.get('default-src'), "'none'");
    assert.equal(rules.get('script-src'), "'self'");
    assert.equal(rules.get('style-src'), "'self'");
    assert.equal(rules.get('connect-src'), "'self'");
    assert.equal(rules.get('base-uri'), "'none'");
    assert.equal(rules.get('frame-ancestors'), "'none'");
    assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
  }
});

test('a page is kept by nobody else, and says who may read it', async () => {
  const { headers } = await open('/vaults');
  assert.equal(headers.get('cache-control'), 'private, no-cache');
  assert.equal(headers.get('vary'), 'Accept, Accept-Encoding');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.match(headers.get('x-request-id'), /^[0-9a-f]{32}$/);
});

test('pages and scripts are compressed for whoever accepts it, except at Cloudflare, which does it by itself', async () => {
  const script = `/explorer/${Object.keys(files).find((name) => name.endsWith('.js'))}`;
  const picture = `/explorer/${Object.keys(files).find((name) => name.endsWith('.png'))}`;
  const encoding = async (path, accepted, cf) => {
    const request = visit(path, accepted === undefined ? {} : { 'accept-encoding': accepted });
    if (cf) request.cf = cf;
    return (await explore(request, stored, api().ask)).headers.get('content-encoding');
  };
  for (const path of ['/vaults', script]) {
    for (const accepted of ['gzip', 'br, gzip;q=0.5', 'deflate, GZIP']) assert.equal(await encoding(path, accepted), 'gzip', accepted);
    for (const accepted of [undefined, 'br', 'gzip;q=0', 'gzip; q=0.00']) assert.equal(await encoding(path, accepted), null, accepted);
    assert.equal(await encoding(path, 'gzip', { clientIp: '192.0.2.1' }), 'gzip');
    assert.equal(await encoding(path, 'gzip', { colo: 'XXX' }), null);
  }
  assert.equal(await encoding(picture, 'gzip'), null);
});

test('HEAD has the headers of GET and no body', async () => {
  const { ask, asked } = api();
  const response = await open('/vaults', { method: 'HEAD', ask });
  assert.equal(response.status, 200);
  assert.equal(await response.text(), '');
  assert.ok(response.headers.get('etag'));
  assert.deepEqual([...new Set(asked.map(({ method }) => method))], ['GET']);
});

test('an unchanged page is answered with 304, a changed one is not', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-26T01:07:10.000Z') });
  const etag = (await open('/vaults')).headers.get('etag');
  for (const given of [etag, `"other", ${etag}`, etag.slice(2), '*']) {
    const response = await open('/vaults', { headers: { 'if-none-match': given } });
    assert.equal(response.status, 304, given);
    assert.equal(await response.text(), '');
    assert.equal(response.headers.get('etag'), etag);
  }
  const special = { '/v1/vaults': { data: [], meta: { page: 1, limit: 50, total: 0, totalPages: 0 } } };
  assert.equal((await open('/vaults', { headers: { 'if-none-match': etag }, ask: api({ special }).ask })).status, 200);
});

test('the first page is at / for browsers, and the API keeps / for others', async () => {
  const response = await open('/');
  assert.equal(response.status, 200);
  assert.match(await response.text(), /rel="canonical" href="https:\/\/explorer\.test\/vaults"/);
  for (const accept of ['application/json', '*/*']) assert.equal(await open('/', { headers: { accept } }), undefined);
  assert.equal(await explore(new Request('https://explorer.test/'), stored, api().ask), undefined);
});

test('other methods and addresses are not the explorer’s', async () => {
  const { ask, asked } = api();
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) assert.equal(await open('/vaults', { method, ask }), undefined);
  const others = [
    '/v1/vaults',
    '/v1/docs',
    '/vaults/',
    '/vault',
    '/vaults/a/b/c',
    '/vaults/a/exposure/x',
    '/assets/1',
    '/%ff',
    '/vaults/%ff',
    '/explorer',
    '/mcp',
    '//vaults',
  ];
  for (const path of others) assert.equal(await open(path, { ask }), undefined, path);
  assert.equal(asked.length, 0);
});

test('no credential or condition of the caller reaches the API, its address does', async () => {
  const headers = {
    authorization: 'Bearer rds_secret',
    'x-api-key': 'rds_secret',
    cookie: 'a=b',
    'if-none-match': '"x"',
    'if-modified-since': 'Thu, 26 Nov 2026 01:00:00 GMT',
    range: 'bytes=0-1',
    'cf-connecting-ip': '203.0.113.7',
    'x-forwarded-for': '203.0.113.7',
    'x-real-ip': '203.0.113.7',
  };
  for (const [path] of Object.values(PAGES)) {
    const { ask, asked } = api();
    await open(path, { headers, ask });
    for (const request of asked) {
      for (const name of ['authorization', 'x-api-key', 'cookie', 'if-none-match', 'if-modified-since', 'range']) {
        assert.equal(request.headers.get(name), null, `${path}: ${name}`);
      }
      for (const name of ['cf-connecting-ip', 'x-forwarded-for', 'x-real-ip']) assert.equal(request.headers.get(name), '203.0.113.7', name);
      assert.equal(request.headers.get('accept'), 'application/json');
      assert.equal(new URL(request.url).origin, 'https://explorer.test');
      assert.match(new URL(request.url).pathname, /^\/v1\//);
    }
  }
});

test('what workerd knows of the connection goes with each request', async () => {
  const seen = [];
  const { Request: Original } = globalThis;
  globalThis.Request = class extends Original {
    constructor(input, init) {
      super(input, init);
      if (init?.cf) seen.push(init.cf);
    }
  };
  try {
    const request = visit('/vaults');
    request.cf = { country: 'XX' };
    await explore(request, stored, api().ask);
  } finally {
    globalThis.Request = Original;
  }
  assert.ok(seen.length > 0);
  for (const cf of seen) assert.deepEqual(cf, { country: 'XX' });
});

test('an address cannot lead to another path of the API', async () => {
  for (const id of ['..%2F..%2Fadmin', '%252e%252e', 'a%3Fb', 'a%23b', 'a%2Fb']) {
    const { ask, asked } = api();
    await open(`/vaults/${id}`, { ask });
    assert.match(new URL(asked[0].url).pathname, /^\/v1\/vaults\/[^/]+$/, id);
    assert.equal(new URL(asked[0].url).search, '?points=180');
  }
});

test('the state cannot close its element', async () => {
  const asked = '</script><script>alert(1)</script><!--';
  const html = await (await open(`/search?q=${encodeURIComponent(asked)}`)).text();
  assert.equal(html.split('</script>').length - 1, html.match(/<script/g).length);
  assert.ok(!html.includes('<script>alert'));
  assert.equal(stateOf(html).data.asked, asked);
});

test('a page that cannot be made is an error with a number, and reveals nothing', async (t) => {
  const logged = t.mock.method(console, 'error', () => undefined);
  const response = await open('/vaults', { ask: api({ special: { '/v1/vaults': { data: 'no list' } } }).ask });
  assert.equal(response.status, 500);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const html = await response.text();
  assert.ok(html.includes(response.headers.get('x-request-id')));
  assert.ok(!/TypeError|at .*\.js/.test(html));
  assert.equal(logged.mock.callCount(), 1);
});

test('files have names that are hashes, never change, and are what was built', async () => {
  assert.ok(Object.keys(files).length > 10);
  for (const [name, { asset, type }] of Object.entries(files)) {
    const response = await explore(new Request(`https://explorer.test/explorer/${name}`), stored, api().ask);
    assert.equal(response.status, 200, name);
    assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(response.headers.get('content-type'), type);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), read(asset));
    const again = await explore(
      new Request(`https://explorer.test/explorer/${name}`, { headers: { 'if-none-match': response.headers.get('etag') } }),
      stored,
      api().ask,
    );
    assert.equal(again.status, 304);
    const head = await explore(new Request(`https://explorer.test/explorer/${name}`, { method: 'HEAD' }), stored, api().ask);
    assert.equal(await head.text(), '');
  }
});

test('a page loads only files that are there', async () => {
  const html = await (await open('/vaults')).text();
  const named = [...html.matchAll(/(?:src|href)="\/explorer\/([^"]+)"/g)].map(([, name]) => name);
  assert.ok(named.includes(loaded.browser.replace('/explorer/', '')));
  assert.ok(named.includes(loaded.style.replace('/explorer/', '')));
  for (const name of named) assert.ok(files[name], name);
});

test('a damaged or missing file is not given out', async (t) => {
  t.mock.method(console, 'error', () => undefined);
  const [[name, { asset }]] = Object.entries(files);
  const changed = Buffer.from(read(asset));
  changed[100] ^= 1;
  const answers = [
    async () => new Response('short'),
    async () => new Response(changed),
    async () => new Response('not found', { status: 404 }),
    async () => Promise.reject(new Error('no binding')),
  ];
  for (const fetch of answers) {
    const response = await explore(new Request(`https://explorer.test/explorer/${name}`), { ASSETS: { fetch } }, api().ask);
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.ok(response.headers.get('retry-after'));
  }
});

test('a file that is not known is not the explorer’s', async () => {
  for (const name of ['', 'nothing.js', 'constructor', '__proto__', '../server.js', `${Object.keys(files)[0]}x`]) {
    assert.equal(await explore(new Request(`https://explorer.test/explorer/${name}`), stored, api().ask), undefined, name);
  }
});
