// Bad input is refused in the error envelope, with the parameter's name and bounds, and never with 422 or 500.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
let address;

before(async () => {
  const { json } = await stack.ok('/v1/vaults?limit=1');
  [{ address }] = json.data;
});

/** Query, the invalid parameter, and the bounds or allowed values that the response must name. */
const INVALID_QUERIES = [
  ['/v1/vaults?page=0', 'page', { minimum: 1 }],
  ['/v1/vaults?page=-1', 'page', { minimum: 1 }],
  ['/v1/vaults?page=1.5', 'page', { minimum: 1 }],
  ['/v1/vaults?page=abc', 'page', { minimum: 1 }],
  ['/v1/vaults?page=1&page=2', 'page', {}],
  ['/v1/vaults?limit=0', 'limit', { minimum: 1, maximum: 100 }],
  ['/v1/vaults?limit=ten', 'limit', { minimum: 1, maximum: 100 }],
  ['/v1/vaults?minRiskScore=11', 'minRiskScore', { minimum: 0, maximum: 10 }],
  ['/v1/vaults?minRiskScore=-0.1', 'minRiskScore', { minimum: 0, maximum: 10 }],
  ['/v1/vaults?maxRiskScore=NaN', 'maxRiskScore', { minimum: 0, maximum: 10 }],
  ['/v1/vaults?minScore=11', 'minRiskScore', { minimum: 0, maximum: 10 }],
  ['/v1/vaults?minScore=1&min_score=2', 'minRiskScore', {}],
  ['/v1/vaults?minTvl=-5', 'minTvl', { minimum: 0 }],
  ['/v1/vaults?minTvl=lots', 'minTvl', { minimum: 0 }],
  ['/v1/vaults?riskTier=gold', 'riskTier', { allowed: ['prime', 'core', 'edge'] }],
  ['/v1/vaults?stablecoin=yes', 'stablecoin', { allowed: ['true', 'false'] }],
  ['/v1/vaults?depositable=1', 'depositable', { allowed: ['true', 'false'] }],
  ['/v1/vaults?sortBy=banana', 'sortBy', {}],
  ['/v1/vaults?sortOrder=up', 'sortOrder', { allowed: ['asc', 'desc'] }],
  [`/v1/vaults?search=${'x'.repeat(201)}`, 'search', { maximum: 200 }],
  ['/v1/vaults?search=%ff', 'search', {}],
  ['/v1/events?curatorId=a%00b', 'curatorId', {}],
  ['/v1/signals?category=%00', 'category', {}],
  ['/v1/curators?sortBy=tvl_usd', 'sortBy', { allowed: ['tvl_total', 'vault_count', 'avg_apr', 'name'] }],
  ['/v1/curators/nobody?vaultPage=0', 'vaultPage', { minimum: 1 }],
  ['/v1/curators/nobody/events?offset=-1', 'offset', { minimum: 0 }],
  ['/v1/protocols/nobody?vaultLimit=none', 'vaultLimit', { minimum: 1, maximum: 100 }],
];

describe('a parameter out of its bounds', () => {
  for (const [target, name, bounds] of INVALID_QUERIES) {
    test(`${target.slice(0, 60)} names ${name}`, async () => {
      const error = expectError(await stack.get(target), 400, 'INVALID_PARAMETER');
      expectDetail(error, name, bounds);
    });
  }

  for (const [query, name, bounds] of [
    ['points=0', 'points', { minimum: 1, maximum: 2160 }],
    ['resolution=few', 'points', { minimum: 1, maximum: 2160 }],
    ['snapshots?days=0', 'days', { minimum: 1, maximum: 365 }],
    ['snapshots?points=-1', 'points', { minimum: 1, maximum: 2160 }],
    ['score-history?from=yesterday', 'from', {}],
    ['score-history?limit=0', 'limit', { minimum: 1, maximum: 1000 }],
  ]) {
    test(`${query} of a vault names ${name}`, async () => {
      const target = `/v1/vault/devnet/${address}${query.includes('?') ? '/' : '?'}${query}`;
      expectDetail(expectError(await stack.get(target), 400, 'INVALID_PARAMETER'), name, bounds);
    });
  }

  test('two invalid parameters are reported together', async () => {
    const error = expectError(await stack.get('/v1/vaults?page=0&sortBy=banana'), 400, 'INVALID_PARAMETER');
    assert.deepEqual(error.details.map((detail) => detail.name).sort(), ['page', 'sortBy']);
  });

  test('a range that ends before it begins names both ends', async () => {
    const target = `/v1/vault/devnet/${address}/score-history?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z`;
    const error = expectError(await stack.get(target), 400, 'INVALID_PARAMETER');
    assert.match(error.message, /\bfrom\b/);
    assert.match(error.message, /\bto\b/);
  });

  test('values above the maximum of points, days or limit count as the maximum', async () => {
    await stack.ok(`/v1/vault/devnet/${address}?points=1000000`);
    await stack.ok(`/v1/vault/devnet/${address}/snapshots?days=100000&points=1000000`);
    await stack.ok(`/v1/vault/devnet/${address}/score-history?limit=1000000`);
  });
});

describe('an address', () => {
  const solana = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';

  for (const bad of ['0x123', '0xzz00000000000000000000000000000000000000', 'vault', `${'0x'}${'1'.repeat(41)}`]) {
    test(`${bad} is refused as invalid`, async () => {
      expectError(await stack.get(`/v1/vault/devnet/${bad}`), 400, 'INVALID_ADDRESS');
      expectError(await stack.get(`/v1/vault/devnet/${bad}/snapshots`), 400, 'INVALID_ADDRESS');
    });
  }

  test('of another namespace than the chain gets its own error code', async () => {
    for (const route of ['', '/snapshots', '/score-history', '/events']) {
      expectError(await stack.get(`/v1/vault/devnet/${solana}${route}`), 400, 'ADDRESS_NAMESPACE_MISMATCH');
    }
  });
});

describe('what does not exist', () => {
  const nobody = '0x00000000000000000000000000000000000000ee';
  for (const target of [
    '/nope', '/v2', '/v1/nope', '/v1/vaults/', '/v1/vault/devnet', '/v1/VAULTS', '/v1/vaults/nobody-31337-0x00', '/v1/protocols/nobody', '/v1/curators/nobody',
    '/v1/curators/nobody/events', `/v1/vault/atlantis/${nobody}`, `/v1/vault/devnet/${nobody}`, `/v1/vault/devnet/${nobody}/snapshots`,
    `/v1/vault/devnet/${nobody}/score-history`, `/v1/vault/devnet/${nobody}/events`, '/v1/vaults/%2e%2e%2fadmin', '/v1/protocols/a%2Fb',
  ]) {
    test(`${target} is 404`, async () => {
      expectError(await stack.get(target), 404, 'NOT_FOUND');
    });
  }
});

describe('the wrong method', () => {
  for (const [method, target, allow] of [
    ['POST', '/v1/vaults', ['GET', 'HEAD']],
    ['DELETE', '/v1/chains', ['GET', 'HEAD']],
    ['PUT', '/v1/health', ['GET', 'HEAD']],
    ['PATCH', '/ready', ['GET', 'HEAD']],
    ['GET', '/v1/vaults/batch', ['POST']],
  ]) {
    test(`${method} ${target} is refused with the allowed methods`, async () => {
      const answer = await stack.get(target, { method });
      expectError(answer, 405, 'METHOD_NOT_ALLOWED');
      const allowed = answer.headers.get('allow').split(/\s*,\s*/);
      for (const wanted of allow) assert.ok(allowed.includes(wanted), answer.headers.get('allow'));
      assert.ok(!allowed.includes(method));
    });
  }
});

describe('the batch body', () => {
  const path = '/v1/vaults/batch';

  for (const body of ['', '{', 'null', '[]', '"ids"', '{"ids":"a"}', '{"ids":[1]}', '{"ids":[null]}', '{"addresses":{}}', '{"ids":[],"names":[]}']) {
    test(`${body || 'nothing'} is refused as a batch`, async () => {
      expectError(await stack.post(path, body), 400, 'INVALID_BODY');
    });
  }

  test('with more than a hundred items in all is refused with the bound', async () => {
    const ids = Array.from({ length: 60 }, (_, n) => `x-1-${n}`);
    const addresses = Array.from({ length: 41 }, (_, n) => `0x${n.toString(16).padStart(40, '0')}`);
    const error = expectError(await stack.post(path, { ids, addresses }), 400, 'TOO_MANY_ITEMS');
    assert.match(error.message, /100/);
    assert.equal((await stack.post(path, { ids, addresses: addresses.slice(1) })).status, 200);
  });

  test('of another media type is refused', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
      expectError(await stack.post(path, { ids: [] }, { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    }
    assert.equal((await stack.post(path, { ids: [] }, { 'content-type': 'application/json; charset=utf-8' })).status, 200);
  });

  test('over 64 KB is refused, and just under it is read', async () => {
    const body = (size) => `{"ids":[]${' '.repeat(size - 10)}}`;
    expectError(await stack.post(path, body(64 * 1024 + 1)), 413, 'PAYLOAD_TOO_LARGE');
    assert.equal((await stack.post(path, body(64 * 1024))).status, 200);
  });

  test('over 64 KB without a length is refused too', async () => {
    const chunk = new TextEncoder().encode(' '.repeat(40 * 1024));
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(chunk);
        controller.enqueue(chunk);
        controller.close();
      },
    });
    const response = await fetch(new URL(path, stack.edge), {
      method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/json', 'cf-connecting-ip': '198.19.0.1' },
    });
    const text = await response.text();
    expectError({ status: response.status, headers: response.headers, text, json: JSON.parse(text) }, 413, 'PAYLOAD_TOO_LARGE');
  });
});

test('a URL over 8 KB is refused', async () => {
  expectError(await stack.get(`/v1/vaults?x=${'y'.repeat(8300)}`), 414, 'URI_TOO_LONG');
});

test('an invalid key is refused and not treated as anonymous', async () => {
  for (const authorization of ['Bearer pk_live_00000000000000000000000000000000', 'Bearer nonsense', 'Basic dTpw', 'Bearer ']) {
    const error = expectError(await stack.get('/v1/vaults', { headers: { authorization } }), 401, 'UNAUTHORIZED');
    assert.equal(error.legacy_code, 'invalid_api_key');
  }
});

function expectDetail(error, name, bounds) {
  assert.match(error.message, new RegExp(`\\b${name}\\b`));
  const detail = error.details.find((candidate) => candidate.name === name);
  assert.ok(detail, `details name ${name}`);
  assert.equal(detail.in, 'query');
  assert.ok(detail.reason.length > 0);
  for (const [bound, value] of Object.entries(bounds)) assert.deepEqual(detail[bound], value, bound);
}
