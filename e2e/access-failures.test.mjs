// Parts of access fail: nobody gets more than was theirs, nothing is 500, and nothing is forgotten.

import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { expectError, expectRetry, expectStale } from './expect.mjs';
import { ANONYMOUS, PLANS, allowance, expectMetered, expectSpent, lastingDay, roomyWindow, times } from './metering.mjs';
import { bearer, mint, revoke, started, verb } from './operator.mjs';
import { up } from './private-stack.mjs';
import { OURS, newCaller, unasked, until } from './stack.mjs';

/** The longest that the edge acts upon what it knows of a key. */
const LEASE_SECONDS = 30;
/** By then a window that ended was sent off at least once. */
const FLUSH_SECONDS = 65;
const UNKNOWN = bearer('pk_live_44444444444444444444444444444444');

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
const expectAnonymous = (answer) => assert.equal(allowance(answer).limit, ANONYMOUS, 'as anybody');

/** A 401 for whoever brought no key, or a bad one. */
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

  test('a revocation says that the edge does not know yet, and goes on trying', async () => {
    child = started(stack, 'keys', 'revoke', String(key.id));
    await until('the command says so', 60, () => /edge/i.test(child.said));
    assert.equal(child.exitCode, null, child.said);
    const row = (await verb(stack, 'keys', 'list')).find(({ id }) => id === key.id);
    assert.equal(row.is_active, false);
  });

  test('a key can be minted meanwhile, and works when the edge is back; the revoked one does not', { timeout: 180_000 }, async () => {
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
  let list;
  let scores;
  let deep;
  let end;

  before(async () => {
    [list, scores, deep] = [unasked('/v1/vaults?limit=2'), unasked('/v1/vaults/scores?limit=2'), unasked('/v1/vaults?page=3&limit=100')];
    await lastingDay(400);
    end = await roomyWindow(20);
    // Minted now and asked with at once, this one first: their leases begin here, and this one's ends first.
    counted = await mint(stack, { rpm: LIMIT });
    await times(LIMIT, () => stack.ok(list, { headers: counted.headers }));
    for (const refused of await times(THROTTLED, () => ask(list, counted.headers))) expectSpent(refused, { limit: LIMIT, end });
    plain = await mint(stack);
    for (const target of [list, scores, deep]) await stack.ok(target, { headers: plain.headers });
    await stack.ok(list);
    process.kill(stack.pids.origin, 'SIGSTOP');
  });
  after(() => process.kill(stack.pids.origin, 'SIGCONT'));

  test('a key that the edge knows is served for the rest of its lease, from copies that grow old', async () => {
    const stale = await until('the copy of the scores is stale', LEASE_SECONDS, async () => {
      const answer = await ask(scores, plain.headers);
      assert.equal(answer.status, 200, answer.text);
      return state(answer) === 'STALE-ERROR' && answer;
    });
    expectStale(stale);
    assert.equal(allowance(stale).limit, PLANS.data);
    expectStale(await ask(deep, plain.headers));
  });

  test('a stale copy is shown to nobody who may not have it', async () => {
    const etag = { 'if-none-match': '*' };
    for (const [headers, options] of [[{}, {}], [etag, {}], [{ origin: OURS }, {}], [{}, { method: 'HEAD' }], [etag, { method: 'HEAD' }]]) {
      for (const [target, status] of [[scores, 401], [deep, 403]]) {
        const answer = await ask(target, headers, options);
        assert.equal(answer.status, status, answer.text);
        for (const name of ['etag', 'x-cache', 'age', 'warning']) assert.equal(answer.headers.get(name), null, name);
      }
    }
    for (const target of [list, scores, deep]) expectRefused(await ask(target, bearer('nonsense')), 'invalid_api_key');
  });

  test('when the lease is over, what needs a key is 503, and the rest is as for anybody', async () => {
    const refused = await until('the lease is over', LEASE_SECONDS + 5, async () => {
      const answer = await ask(scores, plain.headers);
      assert.ok([200, 503].includes(answer.status), answer.text);
      return answer.status === 503 && answer;
    });
    expectRetry(refused, 503, 'SERVICE_UNAVAILABLE');
    assert.equal(refused.headers.get('etag'), null);
    for (const headers of [plain.headers, counted.headers, UNKNOWN]) {
      expectRetry(await ask('/v1/me', headers), 503, 'SERVICE_UNAVAILABLE');
      const answer = await ask(list, headers);
      expectStale(answer);
      expectAnonymous(answer);
      expectError(await ask(deep, headers), 403, 'FORBIDDEN');
    }
    assert.equal((await ask(list, { ...plain.headers, 'if-none-match': '*' })).status, 304);
  });

  test('whoever falls to anybody pays as anybody', async () => {
    const caller = { 'cf-connecting-ip': newCaller() };
    const window = await roomyWindow(25);
    for (let left = ANONYMOUS - 1; left >= 0; left -= 1) {
      const headers = [caller, { ...caller, ...plain.headers }][left % 2];
      // Refused at the edge: nobody waits for the origin here.
      const answer = await ask('/v1/vaults?page=0', headers);
      assert.equal(answer.status, 400);
      expectMetered(answer, { limit: ANONYMOUS, remaining: left, end: window });
    }
    for (const headers of [caller, { ...caller, ...plain.headers }]) expectSpent(await ask(list, headers), { limit: ANONYMOUS, end: window });
  });

  test('it wakes up: keys open again, and what was counted before is counted once', { timeout: 360_000 }, async () => {
    await until('the window was sent off in vain', 60 + FLUSH_SECONDS, () => Date.now() / 1000 > end + FLUSH_SECONDS, 500);
    process.kill(stack.pids.origin, 'SIGCONT');
    await until('keys open again', 20, async () => (await ask(scores, plain.headers)).status === 200, 500);
    const usage = await until('the minute is counted', 200, async () => {
      const told = (await stack.ok('/v1/me', { headers: counted.headers })).json.data.usage;
      return told.total_count >= LIMIT && told.throttled_count >= THROTTLED && told;
    }, 8000);
    assert.equal(usage.endpoints.find((row) => row.endpoint === 'GET /v1/vaults').count, LIMIT);
    assert.equal(usage.throttled_count, THROTTLED);
  });
});

describe('the disk of the counters is gone', () => {
  let key;

  before(async () => {
    const objects = join(stack.state, 'edge', 'objects');
    for (const folder of readdirSync(objects)) rmSync(join(objects, folder), { recursive: true });
    // Nobody has asked with this key, so what counts it would have to be made now, and cannot be.
    key = await mint(stack);
  });

  test('what needs a key is 503, and the rest is as for anybody', async () => {
    for (const target of ['/v1/me', unasked('/v1/vaults/scores')]) expectRetry(await ask(target, key.headers), 503, 'SERVICE_UNAVAILABLE');
    const answer = await stack.ok('/v1/chains', { headers: key.headers });
    expectAnonymous(answer);
    expectError(await ask('/v1/vaults?page=3&limit=100', key.headers), 403, 'FORBIDDEN');
    expectRefused(await ask('/v1/chains', bearer('nonsense')), 'invalid_api_key');
    expectRefused(await ask('/v1/me', {}), 'tier_required');
  });

  test('every address still has its ten requests and not one more', async () => {
    const callers = Array.from({ length: 12 }, () => ({ 'cf-connecting-ip': newCaller() }));
    const end = await roomyWindow(20);
    for (const caller of callers) {
      for (let left = ANONYMOUS - 1; left >= 0; left -= 1) {
        const answer = await ask('/v1/chains', caller);
        assert.equal(answer.status, 200, answer.text);
        expectMetered(answer, { limit: ANONYMOUS, remaining: left, end });
      }
      expectSpent(await ask('/v1/chains', caller), { limit: ANONYMOUS, end });
      expectSpent(await ask('/v1/chains', { ...caller, ...UNKNOWN }), { limit: ANONYMOUS, end });
    }
  });

  test('a key cannot be revoked unnoticed: the command goes on trying', async () => {
    const child = started(stack, 'keys', 'revoke', String(key.id));
    await until('the command says so', 60, () => /edge/i.test(child.said));
    assert.equal(child.exitCode, null, child.said);
    child.kill('SIGTERM');
    await child.ended;
    for (const target of ['/v1/me', '/v1/vaults/scores']) assert.equal((await ask(target, key.headers)).status, 503);
  });
});
