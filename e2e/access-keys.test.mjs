// Keys from mint to revocation: what a valid key gives access to, and that an invalid one is refused everywhere.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { ANONYMOUS, PLANS, allowance, expectCharged, expectRateLimited, windowWithSecondsLeft } from './metering.mjs';
import { bearer, mint, organisation, revoke, verb } from './operator.mjs';
import { ALLOWED_ORIGIN, newCaller, sharedStack, uncachedTarget } from './stack.mjs';

const stack = sharedStack();
const GATED = ['/v1/me', '/v1/vaults/scores'];
/** Invalid credentials, well-formed and malformed. */
const INVALID = [
  bearer('pk_live_00000000000000000000000000000000'), bearer('pk_live_0000'), bearer('nonsense'), { authorization: 'Basic dTpw' }, bearer(stack.index_token),
];

const from = (caller) => ({ 'cf-connecting-ip': caller });
const ask = (target, headers, options) => stack.get(target, { ...options, headers });

/** Expects the refusal that is the same for all invalid credentials, so that it does not reveal which credentials exist. */
function expectRejected(answer) {
  const error = expectError(answer, 401, 'UNAUTHORIZED');
  assert.equal(error.legacy_code, 'invalid_api_key');
  assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  assert.equal(answer.headers.get('etag'), null);
  return error;
}

/** Expects the refusal of a request without a credential where one is required. */
function expectKeyWanted(answer) {
  const error = expectError(answer, 401, 'UNAUTHORIZED');
  assert.equal(error.legacy_code, 'tier_required');
  assert.match(error.message, /key/i);
}

describe('a key', () => {
  for (const [plan, limit] of Object.entries(PLANS)) {
    test(`of plan ${plan} has ${limit} requests a minute and access to the routes that need a key`, async () => {
      for (const target of GATED) {
        const answer = await stack.ok(target, { headers: bearer(stack.keys[plan]) });
        assert.equal(allowance(answer).limit, limit);
      }
    });
  }

  test('is case-sensitive, and its authorization scheme is not', async () => {
    for (const scheme of ['bearer', 'BEARER']) await stack.ok('/v1/me', { headers: { authorization: `${scheme} ${stack.keys.data}` } });
    expectRejected(await ask('/v1/me', bearer(stack.keys.data.toUpperCase().replace('PK_LIVE_', 'pk_live_'))));
  });

  test('lifts the page limit of lists', async () => {
    for (const target of ['/v1/vaults?page=3&limit=100', '/v1/vaults?page=201&limit=1', '/v1/curators?page=11', '/v1/protocols/nobody?vaultPage=11']) {
      const error = expectError(await ask(target), 403, 'FORBIDDEN');
      assert.match(error.message, /\bkey\b/i);
      const keyed = await ask(target, bearer(stack.keys.data));
      assert.ok([200, 404].includes(keyed.status), keyed.text);
    }
    const rows = await stack.vaults();
    const { json } = await stack.ok('/v1/vaults/scores', { headers: bearer(stack.keys.data) });
    assert.equal(json.data.length, rows.length);
  });

  test('works on its first request', async () => {
    for (let n = 0; n < 3; n += 1) {
      const { headers } = await mint(stack);
      const answer = await stack.ok('/v1/vaults/scores', { headers });
      assert.equal(allowance(answer).remaining, PLANS.data - 1);
    }
  });
});

describe('without a key', () => {
  test('a gated route asks for a key, and the request is charged to the address', async () => {
    const headers = from(newCaller());
    const end = await windowWithSecondsLeft();
    for (let left = ANONYMOUS - 1; left >= 0; left -= 1) {
      const answer = await ask(GATED[left % 2], headers);
      expectKeyWanted(answer);
      expectCharged(answer, { limit: ANONYMOUS, remaining: left, end });
    }
    for (const target of [...GATED, '/v1/chains']) expectRateLimited(await ask(target, headers), { limit: ANONYMOUS, end });
  });

  test('a page of the service needs one as well', async () => {
    for (const target of GATED) expectKeyWanted(await ask(target, { origin: ALLOWED_ORIGIN }));
  });
});

describe('an invalid credential', () => {
  test('gets the same refusal on public and gated routes, and is not treated as anonymous', async () => {
    const messages = new Set();
    for (const strange of INVALID) {
      for (const target of ['/v1/vaults', '/v1/vaults?page=0', '/v1/vaults/nobody', '/v1/health', ...GATED]) {
        messages.add(expectRejected(await ask(target, strange)).message);
      }
      const page = await ask('/v1/vaults', { ...strange, origin: ALLOWED_ORIGIN });
      expectRejected(page);
      assert.equal(page.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN);
    }
    assert.equal(messages.size, 1, 'one refusal for all');
  });

  test('is charged to the anonymous allowance of its address, and gets 429 once that is used up', async () => {
    const headers = from(newCaller());
    const [strange, malformed, other] = INVALID;
    const end = await windowWithSecondsLeft();
    for (let left = ANONYMOUS - 1; left >= 0; left -= 1) {
      const credential = [strange, malformed, {}, other][left % 4];
      const answer = await ask(['/v1/chains', '/v1/vaults/scores', '/v1/chains'][left % 3], { ...headers, ...credential });
      expectCharged(answer, { limit: ANONYMOUS, remaining: left, end });
      if (credential.authorization) expectRejected(answer);
    }
    for (const credential of [...INVALID, {}]) {
      for (const target of ['/v1/chains', '/v1/me']) expectRateLimited(await ask(target, { ...headers, ...credential }), { limit: ANONYMOUS, end });
    }
    await stack.ok('/v1/me', { headers: { ...headers, ...bearer(stack.keys.data) } });
  });

  test('is refused without a cache lookup', async () => {
    const target = uncachedTarget('/v1/vaults');
    const { headers } = await stack.ok(target);
    for (const options of [{}, { method: 'HEAD' }]) {
      const answer = await ask(target, { ...INVALID[0], 'if-none-match': headers.get('etag') }, options);
      assert.equal(answer.status, 401);
      for (const name of ['etag', 'x-cache', 'age']) assert.equal(answer.headers.get(name), null, name);
    }
  });
});

describe('a revoked key', () => {
  test('is refused from the next request on, whether the response is cached or not', async () => {
    const key = await mint(stack);
    const cached = [uncachedTarget('/v1/vaults?limit=2'), uncachedTarget('/v1/vaults/scores?limit=2')];
    for (const target of [...cached, ...cached]) await stack.ok(target, { headers: key.headers });
    await revoke(stack, key);
    for (const target of [...cached, uncachedTarget('/v1/vaults'), ...GATED, '/v1/vaults?page=0', '/v1/health']) expectRejected(await ask(target, key.headers));
    for (const target of cached) expectRejected(await ask(target, { ...key.headers, 'if-none-match': '*' }));
  });

  test('that was throttled is refused as invalid, not as throttled', async () => {
    const key = await mint(stack, { rpm: 2 });
    const end = await windowWithSecondsLeft(15);
    for (let n = 0; n < 2; n += 1) await stack.ok('/v1/chains', { headers: key.headers });
    const throttled = Promise.all(Array.from({ length: 20 }, () => ask('/v1/chains', key.headers)));
    for (const answer of await throttled) expectRateLimited(answer, { limit: 2, end });
    await revoke(stack, key);
    expectRejected(await ask('/v1/chains', key.headers));
  });

  test('is refused in every request that starts after the command has returned, however many are in flight', { timeout: 60_000 }, async () => {
    const key = await mint(stack, { rpm: 1_000_000 });
    const target = uncachedTarget('/v1/vaults/scores?limit=1');
    await stack.ok(target, { headers: key.headers });
    const [seen, late] = [[], []];
    let acknowledged = Infinity;
    const callers = Array.from({ length: 48 }, async () => {
      while (late.length <= 20) {
        const begun = performance.now();
        const { status } = await ask(target, key.headers);
        (begun > acknowledged ? late : seen).push(status);
      }
    });
    await revoke(stack, key);
    acknowledged = performance.now();
    await Promise.all(callers);
    assert.ok(seen.includes(200), `${seen.length} requests before`);
    assert.deepEqual([...new Set(late)], [401]);
  });

  test('stays revoked, whatever is done to it', async () => {
    const key = await mint(stack);
    await revoke(stack, key);
    await revoke(stack, key);
    await verb(stack, 'keys', 'align', '--org', key.org, '--plan', 'embedded');
    expectRejected(await ask('/v1/me', key.headers));
    const row = (await verb(stack, 'keys', 'list')).find(({ id }) => id === key.id);
    assert.equal(row.is_active, false);
  });

  test('leaves the other keys of its organisation valid', async () => {
    const org = organisation();
    const [key, other] = [await mint(stack, { org }), await mint(stack, { org })];
    await revoke(stack, key);
    await stack.ok('/v1/me', { headers: other.headers });
  });
});

describe('a contracted rate', () => {
  const rate = async ({ headers }) => {
    const answer = await stack.ok('/v1/me', { headers });
    assert.equal(answer.json.data.limits.requests_per_minute, allowance(answer).limit);
    return allowance(answer).limit;
  };
  const tier = async ({ headers }) => (await stack.ok('/v1/me', { headers })).json.data.key.tier;

  test('belongs to its key alone', async () => {
    const org = organisation();
    assert.equal(await rate(await mint(stack, { org, rpm: 7 })), 7);
    assert.equal(await rate(await mint(stack, { org })), PLANS.data);
  });

  test('survives the alignment of plans, which every other key follows at once', async () => {
    const org = organisation();
    const [contracted, ordinary] = [await mint(stack, { org, rpm: 7 }), await mint(stack, { org })];
    assert.deepEqual([await rate(contracted), await rate(ordinary)], [7, PLANS.data]);
    for (const plan of ['decisioning', 'data', 'embedded']) {
      await verb(stack, 'keys', 'align', '--org', org, '--plan', plan);
      assert.equal(await rate(ordinary), PLANS[plan]);
      assert.deepEqual([await tier(contracted), await tier(ordinary)], [plan, plan]);
    }
    assert.equal(allowance(await ask('/v1/chains', contracted.headers)).limit, 7);
  });
});
