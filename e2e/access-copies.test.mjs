// Copies at the edge and callers of different classes: nobody is handed what was made for another.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { ANONYMOUS, FIRST_PARTY, PLANS, allowance } from './metering.mjs';
import { bearer, mint } from './operator.mjs';
import { OURS, THEIRS, sharedStack, unasked } from './stack.mjs';

const stack = sharedStack();
const DATA = bearer(stack.keys.data);
const EMBEDDED = bearer(stack.keys.embedded);
const state = (answer) => answer.headers.get('x-cache');

/** The ways to ask for a copy that is there. */
const WAYS = (etag) => [{}, { method: 'HEAD' }, { headers: { 'if-none-match': etag } }, { headers: { 'if-none-match': '*' } }];

const ask = (target, headers, way = {}) => stack.get(target, { ...way, headers: { ...way.headers, ...headers } });

/** An error that gives nothing of the copy away, also to a HEAD. */
function expectNothing(answer, status, code) {
  assert.equal(answer.status, status);
  if (answer.text !== '') expectError(answer, status, code);
  for (const name of ['etag', 'x-cache', 'age', 'x-data-version', 'last-modified']) assert.equal(answer.headers.get(name), null, name);
}

describe('the copy of a list that needs a key', () => {
  let target;
  let first;

  before(async () => {
    target = unasked('/v1/vaults/scores?limit=3');
    first = await stack.ok(target, { headers: DATA });
  });

  test('is shared by those who hold one', async () => {
    assert.equal(state(first), 'MISS');
    for (const headers of [EMBEDDED, DATA]) {
      const answer = await stack.ok(target, { headers });
      assert.equal(state(answer), 'HIT');
      assert.deepEqual(answer.json.data.map(({ id }) => id), first.json.data.map(({ id }) => id));
    }
  });

  test('is shown to nobody else, between the reads of those who may', async () => {
    const etag = first.headers.get('etag');
    const strangers = [{}, { origin: OURS }, { origin: THEIRS }, bearer('pk_live_11111111111111111111111111111111')];
    for (const way of WAYS(etag)) {
      for (const stranger of strangers) {
        expectNothing(await ask(target, stranger, way), 401, 'UNAUTHORIZED');
        const keyed = await ask(target, DATA, way);
        assert.equal(keyed.status, way.headers ? 304 : 200);
        assert.equal(state(keyed), 'HIT');
        assert.equal(keyed.headers.get('etag'), etag);
      }
    }
  });

  test("tells every cache on the way that it is the caller's own", async () => {
    for (const way of WAYS(first.headers.get('etag'))) {
      const { headers } = await ask(target, DATA, way);
      assert.match(headers.get('cache-control'), /\bprivate\b/);
      assert.doesNotMatch(headers.get('cache-control'), /\bpublic\b/);
      for (const name of ['origin', 'authorization']) assert.match(headers.get('vary').toLowerCase(), new RegExp(`\\b${name}\\b`));
    }
  });
});

test('the copy of a page beyond the keyless end is shown to nobody without a key', async () => {
  const target = unasked('/v1/vaults?page=3&limit=100');
  const first = await stack.ok(target, { headers: DATA });
  assert.equal(state(first), 'MISS');
  for (const way of WAYS(first.headers.get('etag'))) {
    for (const stranger of [{}, { origin: OURS }]) expectNothing(await ask(target, stranger, way), 403, 'FORBIDDEN');
    expectNothing(await ask(target, bearer('pk_live_11111111111111111111111111111111'), way), 401, 'UNAUTHORIZED');
    const keyed = await ask(target, EMBEDDED, way);
    assert.equal(keyed.status, way.headers ? 304 : 200);
    assert.equal(state(keyed), 'HIT');
  }
});

test('a refusal is no copy: whoever may have the page gets it afterwards', async () => {
  const target = unasked('/v1/vaults?page=201&limit=1');
  for (let n = 0; n < 2; n += 1) expectNothing(await ask(target), 403, 'FORBIDDEN');
  assert.equal((await ask(target, DATA)).status, 200);
  expectNothing(await ask(target), 403, 'FORBIDDEN');
});

test('a copy carries no allowance, no name and no grant from one caller to the next', async () => {
  const target = unasked('/v1/vaults?limit=3');
  const { headers: client } = await mint(stack, { rpm: 40, shared: true });
  const callers = [
    [DATA, PLANS.data, null, null],
    [{}, ANONYMOUS, null, null],
    [{ origin: OURS }, FIRST_PARTY, null, OURS],
    [{ ...client, 'x-service-subclient': 'desk' }, 40, 10, null],
    [{ origin: THEIRS }, ANONYMOUS, null, null],
    [EMBEDDED, PLANS.embedded, null, null],
    [{ ...EMBEDDED, origin: OURS }, PLANS.embedded, null, OURS],
  ];
  const { headers, json } = await stack.ok(target);
  const names = new Set();
  for (const way of WAYS(headers.get('etag'))) {
    for (const [caller, limit, subclientLimit, grant] of callers) {
      const answer = await ask(target, caller, way);
      assert.equal(answer.status, way.headers ? 304 : 200);
      const told = allowance(answer);
      assert.deepEqual([told.limit, told.subclientLimit], [limit, subclientLimit]);
      assert.equal(answer.headers.get('access-control-allow-origin'), grant);
      names.add(answer.headers.get('x-request-id'));
      if (answer.text !== '') assert.deepEqual(answer.json.data.map(({ id }) => id), json.data.map(({ id }) => id));
    }
  }
  assert.equal(names.size, callers.length * 4, 'every answer has a name of its own');
});

test('what a key says of itself is never kept', async () => {
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
