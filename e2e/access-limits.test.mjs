// Rate limits: each kind of caller has its own, every request is charged to the right one, and the counts are exact.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { ANONYMOUS, FIRST_PARTY, HEALTH, allowance, expectCharged, expectRateLimited, expectUnmetered, windowWithSecondsLeft, times } from './metering.mjs';
import { bearer, mint } from './operator.mjs';
import { ALLOWED_ORIGIN, OTHER_ORIGIN, newCaller, newIpv4Caller, sharedStack, uncachedTarget } from './stack.mjs';

const stack = sharedStack();
const from = (caller) => ({ 'cf-connecting-ip': caller });
const anonymous = (remaining, end) => ({ limit: ANONYMOUS, remaining, end });
let row;

before(async () => {
  [row] = (await stack.ok('/v1/vaults?limit=1')).json.data;
});

/** Sends `count` requests at once; returns the served responses, by decreasing remaining allowance, and the refused ones. */
async function atOnce(count, ask) {
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => ask(n)));
  const served = answers.filter(({ status }) => status === 200).toSorted((a, b) => allowance(b).remaining - allowance(a).remaining);
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(served.length + refused.length, count, answers.map(({ status }) => status).join());
  return { served, refused };
}

/** Expects that exactly `limit` requests were served, each with its own remaining count. */
function expectExact({ served, refused }, { limit, end }) {
  assert.deepEqual(served.map((answer) => allowance(answer).remaining), Array.from({ length: limit }, (_, n) => limit - 1 - n));
  for (const answer of refused) expectRateLimited(answer, { limit, end });
}

describe('an address without a key', () => {
  test('has ten requests a minute, whatever the route and the status', async () => {
    const headers = from(newCaller());
    const target = uncachedTarget('/v1/vaults?limit=3');
    const kinds = [
      [200, 'MISS', () => stack.get(target, { headers })],
      [200, 'HIT', () => stack.get(target, { headers })],
      [304, 'HIT', () => stack.get(target, { headers: { ...headers, 'if-none-match': '*' } })],
      [200, 'HIT', () => stack.get(target, { headers, method: 'HEAD' })],
      [200, 'BYPASS', () => stack.post('/v1/vaults/batch', { ids: [row.id] }, headers)],
      [400, null, () => stack.get('/v1/vaults?page=0', { headers })],
      [400, null, () => stack.post('/v1/vaults/batch', '{', headers)],
      [401, null, () => stack.get('/v1/vaults/scores', { headers })],
      [403, null, () => stack.get('/v1/vaults?page=3&limit=100', { headers })],
      [404, null, () => stack.get('/v1/vaults/nobody', { headers })],
    ];
    assert.equal(kinds.length, ANONYMOUS);
    const end = await windowWithSecondsLeft();
    for (const [index, [status, cache, ask]] of kinds.entries()) {
      const answer = await ask();
      assert.equal(answer.status, status, answer.text);
      if (cache) assert.equal(answer.headers.get('x-cache'), cache);
      expectCharged(answer, anonymous(ANONYMOUS - 1 - index, end));
    }
    for (const [, , ask] of kinds.filter(([status]) => status !== 304)) {
      const answer = await ask();
      if (answer.text === '') assert.equal(answer.status, 429);
      else expectRateLimited(answer, anonymous(0, end));
    }
  });

  test('is not charged for an unknown route, a preflight or readiness', async () => {
    const headers = from(newCaller());
    const preflight = { method: 'OPTIONS', headers: { ...headers, origin: ALLOWED_ORIGIN, 'access-control-request-method': 'GET' } };
    const end = await windowWithSecondsLeft();
    expectCharged(await stack.get('/v1/chains', { headers }), anonymous(9, end));
    for (const [target, options, status] of [
      ['/v1/nope', { headers }, 404],
      ['/v1/chains', { headers, method: 'DELETE' }, 405],
      [`/v1/vaults?x=${'y'.repeat(8300)}`, { headers }, 414],
      ['/ready', { headers }, 200],
      ['/v1/chains', preflight, 204],
      ['/v1/me', preflight, 204],
    ]) {
      for (const answer of await times(3, () => stack.get(target, options))) {
        assert.equal(answer.status, status, target);
        expectUnmetered(answer);
      }
    }
    expectCharged(await stack.get('/v1/chains', { headers }), anonymous(8, end));
  });

  test('shares its ten with its whole IPv6 network, and with no other', async () => {
    const caller = newCaller();
    const network = caller.slice(0, caller.indexOf('::'));
    const spellings = [caller, `${network}:ffff:ffff:ffff:ffff`, `${network.toUpperCase()}::a:0:1`, `${network}:0:0:0:0`];
    const end = await windowWithSecondsLeft();
    for (const [index, spelling] of spellings.entries()) {
      expectCharged(await stack.get('/v1/chains', { headers: from(spelling) }), anonymous(9 - index, end));
    }
    expectCharged(await stack.get('/v1/chains', { headers: from(newCaller()) }), anonymous(9, end));
  });

  test('is the same caller in both spellings of an IPv4 address', async () => {
    const caller = newIpv4Caller();
    const end = await windowWithSecondsLeft();
    expectCharged(await stack.get('/v1/chains', { headers: from(caller) }), anonymous(9, end));
    expectCharged(await stack.get('/v1/chains', { headers: from(`::ffff:${caller}`) }), anonymous(8, end));
  });

  test('that cannot be parsed counts as one shared caller', async () => {
    await windowWithSecondsLeft();
    const health = (caller) => stack.get('/v1/health', { headers: from(caller) }).then((answer) => allowance(answer).remaining);
    const first = await health('nobody');
    assert.equal(await health('192.0.2.1, 192.0.2.2'), first - 1);
    assert.equal(await health(''), first - 2);
  });

  test('gets exactly ten answers when it asks 64 times at once', async () => {
    const headers = from(newCaller());
    const end = await windowWithSecondsLeft();
    expectExact(await atOnce(64, () => stack.get('/v1/chains', { headers })), { limit: ANONYMOUS, end });
  });
});

describe('a separate allowance', () => {
  test("exists for the service's own pages, and not for pages of other origins", async () => {
    const headers = from(newCaller());
    const end = await windowWithSecondsLeft(15);
    expectCharged(await stack.get('/v1/chains', { headers }), anonymous(9, end));
    const ours = () => stack.get('/v1/chains', { headers: { ...headers, origin: ALLOWED_ORIGIN } });
    const { served } = await atOnce(FIRST_PARTY, ours);
    assert.equal(served.length, FIRST_PARTY);
    const refused = await ours();
    expectRateLimited(refused, { limit: FIRST_PARTY, end });
    assert.equal(refused.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN, 'the page can read the refusal');
    expectCharged(await stack.get('/v1/chains', { headers: { ...headers, origin: OTHER_ORIGIN } }), anonymous(8, end));
  });

  test('exists for health, per address, whatever the credentials', async () => {
    const headers = from(newCaller());
    const health = (more) => stack.get('/v1/health', { headers: { ...headers, ...more } });
    const end = await windowWithSecondsLeft(15);
    expectCharged(await health(bearer(stack.keys.data)), { limit: HEALTH, remaining: HEALTH - 1, end });
    assert.equal((await atOnce(HEALTH - 1, () => health())).served.length, HEALTH - 1);
    for (const more of [{}, bearer(stack.keys.data), { origin: ALLOWED_ORIGIN }]) expectRateLimited(await health(more), { limit: HEALTH, end });
    expectCharged(await stack.get('/v1/chains', { headers }), anonymous(9, end));
  });
});

describe('a key', () => {
  test('counts across addresses, and leaves the allowance of the address alone', async () => {
    const [key, other] = [await mint(stack, { rpm: 5 }), await mint(stack, { rpm: 5 })];
    const caller = from(newCaller());
    const target = uncachedTarget('/v1/vaults?limit=2');
    const end = await windowWithSecondsLeft();
    for (const [index, [status, options]] of [
      [200, {}],
      [200, { headers: caller }],
      [304, { headers: { 'if-none-match': '*' } }],
      [200, { method: 'HEAD' }],
    ].entries()) {
      const answer = await stack.get(target, { ...options, headers: { ...options.headers, ...key.headers } });
      assert.equal(answer.status, status);
      expectCharged(answer, { limit: 5, remaining: 4 - index, end });
    }
    expectCharged(await stack.get('/v1/vaults?page=0', { headers: key.headers }), { limit: 5, remaining: 0, end });
    for (const where of [target, '/v1/me', '/v1/vaults/scores', '/v1/vaults?page=0']) {
      expectRateLimited(await stack.get(where, { headers: { ...caller, ...key.headers } }), { limit: 5, end });
    }
    expectCharged(await stack.get(target, { headers: caller }), anonymous(9, end));
    expectCharged(await stack.get(target, { headers: { ...caller, ...other.headers } }), { limit: 5, remaining: 4, end });
  });

  test('of fifty a minute gets exactly fifty responses to 114 requests at once', async () => {
    const key = await mint(stack, { rpm: 50 });
    const target = uncachedTarget('/v1/vaults?limit=1');
    await stack.ok(target);
    const end = await windowWithSecondsLeft();
    expectExact(await atOnce(64 + 50, () => stack.get(target, { headers: key.headers })), { limit: 50, end });
  });

  test('on a page of the service is charged to the key', async () => {
    const key = await mint(stack, { rpm: 5 });
    const headers = { ...from(newCaller()), origin: ALLOWED_ORIGIN };
    const end = await windowWithSecondsLeft();
    expectCharged(await stack.get('/v1/chains', { headers: { ...headers, ...key.headers } }), { limit: 5, remaining: 4, end });
    expectCharged(await stack.get('/v1/chains', { headers }), { limit: FIRST_PARTY, remaining: FIRST_PARTY - 1, end });
  });

  test('that is not shared ignores client names', async () => {
    const key = await mint(stack, { rpm: 4 });
    const end = await windowWithSecondsLeft();
    for (const [index, client] of ['desk-1', 'desk-2', 'x'.repeat(129), ''].entries()) {
      const answer = await stack.get('/v1/chains', { headers: { ...key.headers, 'x-service-subclient': client } });
      expectCharged(answer, { limit: 4, remaining: 3 - index, end });
    }
  });
});

describe('a shared key', () => {
  const LIMIT = 40;
  const CLIENT_LIMIT = 10;
  let key;
  const ask = (client) => stack.get('/v1/chains', { headers: { ...key.headers, ...(client === undefined ? {} : { 'x-service-subclient': client }) } });

  test('gives each named client a quarter, and one quarter to all requests without a client name', async () => {
    key = await mint(stack, { rpm: LIMIT, shared: true });
    const end = await windowWithSecondsLeft(15);
    let left = LIMIT;
    const served = async (client, share) => {
      left -= 1;
      expectCharged(await ask(client), { limit: LIMIT, remaining: left, end, subclient: { limit: CLIENT_LIMIT, remaining: share } });
    };
    for (let share = CLIENT_LIMIT - 1; share >= 0; share -= 1) await served('desk-1', share);
    const refused = await ask('desk-1');
    expectRateLimited(refused, { limit: LIMIT, remaining: left, end, subclient: { limit: CLIENT_LIMIT, remaining: 0 } });
    expectRateLimited(await ask(' desk-1\t'), { limit: LIMIT, remaining: left, end, subclient: { limit: CLIENT_LIMIT, remaining: 0 } });
    await served('desk-2', CLIENT_LIMIT - 1);
    await served('Desk-1', CLIENT_LIMIT - 1);
    for (let share = CLIENT_LIMIT - 1; share >= 0; share -= 1) await served(share % 2 ? undefined : '', share);
    expectRateLimited(await ask(), { limit: LIMIT, remaining: left, end, subclient: { limit: CLIENT_LIMIT, remaining: 0 } });
    for (let share = CLIENT_LIMIT - 2; share >= 0; share -= 1) await served('desk-2', share);
    while (left > 0) await served(`late-${left}`, CLIENT_LIMIT - 1);
    expectRateLimited(await ask('desk-3'), { limit: LIMIT, end, subclient: { limit: CLIENT_LIMIT, remaining: CLIENT_LIMIT } });
  });

  test('refuses a client name of more than 128 bytes and names the header', async () => {
    key = await mint(stack, { rpm: LIMIT, shared: true });
    const error = expectError(await ask('x'.repeat(129)), 400, 'INVALID_PARAMETER');
    const detail = error.details.find((candidate) => candidate.in === 'header');
    assert.match(detail.name, /^x-service-subclient$/i);
    assert.match(error.message, /128/);
  });

  test('of the demo reports both limits', async () => {
    const answer = await stack.ok('/v1/chains', { headers: bearer(stack.keys.shared) });
    const { limit, subclientLimit } = allowance(answer);
    assert.deepEqual([limit, subclientLimit], [300, 75]);
  });
});
