// Failures of the edge, the origin and the counters' disk: limits and key checks stay in force, no response is 500, and usage is still counted.

import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { expectError, expectRetry, expectStale } from './expect.mjs';
import { ANONYMOUS, PLANS, allowance, expectCharged, expectRateLimited, dayWithSecondsLeft, windowWithSecondsLeft, times } from './metering.mjs';
import { bearer, mint, started, verb } from './operator.mjs';
import { up } from './private-stack.mjs';
import { ALLOWED_ORIGIN, newCaller, uncachedTarget, until } from './stack.mjs';

/** Longest lifetime of a key lease at the edge. */
const LEASE_SECONDS = 30;
/** Time after a window's end within which its counts were sent at least once. */
const FLUSH_SECONDS = 65;
const UNKNOWN = bearer('pk_live_44444444444444444444444444444444');
const REFUSED = bearer('pk_live_55555555555555555555555555555555');

let stack;

before(async () => {
  stack = await up('--data', 'demo');
}, { timeout: 400_000 });

after(async () => {
  if (!stack) return;
  for (const name of ['edge', 'origin']) process.kill(stack.pids[name], 'SIGCONT');
  await stack.stop();
});

const ask = (target, headers, options) => stack.get(target, { ...options, headers });
const state = (answer) => answer.headers.get('x-cache');

/** Expects the 401 for a missing or invalid key. */
function expectRefused(answer, legacyCode) {
  assert.equal(expectError(answer, 401, 'UNAUTHORIZED').legacy_code, legacyCode);
}

describe('the edge hangs', () => {
  let key;
  let child;

  before(async () => {
    key = await mint(stack);
    await stack.ok('/v1/me', { headers: key.headers });
    process.kill(stack.pids.edge, 'SIGSTOP');
  });
  after(() => process.kill(stack.pids.edge, 'SIGCONT'));

  test('a revocation reports that the edge does not know yet, and keeps trying', async () => {
    child = started(stack, 'keys', 'revoke', String(key.id));
    await until('the command reports it', 60, () => /edge/i.test(child.said));
    assert.equal(child.exitCode, null, child.said);
    const row = (await verb(stack, 'keys', 'list')).find(({ id }) => id === key.id);
    assert.equal(row.is_active, false);
  });

  test('a key minted meanwhile works when the edge is back; the revoked one does not', { timeout: 180_000 }, async () => {
    const minted = await mint(stack);
    process.kill(stack.pids.edge, 'SIGCONT');
    assert.equal(await child.ended, 0, child.said);
    expectRefused(await ask('/v1/me', key.headers), 'invalid_api_key');
    await stack.ok('/v1/me', { headers: minted.headers });
  });
});

describe('the origin hangs', () => {
  const LIMIT = 12;
  const THROTTLED = 3;
  let plain;
  let counted;
  let exact;
  let asked;
  let list;
  let scores;
  let deep;
  let end;

  before(async () => {
    [list, scores, deep] = [uncachedTarget('/v1/vaults?limit=2'), uncachedTarget('/v1/vaults/scores?limit=2'), uncachedTarget('/v1/vaults?page=3&limit=100')];
    await dayWithSecondsLeft(400);
    end = await windowWithSecondsLeft(20);
    expectRefused(await ask(list, REFUSED), 'invalid_api_key');
    exact = await mint(stack, { rpm: LIMIT });
    await stack.ok(list, { headers: exact.headers });
    // The leases of `counted` and `plain` begin at their first request, so the lease of `counted` ends first.
    counted = await mint(stack, { rpm: LIMIT });
    await times(LIMIT, () => stack.ok(list, { headers: counted.headers }));
    for (const refused of await times(THROTTLED, () => ask(list, counted.headers))) expectRateLimited(refused, { limit: LIMIT, end });
    plain = await mint(stack);
    for (const target of [list, scores, deep]) await stack.ok(target, { headers: plain.headers });
    await stack.ok(list);
    asked = Date.now();
    process.kill(stack.pids.origin, 'SIGSTOP');
  });
  after(() => process.kill(stack.pids.origin, 'SIGCONT'));

  test('a key that the edge knows is served stale cached responses for the rest of its lease', async () => {
    const stale = await until('the cached scores are stale', LEASE_SECONDS, async () => {
      const answer = await ask(scores, plain.headers);
      assert.equal(answer.status, 200, answer.text);
      return state(answer) === 'STALE-ERROR' && answer;
    });
    expectStale(stale);
    assert.equal(allowance(stale).limit, PLANS.data);
    expectStale(await ask(deep, plain.headers));
  });

  test('a stale cached response is never served to a caller without access to it', async () => {
    const etag = { 'if-none-match': '*' };
    for (const [headers, options] of [[{}, {}], [etag, {}], [{ origin: ALLOWED_ORIGIN }, {}], [{}, { method: 'HEAD' }], [etag, { method: 'HEAD' }]]) {
      for (const [target, status] of [[scores, 401], [deep, 403]]) {
        const answer = await ask(target, headers, options);
        assert.equal(answer.status, status, answer.text);
        for (const name of ['etag', 'x-cache', 'age', 'warning']) assert.equal(answer.headers.get(name), null, name);
      }
    }
    for (const target of [list, scores, deep]) expectRefused(await ask(target, bearer('nonsense')), 'invalid_api_key');
  });

  test('when the lease is over, a known key keeps its plan and its exact limit', async () => {
    await until('the leases are over', LEASE_SECONDS + 5, () => Date.now() > asked + (LEASE_SECONDS + 2) * 1000);
    for (const target of [list, scores, deep]) {
      const answer = await ask(target, plain.headers);
      expectStale(answer);
      assert.equal(allowance(answer).limit, PLANS.data);
    }
    assert.equal((await ask(list, { ...plain.headers, 'if-none-match': '*' })).status, 304);
    const window = await windowWithSecondsLeft(20);
    // The key's first request counts too if its window has not ended yet.
    const left = window === end ? LIMIT - 1 : LIMIT;
    for (let remaining = left - 1; remaining >= 0; remaining -= 1) {
      const answer = await ask(list, exact.headers);
      expectStale(answer);
      expectCharged(answer, { limit: LIMIT, remaining, end: window });
    }
    expectRateLimited(await ask(list, exact.headers), { limit: LIMIT, end: window });
    const me = await ask('/v1/me', plain.headers);
    expectRetry(me, 503, 'SERVICE_UNAVAILABLE');
  });

  test('a key that cannot be checked gets 503 and a refused key stays refused: neither is treated as anonymous', async () => {
    for (const target of ['/v1/me', list, scores, deep, '/v1/status']) {
      const answer = await ask(target, UNKNOWN);
      expectRetry(answer, 503, 'SERVICE_UNAVAILABLE');
      assert.equal(allowance(answer).limit, null);
      for (const name of ['etag', 'x-cache']) assert.equal(answer.headers.get(name), null);
      expectRefused(await ask(target, REFUSED), 'invalid_api_key');
    }
    expectStale(await ask(list, {}));
  });

  test('only the first request waits for an origin that hangs', async () => {
    const quick = [];
    for (const [target, headers, status] of [['/ready', {}, 503], ['/v1/health', {}, 503], [list, {}, 200], [scores, plain.headers, 200], ['/v1/status', {}, 200]]) {
      const first = await ask(target, headers);
      assert.equal(first.status, status, first.text);
      assert.ok(first.millis < 3_000, `${target}: ${first.millis} ms`);
      for (let n = 0; n < 5; n += 1) {
        const answer = await ask(target, headers);
        assert.equal(answer.status, status);
        quick.push(answer.millis);
      }
    }
    quick.sort((one, other) => one - other);
    assert.ok(quick.at(-1) < 1_000, `the slowest later request took ${quick.at(-1)} ms`);
  });

  test('when the origin is back, keys work again and earlier requests are counted once', { timeout: 360_000 }, async () => {
    await until('sending the window has failed', 60 + FLUSH_SECONDS, () => Date.now() / 1000 > end + FLUSH_SECONDS, 500);
    process.kill(stack.pids.origin, 'SIGCONT');
    await until('keys work again', 20, async () => (await ask(scores, plain.headers)).status === 200, 500);
    const usage = await until('the minute is counted', 200, async () => {
      const reported = (await stack.ok('/v1/me', { headers: counted.headers })).json.data.usage;
      return reported.total_count >= LIMIT && reported.throttled_count >= THROTTLED && reported;
    }, 8000);
    assert.equal(usage.endpoints.find((row) => row.endpoint === 'GET /v1/vaults').count, LIMIT);
    assert.equal(usage.throttled_count, THROTTLED);
  });

  test('the status feed counts what the edge answered meanwhile', { timeout: 150_000 }, async () => {
    const signals = await until('the feed includes the errors', 120, async () => {
      const { signals } = (await stack.ok('/v1/status')).json;
      return signals.error_rate_15m > 0 && signals;
    }, 1000);
    assert.ok(signals.requests_15m > 20, JSON.stringify(signals));
  });
});

describe('the disk of the counters is gone', () => {
  let key;

  before(async () => {
    const objects = join(stack.state, 'edge', 'objects');
    for (const folder of readdirSync(objects)) rmSync(join(objects, folder), { recursive: true });
    // This key is unused, so its Durable Object would have to be created now, which needs the disk.
    key = await mint(stack);
  });

  test('requests with a key get 503, and requests without one are served', async () => {
    for (const target of ['/v1/me', '/v1/chains', uncachedTarget('/v1/vaults/scores'), '/v1/vaults?page=3&limit=100']) {
      expectRetry(await ask(target, key.headers), 503, 'SERVICE_UNAVAILABLE');
    }
    await stack.ok('/v1/chains');
    expectRefused(await ask('/v1/chains', bearer('nonsense')), 'invalid_api_key');
    expectRefused(await ask('/v1/me', {}), 'tier_required');
  });

  test('every address still has its ten requests and not one more', async () => {
    const callers = Array.from({ length: 12 }, () => ({ 'cf-connecting-ip': newCaller() }));
    const end = await windowWithSecondsLeft(20);
    for (const caller of callers) {
      for (let left = ANONYMOUS - 1; left >= 0; left -= 1) {
        const answer = await ask('/v1/chains', caller);
        assert.equal(answer.status, 200, answer.text);
        expectCharged(answer, { limit: ANONYMOUS, remaining: left, end });
      }
      expectRateLimited(await ask('/v1/chains', caller), { limit: ANONYMOUS, end });
      // Of the registers of keys, those that an earlier test opened still answer from their open file: this key does not exist, so it is
      // charged to the address, whose requests are used up. The others cannot say.
      const unknown = await ask('/v1/chains', { ...caller, ...UNKNOWN });
      if (unknown.status === 429) expectRateLimited(unknown, { limit: ANONYMOUS, end });
      else expectRetry(unknown, 503, 'SERVICE_UNAVAILABLE');
    }
  });

  test('a revocation that the edge cannot confirm is reported, and the command keeps trying', async () => {
    const child = started(stack, 'keys', 'revoke', String(key.id));
    await until('the command reports it', 60, () => /edge/i.test(child.said));
    assert.equal(child.exitCode, null, child.said);
    child.kill('SIGTERM');
    await child.ended;
    for (const target of ['/v1/me', '/v1/vaults/scores']) assert.equal((await ask(target, key.headers)).status, 503);
  });
});
