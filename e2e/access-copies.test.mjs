// Cached responses at the edge and callers of different classes: a caller never gets a response that was made for another class.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { ANONYMOUS, FIRST_PARTY, PLANS, allowance } from './metering.mjs';
import { bearer, mint } from './operator.mjs';
import { ALLOWED_ORIGIN, OTHER_ORIGIN, sharedStack, uncachedTarget } from './stack.mjs';

const stack = sharedStack();
const DATA = bearer(stack.keys.data);
const EMBEDDED = bearer(stack.keys.embedded);
const state = (answer) => answer.headers.get('x-cache');

/** The request forms that a cached response can answer. */
const REQUEST_FORMS = (etag) => [{}, { method: 'HEAD' }, { headers: { 'if-none-match': etag } }, { headers: { 'if-none-match': '*' } }];

const ask = (target, headers, way = {}) => stack.get(target, { ...way, headers: { ...way.headers, ...headers } });

/** Expects an error without any header of the cached response; a HEAD has no body to check. */
function expectNothing(answer, status, code) {
  assert.equal(answer.status, status);
  if (answer.text !== '') expectError(answer, status, code);
  for (const name of ['etag', 'x-cache', 'age', 'x-data-version', 'last-modified']) assert.equal(answer.headers.get(name), null, name);
}

describe('the cached response of a list that needs a key', () => {
  let target;
  let first;

  before(async () => {
    target = uncachedTarget('/v1/vaults/scores?limit=3');
    first = await stack.ok(target, { headers: DATA });
  });

  test('is shared by all callers with a key', async () => {
    assert.equal(state(first), 'MISS');
    for (const headers of [EMBEDDED, DATA]) {
      const answer = await stack.ok(target, { headers });
      assert.equal(state(answer), 'HIT');
      assert.deepEqual(answer.json.data.map(({ id }) => id), first.json.data.map(({ id }) => id));
    }
  });

  test('is never served to a caller without a valid key', async () => {
    const etag = first.headers.get('etag');
    const strangers = [{}, { origin: ALLOWED_ORIGIN }, { origin: OTHER_ORIGIN }, bearer('pk_live_11111111111111111111111111111111')];
    for (const way of REQUEST_FORMS(etag)) {
      for (const stranger of strangers) {
        expectNothing(await ask(target, stranger, way), 401, 'UNAUTHORIZED');
        const keyed = await ask(target, DATA, way);
        assert.equal(keyed.status, way.headers ? 304 : 200);
        assert.equal(state(keyed), 'HIT');
        assert.equal(keyed.headers.get('etag'), etag);
      }
    }
  });

  test('is marked private, so that no cache on the way shares it', async () => {
    for (const way of REQUEST_FORMS(first.headers.get('etag'))) {
      const { headers } = await ask(target, DATA, way);
      assert.match(headers.get('cache-control'), /\bprivate\b/);
      assert.doesNotMatch(headers.get('cache-control'), /\bpublic\b/);
      for (const name of ['origin', 'authorization']) assert.match(headers.get('vary').toLowerCase(), new RegExp(`\\b${name}\\b`));
    }
  });
});

test('the cached response of a page beyond the keyless limit is never served without a key', async () => {
  const target = uncachedTarget('/v1/vaults?page=3&limit=100');
  const first = await stack.ok(target, { headers: DATA });
  assert.equal(state(first), 'MISS');
  for (const way of REQUEST_FORMS(first.headers.get('etag'))) {
    for (const stranger of [{}, { origin: ALLOWED_ORIGIN }]) expectNothing(await ask(target, stranger, way), 403, 'FORBIDDEN');
    expectNothing(await ask(target, bearer('pk_live_11111111111111111111111111111111'), way), 401, 'UNAUTHORIZED');
    const keyed = await ask(target, EMBEDDED, way);
    assert.equal(keyed.status, way.headers ? 304 : 200);
    assert.equal(state(keyed), 'HIT');
  }
});

test('a refusal is not cached: a caller with a key gets the page afterwards', async () => {
  const target = uncachedTarget('/v1/vaults?page=201&limit=1');
  for (let n = 0; n < 2; n += 1) expectNothing(await ask(target), 403, 'FORBIDDEN');
  assert.equal((await ask(target, DATA)).status, 200);
  expectNothing(await ask(target), 403, 'FORBIDDEN');
});

test('a cached response carries no rate limit, request id or CORS grant from one caller to the next', async () => {
  const target = uncachedTarget('/v1/vaults?limit=3');
  const { headers: client } = await mint(stack, { rpm: 40, shared: true });
  const callers = [
    [DATA, PLANS.data, null, null],
    [{}, ANONYMOUS, null, null],
    [{ origin: ALLOWED_ORIGIN }, FIRST_PARTY, null, ALLOWED_ORIGIN],
    [{ ...client, 'x-service-subclient': 'desk' }, 40, 10, null],
    [{ origin: OTHER_ORIGIN }, ANONYMOUS, null, null],
    [EMBEDDED, PLANS.embedded, null, null],
    [{ ...EMBEDDED, origin: ALLOWED_ORIGIN }, PLANS.embedded, null, ALLOWED_ORIGIN],
  ];
  const { headers, json } = await stack.ok(target);
  const requestIds = new Set();
  for (const way of REQUEST_FORMS(headers.get('etag'))) {
    for (const [caller, limit, subclientLimit, grant] of callers) {
      const answer = await ask(target, caller, way);
      assert.equal(answer.status, way.headers ? 304 : 200);
      const allowed = allowance(answer);
      assert.deepEqual([allowed.limit, allowed.subclientLimit], [limit, subclientLimit]);
      assert.equal(answer.headers.get('access-control-allow-origin'), grant);
      requestIds.add(answer.headers.get('x-request-id'));
      if (answer.text !== '') assert.deepEqual(answer.json.data.map(({ id }) => id), json.data.map(({ id }) => id));
    }
  }
  assert.equal(requestIds.size, callers.length * 4, 'every answer has its own request id');
});

test("a key's own data is never cached", async () => {
  const [one, other] = [await mint(stack), await mint(stack)];
  for (let n = 0; n < 2; n += 1) {
    for (const key of [one, other]) {
      for (const way of [{}, { headers: { 'if-none-match': '*' } }]) {
        const answer = await ask('/v1/me', key.headers, way);
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual([answer.json.data.key.id, answer.json.data.key.partner_name], [key.id, key.org]);
        assert.equal(state(answer), 'BYPASS');
        assert.match(answer.headers.get('cache-control'), /\bno-store\b/);
      }
      const head = await ask('/v1/me', key.headers, { method: 'HEAD' });
      assert.deepEqual([head.status, head.text], [200, '']);
    }
    expectNothing(await ask('/v1/me'), 401, 'UNAUTHORIZED');
  }
});
