// Unknown parameters, unknown names in filters, and `limit`, through the running service.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { committed, operations } from './openapi/document.mjs';
import { bearer } from './operator.mjs';
import { ALLOWED_ORIGIN, request, sharedStack } from './stack.mjs';

const stack = sharedStack();
const IGNORED = 'x-service-ignored-parameters';
const UNKNOWN = 'x-service-unknown-values';

describe('an ignored parameter', () => {
  test('is named in a header, also on a response cached for another caller', async () => {
    const plain = await stack.ok('/v1/vaults?limit=7');
    const mistyped = await stack.ok('/v1/vaults?limit=7&risktier=prime');
    const other = await stack.ok('/v1/vaults?limit=7&at=2026-01-01&format=csv');
    assert.deepEqual([plain, mistyped, other].map(({ headers }) => headers.get(IGNORED)), [null, 'risktier', 'at, format']);
    assert.deepEqual(mistyped.json.data.map(({ id }) => id), plain.json.data.map(({ id }) => id));
    assert.equal(other.headers.get('x-cache'), 'HIT');
  });

  test('is refused with `strict`, with a suggestion, at the edge and at the relay', async () => {
    const { status, json } = await stack.get('/v1/vaults?risktier=prime&strict=true');
    assert.deepEqual([status, json.error.code, json.error.details[0].name], [400, 'INVALID_PARAMETER', 'risktier']);
    assert.match(json.error.message, /did you mean riskTier\?/);
    assert.equal((await request(stack.relay, '/v1/health?foo=1')).headers.get(IGNORED), 'foo');
    assert.equal((await request(stack.relay, '/v1/health?foo=1&strict=true')).status, 400);
  });

  test('or an unknown name in a filter is reported, on cached responses too', async () => {
    for (const [path, reported] of [
      ['/v1/vaults?chain=mars', 'chain=mars'],
      ['/v1/vaults?protocol=no-such&curator=nobody', 'protocol=no-such, curator=nobody'],
      ['/v1/events?chainId=mars,devnet', 'chainId=mars'],
      ['/v1/vaults?chain=devnet', null],
    ]) {
      for (const time of [1, 2]) assert.equal((await stack.ok(path)).headers.get(UNKNOWN), reported, `${path}, time ${time}`);
      assert.equal((await stack.get(`${path}&strict=true`)).status, reported ? 400 : 200, path);
    }
  });

  test("is visible to scripts of the service's own pages", async () => {
    const { headers } = await stack.ok('/v1/vaults?foo=1', { headers: { origin: ALLOWED_ORIGIN } });
    for (const name of [IGNORED, UNKNOWN]) assert.ok(headers.get('access-control-expose-headers').includes(name), name);
  });
});

test('limit bounds the rows of every list', async () => {
  const needs = { Public: {}, Key: bearer(stack.keys.decisioning), Index: bearer(stack.index_token) };
  const lists = operations(committed()).filter(({ method, path, operation }) =>
    method === 'GET' && !path.includes('{') && operation.parameters.some(({ name }) => name === 'limit'));
  assert.ok(lists.length > 20, `${lists.length} lists`);
  for (const { path, operation } of lists) {
    const headers = { public: needs.Public, index: needs.Index }[operation['x-access']] ?? needs.Key;
    const since = path === '/v1/vaults/changes' ? 'since=2026-01-01T00:00:00Z&' : '';
    const { json } = await stack.ok(`${path}?${since}limit=1`, { headers });
    const rows = Array.isArray(json.data) ? json.data : json.data.vaults;
    assert.ok(rows.length <= 1, `${path}: ${rows.length} rows`);
    const many = await stack.get(`${path}?${since}limit=999999`, { headers });
    assert.equal(many.status, 200, path);
    assert.equal((await stack.get(`${path}?${since}limit=0`, { headers })).status, 400, path);
  }
});
