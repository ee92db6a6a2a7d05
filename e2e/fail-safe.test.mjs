// The fail-safe mode and the status feed through the edge: an operator's change takes effect without a restart, on cached responses too.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { expectShape } from './expect.mjs';
import { failing, verb } from './operator.mjs';
import { originEnvironment } from './private-stack.mjs';
import { newCaller, request, sharedStack, until } from './stack.mjs';
import { StatusFeed } from './status-fields.mjs';

const stack = sharedStack();
const MODE = 'x-service-failsafe-mode';
const SCORES = '/v1/vaults?limit=3';
const setMode = (mode, reason = 'e2e looks at it') => verb(stack, 'failsafe', mode, '--reason', reason);
const seen = async (target) => {
  const { status, headers, json } = await stack.get(target);
  return { status, mode: headers.get(MODE), code: json.error?.code };
};

after(() => setMode('normal'));

describe('the fail-safe mode', () => {
  test('degraded and back to normal show on the next request, on cached responses too', async () => {
    await stack.ok(SCORES);
    const outcome = await setMode('degraded');
    assert.deepEqual([outcome.mode, outcome.edge], ['degraded', 'acknowledged']);
    assert.deepEqual(await seen(SCORES), { status: 200, mode: 'degraded', code: undefined });
    assert.equal((await seen('/v1/chains')).mode, null);
    const { json } = await stack.ok('/v1/health');
    assert.deepEqual([json.status, json.failSafe.mode, json.failSafe.reason], ['degraded', 'degraded', 'e2e looks at it']);
    await setMode('normal');
    assert.deepEqual(await seen(SCORES), { status: 200, mode: null, code: undefined });
  });

  test('closed is 503 on every route with scores, cached or not, and on no other', async () => {
    const { json: list } = await stack.ok(SCORES);
    const [{ id }] = list.data;
    const { json: baskets } = await stack.ok('/v1/baskets');
    const [basket] = baskets.data;
    const scored = [SCORES, `/v1/vaults/${id}`, '/v1/stats', '/v1/assets/enriched', `/v1/baskets/${basket.id}`, `/v1/baskets/${basket.id}/changes`];
    const version = `/v1/baskets/${basket.id}/version/${basket.version_id}`;
    const open = ['/v1/chains', '/v1/events', '/v1/markets', '/v1/methodology', '/v1/baskets', version, '/ready'];
    for (const target of [...scored, ...open]) await stack.ok(target);
    assert.equal((await setMode('fail_closed')).mode, 'fail_closed');
    for (const target of scored) {
      const answer = await stack.get(target);
      assert.deepEqual([answer.status, answer.headers.get(MODE), answer.json.error.code], [503, 'fail_closed', 'FAIL_CLOSED'], target);
      assert.ok(Number(answer.headers.get('retry-after')) > 0, target);
      assert.equal(answer.json.error.request_id, answer.headers.get('x-request-id'));
    }
    assert.equal((await stack.post('/v1/vaults/batch', { ids: [id] })).status, 503);
    for (const target of open) assert.equal((await stack.ok(target)).headers.get(MODE), null, target);
    assert.equal((await stack.ok('/v1/health')).headers.get(MODE), 'fail_closed');
    const { json: feed } = await stack.ok('/v1/status');
    assert.deepEqual(feed.components.filter(({ name }) => name === 'fail_safe').map(({ status }) => status), ['down']);

    const lastRatingChange = async () => (await stack.ok('/v1/events?eventType=RatingChange&limit=1')).json.data[0]?.id;
    const before = await lastRatingChange();
    assert.equal((await failing(stack, originEnvironment(stack), 'score', 'run')).code, 1, 'no score run is made');
    assert.deepEqual([(await seen(SCORES)).status, await lastRatingChange()], [503, before]);
    await setMode('normal');
    const { json: opened } = await stack.ok('/v1/health');
    assert.ok(opened.lastScoreRun.completedAt >= opened.failSafe.since, 'reopening makes a new score run');
    for (const target of scored) assert.deepEqual(await seen(target), { status: 200, mode: null, code: undefined }, target);
  });

  test('is recorded with author, time and reason, and is refused without a reason', async () => {
    await verb(stack, 'failsafe', 'degraded', '--reason', 'a source lies', '--by', 'ada');
    const { mode, reason, changes } = await verb(stack, 'failsafe', 'show');
    assert.deepEqual([mode, reason], ['degraded', 'a source lies']);
    assert.deepEqual([changes[0].mode, changes[0].said_by, changes[0].reason], ['degraded', 'ada', 'a source lies']);
    assert.match(changes[0].changed_at, /^\d{4}-\d\d-\d\dT.*Z$/);
    await setMode('normal');
    for (const words of [['normal'], ['normal', '--reason', ' '], ['sideways', '--reason', 'x']]) {
      assert.notEqual((await failing(stack, originEnvironment(stack), 'failsafe', ...words)).code, 0, words.join(' '));
    }
  });
});

describe('the status feed', () => {
  test('has its shape, is cached, and reports its own allowance', async () => {
    const caller = { 'cf-connecting-ip': newCaller() };
    const first = await stack.get('/v1/status', { headers: caller });
    expectShape(first, StatusFeed);
    assert.deepEqual([first.headers.get('x-ratelimit-limit'), first.headers.get('x-ratelimit-remaining')], ['60', '59']);
    const second = await stack.get('/v1/status', { headers: caller });
    assert.deepEqual([second.headers.get('x-cache'), second.text], ['HIT', first.text]);
    const names = first.json.components.map(({ name }) => name);
    for (const name of ['api', 'reachability', 'errors', 'events_stream', 'webhooks', 'data_freshness']) assert.ok(names.includes(name), name);
  });

  test('shows that the service is up and reachable from outside', async () => {
    const component = (feed, name) => feed.components.filter((row) => row.name === name).map(({ status, detail }) => [status, detail])[0];
    const isSampled = async () => {
      const { json } = await request(stack.relay, '/v1/status');
      return component(json, 'reachability')[1] === null && json;
    };
    const feed = await until('a sample from outside succeeded', 90, isSampled, 2_000);
    assert.deepEqual([component(feed, 'api'), component(feed, 'reachability')], [['operational', null], ['operational', null]]);
    assert.deepEqual([feed.signals.external_down_samples, typeof feed.signals.requests_15m], [0, 'number']);
  });
});

test('responses with deprecated fields have a Deprecation date and a link to its documentation', async () => {
  const { headers } = await stack.ok('/v1/rwa');
  assert.match(headers.get('deprecation'), /^@\d+$/);
  assert.match(headers.get('link'), /rel="deprecation"/);
  assert.equal((await stack.ok(SCORES)).headers.get('deprecation'), null);
});
