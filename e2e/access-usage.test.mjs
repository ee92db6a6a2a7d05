// What `/v1/me` reports about a key. After the end of a minute the allowances are full again, and each request has been counted once.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectShape } from './expect.mjs';
import { Me, data } from './interface-fields.mjs';
import { ANONYMOUS, PLANS, allowance, expectCharged, expectRateLimited, dayWithSecondsLeft, windowWithSecondsLeft, times, windowOver } from './metering.mjs';
import { bearer, mint } from './operator.mjs';
import { newCaller, sharedStack, uncachedTarget, until } from './stack.mjs';

const stack = sharedStack();
const ask = (target, headers, options) => stack.get(target, { ...options, headers });
const me = async ({ headers }) => (await stack.ok('/v1/me', { headers })).json.data;

/** Upper bound on the duration of these tests: all must run within one UTC day, because usage is counted by day. */
const MAX_SECONDS = 300;

describe('a new key', () => {
  test('reports its identity, its limits and zero usage', async () => {
    const begun = Date.now();
    const key = await mint(stack);
    const answer = await ask('/v1/me', key.headers);
    expectShape(answer, data(Me));
    const { key: identity, limits, usage } = answer.json.data;
    assert.deepEqual([identity.id, identity.partner_name, identity.tier, identity.last_used_at], [key.id, key.org, 'data', null]);
    assert.ok(key.key.startsWith(identity.prefix) && identity.prefix.length < key.key.length / 2, 'the prefix is less than half of the key');
    assert.ok(!answer.text.includes(key.key.slice(-20)));
    const { now } = (await stack.operate('/clock')).json;
    assert.ok(Date.parse(identity.created_at) >= begun - 1000 && Date.parse(identity.created_at) <= Date.parse(now), identity.created_at);
    assert.deepEqual(limits, { requests_per_minute: PLANS.data, shared_key: false, subclient_requests_per_minute: null });
    assert.deepEqual([usage.total_count, usage.throttled_count, usage.endpoints], [0, 0, []]);
    assert.equal(usage.day, now.slice(0, 10));
  });

  test('with a contracted rate and clients reports both limits', async () => {
    for (const [rpm, share] of [[50, 12], [3, 1]]) {
      const { limits } = await me(await mint(stack, { rpm, shared: true, plan: 'decisioning' }));
      assert.deepEqual(limits, { requests_per_minute: rpm, shared_key: true, subclient_requests_per_minute: share });
    }
  });

  test('has its own id, and the organisation id of its sister keys', async () => {
    const one = await mint(stack);
    const [first, second] = [await me(one), await me(await mint(stack, { org: one.org }))];
    assert.equal(first.key.org_id, second.key.org_id);
    assert.notEqual(first.key.id, second.key.id);
    assert.notEqual(first.key.org_id, (await me(await mint(stack))).key.org_id);
  });
});

describe('when the minute is over', { concurrency: true }, () => {
  const LIMIT = 30;
  /** Requests sent with the counted key, by endpoint; the rest of its allowance goes to `/v1/me`. */
  const ASKED = { 'GET /v1/vaults': 9, 'GET /v1/vaults/{id}': 3, 'POST /v1/vaults/batch': 2, 'GET /v1/vaults/scores': 4 };
  const THROTTLED = 4;
  const caller = { 'cf-connecting-ip': newCaller() };
  const stranger = { 'cf-connecting-ip': newCaller(), ...bearer('pk_live_33333333333333333333333333333333') };
  let end;
  let begun;
  let keys;

  before(async () => {
    await dayWithSecondsLeft(MAX_SECONDS);
    keys = {
      counted: await mint(stack, { rpm: LIMIT }),
      small: await mint(stack, { rpm: 3 }),
      crowded: await mint(stack, { rpm: 3 }),
      shared: await mint(stack, { rpm: 8, shared: true }),
    };
    end = await windowWithSecondsLeft(20);
    begun = Date.now();
    await spendAllowances();
    await spendCounted();
  });

  /** Uses up the allowances of an address, a key, a client of a shared key, and an address that sends an invalid key. */
  async function spendAllowances() {
    for (const [headers, limit] of [[caller, ANONYMOUS], [keys.small.headers, 3], [keys.crowded.headers, 3], [stranger, ANONYMOUS]]) {
      await times(limit, () => ask('/v1/chains', headers));
      expectRateLimited(await ask('/v1/chains', headers), { limit, end });
    }
    const client = { ...keys.shared.headers, 'x-service-subclient': 'desk' };
    await times(2, () => ask('/v1/chains', client));
    expectRateLimited(await ask('/v1/chains', client), { limit: 8, remaining: 6, end, subclient: { limit: 2, remaining: 0 } });
  }

  /** Sends the requests of ASKED, some of them invalid, then `/v1/me` until the allowance is used up, then requests that are throttled. */
  async function spendCounted() {
    const { headers } = keys.counted;
    const [row] = (await stack.ok('/v1/vaults?limit=1')).json.data;
    const target = uncachedTarget('/v1/vaults?limit=2');
    const statuses = [
      ...(await times(4, () => ask(target, headers))),
      await ask(target, { ...headers, 'if-none-match': '*' }),
      await ask(target, headers, { method: 'HEAD' }),
      await ask('/v1/vaults?page=3&limit=100', headers),
      ...(await times(2, () => ask('/v1/vaults?page=0', headers))),
      ...(await times(2, () => ask(`/v1/vaults/${row.id}`, headers))),
      await ask('/v1/vaults/nobody', headers),
      ...(await times(2, () => stack.post('/v1/vaults/batch', { ids: [row.id] }, headers))),
      ...(await times(4, () => ask('/v1/vaults/scores', headers))),
    ].map(({ status }) => status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 304, 200, 200, 400, 400, 200, 200, 404, 200, 200, 200, 200, 200, 200]);
    await times(LIMIT - statuses.length, () => stack.ok('/v1/me', { headers }));
    for (const refused of await times(THROTTLED, (n) => ask(n % 2 ? target : '/v1/me', headers))) expectRateLimited(refused, { limit: LIMIT, end });
  }

  test('every allowance is full again at once', async () => {
    await windowOver(end);
    const next = end + 60;
    expectCharged(await ask('/v1/chains', caller), { limit: ANONYMOUS, remaining: ANONYMOUS - 1, end: next });
    expectCharged(await ask('/v1/chains', keys.small.headers), { limit: 3, remaining: 2, end: next });
    const rejected = await ask('/v1/chains', stranger);
    assert.equal(rejected.status, 401);
    expectCharged(rejected, { limit: ANONYMOUS, remaining: ANONYMOUS - 1, end: next });
    const shared = await ask('/v1/chains', { ...keys.shared.headers, 'x-service-subclient': 'desk' });
    expectCharged(shared, { limit: 8, remaining: 7, end: next, subclient: { limit: 2, remaining: 1 } });
  });

  test('the new allowance stays exact under concurrent requests', async () => {
    await windowOver(end);
    const answers = await Promise.all(Array.from({ length: 16 }, () => ask('/v1/chains', keys.crowded.headers)));
    const served = answers.filter(({ status }) => status === 200);
    assert.deepEqual(served.map((answer) => allowance(answer).remaining).toSorted(), [0, 1, 2]);
    for (const refused of answers.filter(({ status }) => status !== 200)) expectRateLimited(refused, { limit: 3, end: end + 60 });
  });

  test('each request is counted once by its endpoint, and refused ones separately', { timeout: MAX_SECONDS * 1000 }, async () => {
    await windowOver(end);
    const count = (usage, endpoint) => usage.endpoints.find((row) => row.endpoint === endpoint)?.count;
    const reported = await until('the minute is counted', 200, async () => {
      const answer = await me(keys.counted);
      const { usage } = answer;
      return usage.throttled_count >= THROTTLED && count(usage, 'GET /v1/vaults') >= ASKED['GET /v1/vaults'] && answer;
    }, 4000);
    const { usage, key } = reported;
    for (const [endpoint, asked] of Object.entries(ASKED)) assert.equal(count(usage, endpoint), asked, endpoint);
    assert.equal(usage.throttled_count, THROTTLED);
    assert.equal(usage.total_count, usage.endpoints.reduce((sum, row) => sum + row.count, 0));
    assert.ok(usage.total_count >= LIMIT, `${usage.total_count}`);
    assert.deepEqual(usage.endpoints.map((row) => row.endpoint).toSorted(), [...Object.keys(ASKED), 'GET /v1/me'].toSorted());
    assert.ok(usage.as_of_lag_seconds <= 150, `${usage.as_of_lag_seconds}`);
    assert.equal(usage.day, new Date().toISOString().slice(0, 10));
    for (const at of [key.last_used_at, ...usage.endpoints.map((row) => row.last_seen)]) {
      assert.ok(Date.parse(at) >= begun - 1000 && Date.parse(at) <= Date.now() + 1000, at);
    }
  });
});
