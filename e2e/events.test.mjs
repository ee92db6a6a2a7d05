// The events feed of the demo through the edge, and an editor's changes, which show on the next request.

import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { expectError, expectShape } from './expect.mjs';
import * as fields from './interface-fields.mjs';
import { failing, organisation, verb } from './operator.mjs';
import { originEnvironment } from './private-stack.mjs';
import { listOf } from './shape.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const DAY = 86_400_000;
let feed;

const get = async (target) => (await stack.ok(target)).json;

before(async () => {
  feed = (await get('/v1/events?limit=100')).data;
});

describe('the feed', () => {
  test('has the shape of the interface, newest first, and a detail for every row', async () => {
    expectShape(await stack.get('/v1/events'), fields.Feed);
    const times = feed.map((row) => Date.parse(row.occurred_at));
    assert.deepEqual(times, times.toSorted((a, b) => b - a));
    for (const row of feed.slice(0, 20)) {
      const answer = await stack.get(`/v1/events/${row.id}`);
      expectShape(answer, fields.data(fields.EventDetail));
      assert.equal(answer.json.data.title, row.title);
    }
  });

  test('contains every event type that the service derives itself', () => {
    const types = new Set(feed.map((row) => row.event_type));
    for (const type of ['DepositabilityChange', 'RatingChange', 'AllocationChange', 'BadDebt']) assert.ok(types.has(type), type);
  });

  test('counts repeats in one row, which is also found by its group key', async () => {
    const repeated = feed.find((row) => row.occurrence_count > 1);
    assert.ok(repeated?.group_key, 'the demo has an event that repeats');
    const answer = await stack.get(`/v1/events/group/${repeated.group_key}`);
    expectShape(answer, fields.data(fields.EventRow));
    assert.deepEqual(answer.json.data, repeated);
    assert.equal(feed.filter((row) => row.group_key === repeated.group_key).length, 1);
  });

  test('shows no drafts and no retracted events', () => {
    const titles = feed.map((row) => row.title).join('\n');
    assert.doesNotMatch(titles, /fee switch|Penny Pool revert/);
  });

  test('is filtered by each of its parameters', async () => {
    for (const [query, keeps] of [
      ['eventType=BadDebt', (row) => row.event_type === 'BadDebt'],
      ['severity=Warning', (row) => row.severity === 'Warning'],
      ['incidentSeverity=major', (row) => row.incident_severity === 'major'],
      ['remediationStatus=resolved', (row) => row.remediation_status === 'resolved'],
      ['protocolId=quillfish', (row) => row.protocol_id === 'quillfish'],
      ['chainId=devnet', (row) => row.chain_id === 31337],
      ['chainId=31337', (row) => row.chain_id === 31337],
      ['excludeSource=rating-change', (row) => row.source !== 'rating-change'],
      ['daysBack=1', (row) => Date.now() - Date.parse(row.occurred_at) < 2 * DAY],
      ['search=liquidations', (row) => /liquidation/i.test(`${row.title} ${row.description}`)],
    ]) {
      const rows = (await get(`/v1/events?limit=100&${query}`)).data;
      assert.ok(rows.length > 0, `${query} keeps something`);
      for (const row of rows) assert.ok(keeps(row), `${query}: ${row.title}`);
    }
    for (const nothing of ['eventType=Nothing', 'chainId=atlantis', 'search=%F0%9F%A6%80', "search=';--%22%25_"]) {
      assert.deepEqual((await get(`/v1/events?${nothing}`)).data, [], nothing);
    }
  });

  test('pages without overlap', async () => {
    const seen = [];
    for (let page = 1; page <= 3; page += 1) seen.push(...(await get(`/v1/events?limit=5&page=${page}`)).data.map((row) => row.id));
    assert.equal(new Set(seen).size, seen.length);
    assert.deepEqual(seen, feed.slice(0, seen.length).map((row) => row.id));
  });

  test('refuses invalid parameters, and unknown events and markets are 404', async () => {
    for (const wrong of ['severity=High', 'sortBy=title', 'daysBack=week', 'search=a%00b', 'page=0']) {
      expectError(await stack.get(`/v1/events?${wrong}`), 400, 'INVALID_PARAMETER');
    }
    for (const missing of ['/v1/events/1', '/v1/events/nothing', '/v1/events/group/nothing', '/v1/markets/nothing/events']) {
      expectError(await stack.get(missing), 404, 'NOT_FOUND');
    }
  });
});

describe('events by market and vault', () => {
  test('a market lists its risk events and no telemetry', async () => {
    const answer = await stack.get('/v1/markets/quillfish-v3-devnet-core/events');
    expectShape(answer, fields.data(listOf(fields.MarketEvent)));
    const types = answer.json.data.map((row) => row.event_type);
    assert.ok(types.includes('LiquidationCascade'), types.join());
    assert.ok(!types.includes('RateUpdate'), types.join());
  });

  test('vaults with critical incidents come largest first', async () => {
    const answer = await stack.get('/v1/vaults/with-critical-incidents');
    expectShape(answer, fields.data(listOf(fields.CriticalVault)));
    const values = answer.json.data.map((row) => row.tvl_usd ?? -1);
    assert.ok(values.length > 0 && values.length <= 50);
    assert.deepEqual(values, values.toSorted((a, b) => b - a));
    for (const row of answer.json.data) assert.ok(row.days_since_incident <= 365);
  });
});

describe('an editor', () => {
  const key = organisation();
  const show = async (id) => (await stack.get(`/v1/events/${id}`)).status;

  test('drafts, publishes, retracts and publishes again, and each change shows at once', async () => {
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'events-')), 'draft.ndjson');
    const now = new Date().toISOString();
    const line = { kind: 'event', observed_at: now, source: 'e2e', event_key: key, event_type: 'Notice', severity: 'Info', title: `Notice ${key}`, occurred_at: now };
    await writeFile(file, `${JSON.stringify(line)}\n`);
    const { ids: [id] } = await verb(stack, 'events', 'draft', file);
    assert.equal(await show(id), 404);
    for (const [words, status] of [[['publish'], 200], [['retract', '--reason', 'a test'], 404], [['publish'], 200], [['promote'], 200]]) {
      const [action, ...more] = words;
      const outcome = await verb(stack, 'events', action, id, ...more);
      assert.deepEqual([outcome.id, outcome.result, outcome.changed], [id, 'done', true], action);
      assert.equal(await show(id), status, action);
      assert.equal((await verb(stack, 'events', action, id, ...more)).result, 'already', action);
    }
    const found = (await get(`/v1/events?search=${key}`)).data;
    assert.deepEqual(found.map((row) => row.id), [id]);
    assert.equal((await verb(stack, 'events', 'retract', key)).id, id, 'an event can be named by its key as well');
    assert.deepEqual((await get(`/v1/events?search=${key}`)).data, []);
  });

  test('gets the result `unknown` for an event that does not exist', async () => {
    const error = await failing(stack, originEnvironment(stack), 'events', 'publish', 'nothing-like-it', '--json');
    assert.equal(JSON.parse(error.stdout).result, 'unknown');
  });
});
