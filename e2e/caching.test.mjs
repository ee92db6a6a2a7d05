// Cached responses at the edge: when they are stored, shared, aged and revalidated.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import CachePolicy from 'http-cache-semantics';
import { expectError } from './expect.mjs';
import { sharedStack, uncachedTarget, until } from './stack.mjs';

const stack = sharedStack();
let row;

before(async () => {
  const { json } = await stack.ok('/v1/vaults?limit=1');
  [row] = json.data;
});

const state = (answer) => answer.headers.get('x-cache');

describe('a cached response', () => {
  test('is stored by the first read and served to the second, with its age', async () => {
    const target = uncachedTarget('/v1/vaults');
    const first = await stack.ok(target);
    assert.equal(state(first), 'MISS');
    assert.equal(first.headers.get('age'), null);
    const second = await stack.ok(target);
    assert.equal(state(second), 'HIT');
    assert.match(second.headers.get('age'), /^\d+$/);
    assert.equal(second.headers.get('etag'), first.headers.get('etag'));
    assert.equal(second.headers.get('x-data-version'), first.headers.get('x-data-version'));
    assert.deepEqual(second.json.data.map((vault) => vault.id), first.json.data.map((vault) => vault.id));
    for (const answer of [first, second]) assert.match(answer.headers.get('cache-status'), /\S/);
  });

  test('is shared by all equivalent query strings', async () => {
    const target = uncachedTarget('/v1/vaults');
    const spellings = [`${target}&utm_source=mail&x=1`, `${target}&sortOrder=desc&page=1&limit=20`, target.replace('?', '?unknown&')];
    await stack.ok(`${target}&riskTier=core,prime`);
    assert.equal(state(await stack.ok(target.replace('?', '?riskTier=PRIME,Core,core&'))), 'HIT');
    await stack.ok(target);
    for (const spelling of spellings) assert.equal(state(await stack.ok(spelling)), 'HIT', spelling);
  });

  test('of a vault is shared by upper- and lower-case spellings of its address', async () => {
    const path = (address) => `/v1/vault/devnet/${address}/snapshots?days=${1 + (Date.now() % 364)}`;
    const asked = path(row.address);
    await stack.ok(asked);
    const upperCase = asked.replace(row.address, `0x${row.address.slice(2).toUpperCase()}`);
    const answer = await stack.ok(upperCase);
    assert.equal(state(answer), 'HIT');
    await stack.ok(`/v1/vaults/${row.id}`);
    const upperCaseId = `${row.protocol_id}-${row.chain_id}-0x${row.address.slice(2).toUpperCase()}`;
    assert.equal(state(await stack.ok(`/v1/vaults/${upperCaseId}`)), 'HIT');
  });

  test('is not stored for an error', async () => {
    for (const target of ['/v1/vaults?page=0', '/v1/vaults/nobody', '/v1/nope']) {
      for (let n = 0; n < 2; n += 1) {
        const answer = await stack.get(target);
        assert.notEqual(state(answer), 'HIT', target);
        assert.match(answer.headers.get('cache-control'), /no-store/);
      }
    }
  });

  test('is not stored for health, readiness or a batch', async () => {
    const batch = () => stack.post('/v1/vaults/batch', { ids: [row.id] });
    for (const ask of [() => stack.get('/v1/health'), () => stack.get('/ready'), batch]) {
      await ask();
      assert.equal(state(await ask()), 'BYPASS');
    }
  });

  test('ages under one ETag, and freshness_seconds grows with its age', async () => {
    const target = uncachedTarget('/v1/vaults?limit=5');
    const first = await stack.ok(target);
    const aged = await until('a cached response at least a second old', 10, async () => {
      const answer = await stack.ok(target);
      return Number(answer.headers.get('age')) >= 1 && answer;
    });
    assert.equal(state(aged), 'HIT');
    assert.equal(aged.headers.get('etag'), first.headers.get('etag'));
    const age = Number(aged.headers.get('age'));
    for (const [index, vault] of aged.json.data.entries()) {
      const before = first.json.data[index].freshness_seconds;
      assert.equal(vault.freshness_seconds, before === null ? null : before + age, vault.id);
    }
  });

  test('cannot be poisoned through request headers: the origin trusts only what the edge signs', async () => {
    const target = uncachedTarget('/v1/vaults?limit=1');
    const poisoned = { 'x-forwarded-host': 'evil.example', 'x-service-principal': '{"kind":"root"}', 'x-service-assertion': 'v1;k;0;0;0', accept: 'text/html' };
    const first = await stack.ok(target, { headers: poisoned });
    const second = await stack.ok(target);
    assert.equal(state(second), 'HIT');
    assert.deepEqual(second.json.data.map((vault) => vault.id), first.json.data.map((vault) => vault.id));
    assert.ok(!second.text.includes('evil.example'));
  });
});

describe('a conditional read', () => {
  let target;
  let etag;

  before(async () => {
    target = uncachedTarget('/v1/vaults?limit=3');
    etag = (await stack.ok(target)).headers.get('etag');
  });

  const ask = (value, options = {}) => stack.get(target, { ...options, headers: { 'if-none-match': value } });

  test('uses a weak ETag, because freshness_seconds changes with time', () => {
    assert.match(etag, /^W\/"[\w-]{22}"$/);
  });

  test('that matches gets 304: strong, weak, in a list, or with `*`', async () => {
    const opaque = etag.slice(2);
    for (const value of [etag, opaque, `"x", ${etag}`, `"x" , ${opaque},W/"y"`, '*']) {
      const answer = await ask(value);
      assert.equal(answer.status, 304, value);
      assert.equal(answer.text, '');
      assert.equal(answer.headers.get('etag'), etag);
      assert.ok(answer.headers.get('cache-control'), 'a 304 repeats Cache-Control');
      assert.match(answer.headers.get('vary') ?? '', /origin/i);
      assert.match(answer.headers.get('x-request-id'), /^[0-9a-f]{32}$/);
    }
  });

  test('with another ETag or an invalid one gets the complete response', async () => {
    for (const value of ['"x"', 'W/"x"', 'x', '"']) assert.equal((await ask(value)).status, 200, value);
  });

  test('gets 304 also when no response is cached yet', async () => {
    const other = uncachedTarget('/v1/chains');
    const tag = (await stack.ok('/v1/chains')).headers.get('etag');
    assert.equal((await stack.get(other, { headers: { 'if-none-match': tag } })).status, 304);
    const first = uncachedTarget('/v1/vaults?limit=2');
    assert.equal((await stack.get(first, { headers: { 'if-none-match': '*' } })).status, 304);
  });

  test('works with HEAD', async () => {
    assert.equal((await ask(etag, { method: 'HEAD' })).status, 304);
  });
});

test('HEAD is GET without the body', async () => {
  for (const target of [uncachedTarget('/v1/vaults'), '/v1/health', '/v1/nope', '/v1/vaults?page=0']) {
    const whole = await stack.get(target);
    const head = await stack.get(target, { method: 'HEAD' });
    assert.equal(head.status, whole.status, target);
    assert.equal(head.text, '');
    for (const name of ['content-type', 'etag', 'cache-control', 'vary']) {
      assert.equal(head.headers.get(name), whole.headers.get(name), `${target} ${name}`);
    }
    if (target.startsWith('/v1/vaults?minTvl')) assert.equal(Number(head.headers.get('content-length')), Buffer.byteLength(whole.text));
  }
});

test("a client's own cache revalidates with the ETag, and stores no error (RFC 9111, by an independent library)", async () => {
  const target = uncachedTarget('/v1/vaults?limit=1');
  const answer = await stack.ok(target);
  const asked = { url: target, method: 'GET', headers: {} };
  const policy = new CachePolicy(asked, { status: 200, headers: Object.fromEntries(answer.headers) });
  assert.ok(policy.storable());
  assert.equal(policy.satisfiesWithoutRevalidation(asked), false);
  const again = await stack.get(target, { headers: policy.revalidationHeaders(asked) });
  assert.equal(again.status, 304);
  const { modified } = policy.revalidatedPolicy(asked, { status: 304, headers: Object.fromEntries(again.headers) });
  assert.equal(modified, false);
  const wrong = await stack.get('/v1/vaults?page=0');
  expectError(wrong, 400, 'INVALID_PARAMETER');
  assert.equal(new CachePolicy(asked, { status: 400, headers: Object.fromEntries(wrong.headers) }).storable(), false);
});
