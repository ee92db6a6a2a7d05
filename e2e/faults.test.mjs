// Components fail and recover: what a caller sees meanwhile, and that recovery is automatic.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { databaseLink } from './database-link.mjs';
import { expectRetry, expectStale } from './expect.mjs';
import { ANONYMOUS, HEALTH, allowance } from './metering.mjs';
import { ended, isAlive, originEnvironment, serve, up } from './private-stack.mjs';
import { request, uncachedTarget, until } from './stack.mjs';

/** Longer than any cached response stays fresh. */
const EXPIRY_SECONDS = 45;
/** Maximum duration of a response that does not wait for the origin. */
const AT_ONCE_MILLIS = 500;
/** The origin's time budget before a caller gets the stale cached response, with a margin for a busy machine. */
const BUDGET_MILLIS = 4000;

let stack;
let origin;
let link;
let row;

before(async () => {
  stack = await up('--data', 'demo', '--test-clock');
  [row] = (await stack.ok('/v1/vaults?limit=1')).json.data;
}, { timeout: 400_000 });

after(async () => {
  if (origin) await ended(origin, 'SIGKILL');
  link?.close();
  await stack?.stop();
});

const state = (answer) => answer.headers.get('x-cache');
const detail = () => `/v1/vault/devnet/${row.address}?points=${2 + Math.floor(Math.random() * 2000)}`;

/** The first response that is not served from a fresh cached response any more. */
const expired = (target) =>
  until(`the cached response of ${target} has expired`, EXPIRY_SECONDS, async () => {
    const answer = await stack.get(target);
    return state(answer) !== 'HIT' && answer;
  });

const fresh = (target) =>
  until(`${target} is fresh again`, 20, async () => {
    const answer = await stack.get(target);
    return answer.status === 200 && ['HIT', 'MISS'].includes(state(answer)) && answer;
  });

describe('the origin hangs', () => {
  let target;
  let good;

  before(async () => {
    target = uncachedTarget('/v1/vaults?limit=3');
    good = await stack.ok(target);
    process.kill(stack.pids.origin, 'SIGSTOP');
  });
  after(() => process.kill(stack.pids.origin, 'SIGCONT'));

  test('the list is served stale from the cache within the time budget', async () => {
    const answer = await expired(target);
    expectStale(answer);
    assert.ok(answer.millis < BUDGET_MILLIS, `${answer.millis} ms`);
    assert.equal(answer.headers.get('etag'), good.headers.get('etag'));
    assert.deepEqual(answer.json.data.map((vault) => vault.id), good.json.data.map((vault) => vault.id));
    assert.ok(Number(answer.headers.get('age')) > 0);
  });

  test('once the breaker is open, stale responses come at once', async () => {
    await until('the breaker opens', 20, async () => {
      const answer = await stack.get(target);
      expectStale(answer);
      return answer.millis < AT_ONCE_MILLIS;
    });
    const next = await stack.get(target);
    expectStale(next);
    assert.ok(next.millis < AT_ONCE_MILLIS, `${next.millis} ms`);
  });

  test('when the origin is back, the list is fresh again', async () => {
    process.kill(stack.pids.origin, 'SIGCONT');
    await fresh(target);
  });
});

describe('the origin dies', () => {
  let list;
  let page;

  before(async () => {
    list = uncachedTarget('/v1/vaults?limit=3');
    page = detail();
    await stack.ok(list);
    await stack.ok(page);
    process.kill(stack.pids.origin, 'SIGKILL');
    await until('the process has exited', 10, () => !isAlive(stack.pids.origin));
  });

  test('cached pages are served, marked stale', async () => {
    for (const target of [list, page]) expectStale(await expired(target));
  });

  test('a stale cached response answers a conditional request and HEAD', async () => {
    const etag = (await stack.get(list)).headers.get('etag');
    const confirmed = await stack.get(list, { headers: { 'if-none-match': etag } });
    assert.equal(confirmed.status, 304);
    assert.equal(state(confirmed), 'STALE-ERROR');
    const head = await stack.get(list, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
  });

  test('what is not cached is 503 with Retry-After, within the time budget', async () => {
    for (const target of [uncachedTarget('/v1/vaults'), detail(), '/v1/health']) {
      const answer = await stack.get(target);
      expectRetry(answer, 503, 'SERVICE_UNAVAILABLE');
      assert.ok(answer.millis < BUDGET_MILLIS, `${answer.millis} ms`);
      const { limit, remaining } = allowance(answer);
      assert.deepEqual([limit, remaining], [target === '/v1/health' ? HEALTH : ANONYMOUS, limit - 1], 'charged like any other response');
    }
    expectRetry(await stack.post('/v1/vaults/batch', { ids: [row.id] }), 503, 'SERVICE_UNAVAILABLE');
    assert.equal((await stack.get('/ready')).status, 503);
  });

  test('invalid requests still get 400 and unknown routes 404', async () => {
    assert.equal((await stack.get('/v1/vaults?page=0')).status, 400);
    assert.equal((await stack.get('/v1/nope')).status, 404);
  });

  test('the stack keeps running, and the origin can be started by hand', async () => {
    assert.equal(stack.child.exitCode, null);
    link = await databaseLink(originEnvironment(stack).DATABASE_URL);
    origin = serve(stack, { DATABASE_URL: link.url });
    for (const target of [list, page]) await fresh(target);
  });
});

for (const [fault, begin] of [['is stopped', () => link.cut()], ['falls silent', () => link.silence()]]) {
  describe(`Postgres ${fault}`, () => {
    let page;

    before(async () => {
      page = detail();
      await stack.ok(page);
      begin();
    });
    after(() => link.restore());

    test('readiness reports it within 1.5 seconds', async () => {
      const begun = performance.now();
      const answer = await until('/ready is 503', 3, async () => {
        const seen = await request(stack.relay, '/ready');
        return seen.status === 503 && seen;
      });
      assert.ok(performance.now() - begun < 1500 && answer.millis < 1500, `${answer.millis} ms`);
      assert.deepEqual(Object.keys(answer.json), ['status', 'db', 'cache']);
      assert.equal(answer.json.db, 'down');
      assert.equal((await stack.get('/ready')).status, 503);
    });

    test('health is 503 with Retry-After', async () => {
      const answer = await stack.get('/v1/health');
      assert.equal(answer.status, 503, answer.text);
      assert.match(answer.headers.get('retry-after'), /^[1-9]\d*$/);
      assert.match(answer.headers.get('cache-control'), /no-store/);
    });

    test('lists that are not cached are still served fresh', async () => {
      const answer = await stack.ok(uncachedTarget('/v1/vaults?sortBy=total_score'));
      assert.equal(state(answer), 'MISS');
      assert.ok(answer.json.data.length > 0);
      await stack.ok('/v1/chains');
    });

    test('a cached detail is served stale, and any other is 503, not 500', { timeout: 120_000 }, async () => {
      expectStale(await expired(page));
      for (const target of [detail(), `/v1/vault/devnet/${row.address}/score-history?limit=${1 + Math.floor(Math.random() * 900)}`]) {
        expectRetry(await stack.get(target), 503, 'SERVICE_UNAVAILABLE');
      }
    });

    test('when Postgres is back, everything recovers by itself', async () => {
      link.restore();
      await until('/ready is 200', 20, async () => (await stack.get('/ready')).status === 200);
      assert.equal((await stack.get('/v1/health')).status, 200);
      await fresh(page);
      assert.equal(origin.exitCode, null);
    });
  });
}
