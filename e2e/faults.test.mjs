// Parts fail and come back: what a caller sees meanwhile, and that nobody has to help.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { databaseLink } from './database-link.mjs';
import { expectRetry, expectStale } from './expect.mjs';
import { ANONYMOUS, HEALTH, allowance } from './metering.mjs';
import { ended, isAlive, serve, up, xtask } from './private-stack.mjs';
import { request, unasked, until } from './stack.mjs';

/** Longer than any copy counts as fresh. */
const EXPIRY_SECONDS = 45;
/** An answer that waited for nothing. */
const AT_ONCE_MILLIS = 500;
/** The origin's budget before a caller gets the last good copy, with room for a busy machine. */
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

/** The first answer that is not a fresh copy any more. */
const expired = (target) =>
  until(`the copy of ${target} has expired`, EXPIRY_SECONDS, async () => {
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
    target = unasked('/v1/vaults?limit=3');
    good = await stack.ok(target);
    process.kill(stack.pids.origin, 'SIGSTOP');
  });
  after(() => process.kill(stack.pids.origin, 'SIGCONT'));

  test('the list answers with the last good copy, within the budget', async () => {
    const answer = await expired(target);
    expectStale(answer);
    assert.ok(answer.millis < BUDGET_MILLIS, `${answer.millis} ms`);
    assert.equal(answer.headers.get('etag'), good.headers.get('etag'));
    assert.deepEqual(answer.json.data.map((vault) => vault.id), good.json.data.map((vault) => vault.id));
    assert.ok(Number(answer.headers.get('age')) > 0);
  });

  test('after a few of them nobody waits any more', async () => {
    await until('the breaker opens', 20, async () => {
      const answer = await stack.get(target);
      expectStale(answer);
      return answer.millis < AT_ONCE_MILLIS;
    });
    const next = await stack.get(target);
    expectStale(next);
    assert.ok(next.millis < AT_ONCE_MILLIS, `${next.millis} ms`);
  });

  test('it wakes up, and the list is fresh', async () => {
    process.kill(stack.pids.origin, 'SIGCONT');
    await fresh(target);
  });
});

describe('the origin dies', () => {
  let list;
  let page;

  before(async () => {
    list = unasked('/v1/vaults?limit=3');
    page = detail();
    await stack.ok(list);
    await stack.ok(page);
    process.kill(stack.pids.origin, 'SIGKILL');
    await until('it is gone', 10, () => !isAlive(stack.pids.origin));
  });

  test('pages that were read before answer, marked stale', async () => {
    for (const target of [list, page]) expectStale(await expired(target));
  });

  test('a stale copy confirms its tag, and answers HEAD', async () => {
    const etag = (await stack.get(list)).headers.get('etag');
    const confirmed = await stack.get(list, { headers: { 'if-none-match': etag } });
    assert.equal(confirmed.status, 304);
    assert.equal(state(confirmed), 'STALE-ERROR');
    const head = await stack.get(list, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
  });

  test('what nobody read before says when to come back, at once', async () => {
    for (const target of [unasked('/v1/vaults'), detail(), '/v1/health']) {
      const answer = await stack.get(target);
      expectRetry(answer, 503, 'SERVICE_UNAVAILABLE');
      assert.ok(answer.millis < BUDGET_MILLIS, `${answer.millis} ms`);
      const { limit, remaining } = allowance(answer);
      assert.deepEqual([limit, remaining], [target === '/v1/health' ? HEALTH : ANONYMOUS, limit - 1], 'charged like any answer');
    }
    expectRetry(await stack.post('/v1/vaults/batch', { ids: [row.id] }), 503, 'SERVICE_UNAVAILABLE');
    assert.equal((await stack.get('/ready')).status, 503);
  });

  test("a caller's own fault is still told as such", async () => {
    assert.equal((await stack.get('/v1/vaults?page=0')).status, 400);
    assert.equal((await stack.get('/v1/nope')).status, 404);
  });

  test('the stack goes on without it, and it can be started by hand', async () => {
    assert.equal(stack.child.exitCode, null);
    link = await databaseLink(stack.database_url);
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

    test('readiness says so within a second', async () => {
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

    test('health is 503 and says when to ask again', async () => {
      const answer = await stack.get('/v1/health');
      assert.equal(answer.status, 503, answer.text);
      assert.match(answer.headers.get('retry-after'), /^[1-9]\d*$/);
      assert.match(answer.headers.get('cache-control'), /no-store/);
    });

    test('lists that nobody asked before still answer, fresh', async () => {
      const answer = await stack.ok(unasked('/v1/vaults?sortBy=total_score'));
      assert.equal(state(answer), 'MISS');
      assert.ok(answer.json.data.length > 0);
      await stack.ok('/v1/chains');
    });

    test('a detail that was read before answers stale, another is 503, and none is 500', { timeout: 120_000 }, async () => {
      expectStale(await expired(page));
      for (const target of [detail(), `/v1/vault/devnet/${row.address}/score-history?limit=${1 + Math.floor(Math.random() * 900)}`]) {
        expectRetry(await stack.get(target), 503, 'SERVICE_UNAVAILABLE');
      }
    });

    test('it comes back, and nobody had to help', async () => {
      link.restore();
      await until('/ready is 200', 20, async () => (await stack.get('/ready')).status === 200);
      assert.equal((await stack.get('/v1/health')).status, 200);
      await fresh(page);
      assert.equal(origin.exitCode, null);
    });
  });
}

describe('Ctrl-C', () => {
  test('a second stack on the same state is refused', { timeout: 60_000 }, async () => {
    const second = xtask('up', '--state', stack.state, '--port', '8787');
    const code = await new Promise((resolve) => second.once('exit', resolve));
    assert.notEqual(code, 0);
    assert.match(second.said, /already running/);
  });

  test('leaves no process and no open port behind', { timeout: 90_000 }, async () => {
    await ended(origin, 'SIGTERM');
    origin = undefined;
    link.close();
    const { child, pids } = stack;
    const code = await stack.stop();
    stack = undefined;
    assert.ok(code === 0 || code === 130, `${code}: ${child.said}`);
    for (const [name, pid] of Object.entries(pids)) assert.equal(isAlive(pid), false, name);
  });
});
