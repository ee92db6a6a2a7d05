// The demo market covers every stage of a score: tiers, dwell, incidents, history.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const HOUR = 3_600_000;
let rows;
let pages;

before(async () => {
  rows = await stack.vaults();
  pages = await Promise.all(rows.map(async (row) => (await stack.ok(`/v1/vault/devnet/${row.address}?points=2160`)).json.data));
});

const values = (field) => new Set(rows.map((row) => row[field]));
const history = (row) => stack.ok(`/v1/vault/devnet/${row.address}/score-history?limit=1000`).then(({ json }) => json.data);

describe('the market', () => {
  test('is entirely on the devnet', () => {
    assert.deepEqual([...values('chain_id')], [31337]);
  });

  test('has every tier, and vaults that cannot be scored', () => {
    for (const tier of ['Prime', 'Core', 'Edge', null]) assert.ok(values('risk_tier').has(tier), `${tier}`);
  });

  for (const [field, expected] of Object.entries({
    deposit_status: ['open', 'closed', 'unknown'],
    withdraw_status: ['open', 'closed', 'unknown'],
    borrow_status: ['open', 'disabled', 'paused', 'capped', 'unknown', 'not_applicable'],
    borrow_incentive_status: ['observed', 'none', 'unavailable', 'not_applicable'],
    liquidity_status: ['available', 'exhausted', 'deficit', 'unknown'],
    tvl_status: ['observed', 'unavailable'],
  })) {
    test(`shows every ${field}`, () => {
      for (const word of expected) assert.ok(values(field).has(word), word);
    });
  }

  test('pays rewards, in tokens and in points', () => {
    const rewards = pages.flatMap((page) => [...page.rewards, ...page.vault.borrow_rewards]);
    const kinds = new Set(rewards.map((reward) => reward.reward_type));
    assert.ok(kinds.has('token_incentive') && kinds.has('points'), [...kinds].join());
    for (const reward of rewards.filter((one) => one.reward_type === 'points')) assert.equal(reward.apr, 0);
    for (const page of pages) {
      assert.ok(page.rewards.every((reward) => reward.side === 'supply'));
      assert.ok(page.vault.borrow_rewards.every((reward) => reward.side === 'borrow'));
    }
  });

  test('has minor and major, resolved and unresolved incidents', async () => {
    const { json } = await stack.ok('/v1/protocols');
    const incidents = [];
    for (const { id } of json.data) incidents.push(...(await stack.ok(`/v1/protocols/${id}`)).json.data.incidents);
    const onVaults = pages.flatMap((page) => page.events).filter((event) => event.event_type === 'Incident');
    assert.ok(incidents.length + onVaults.length > 0);
    const sizes = new Set(incidents.map((incident) => incident.incident_severity));
    const states = new Set(incidents.map((incident) => incident.remediation_status));
    for (const size of ['minor', 'major']) assert.ok(sizes.has(size), size);
    for (const state of ['resolved', 'unresolved']) assert.ok(states.has(state), state);
  });
});

describe('publication', () => {
  test('a tier change in its dwell shows the candidate tier, the raw score and the publication time', () => {
    const waiting = pages.map((page) => page.vault).filter((vault) => vault.score_provenance?.dwell);
    assert.ok(waiting.length > 0, 'a dwell is in progress');
    for (const vault of waiting) {
      const { dwell, raw_score: raw } = vault.score_provenance;
      assert.notEqual(dwell.candidate_tier, vault.risk_tier, vault.id);
      const hours = (Date.parse(dwell.publishes_at) - Date.parse(dwell.since)) / HOUR;
      const up = ['Edge', 'Core', 'Prime'].indexOf(dwell.candidate_tier) > ['Edge', 'Core', 'Prime'].indexOf(vault.risk_tier);
      assert.equal(hours, up ? 6 : 24, vault.id);
      assert.equal(tierOf(raw), dwell.candidate_tier, vault.id);
    }
  });

  test('the history has promotions, demotions with and without dwell, and score moves within a tier', async () => {
    const points = (await Promise.all(rows.map(history))).flat();
    const kinds = new Set(points.map((point) => point.change_type));
    for (const kind of ['initial', 'score_move', 'tier_promote', 'tier_demote', 'hard_demote']) assert.ok(kinds.has(kind), kind);
  });

  test('each history point continues the one before, and the last is the published score', async () => {
    for (const row of rows) {
      const points = await history(row);
      if (points.length === 1000) continue;
      points.forEach((point, index) => {
        const earlier = points[index - 1];
        assert.equal(point.prev_score, earlier ? earlier.new_score : null, row.id);
        assert.equal(point.prev_tier, earlier ? earlier.new_tier : null, row.id);
        assert.equal(point.new_tier, tierOf(point.new_score), row.id);
        if (earlier) assert.ok(point.observed_at >= earlier.observed_at, row.id);
        const moved = Math.abs((point.new_score ?? 0) - (point.prev_score ?? 0));
        if (point.change_type === 'score_move') assert.ok(moved >= 0.05 - 1e-9, `${row.id}: ${moved}`);
      });
      const last = points.at(-1);
      assert.equal(last?.new_score ?? null, row.total_score, row.id);
      assert.equal(last?.new_tier ?? null, row.risk_tier, row.id);
      if (last) assert.equal(last.observed_at, row.score_updated_at, row.id);
    }
  });

  test('from and to are inclusive', async () => {
    const row = rows.find((candidate) => candidate.total_score !== null);
    const [first] = await history(row);
    const { json } = await stack.ok(`/v1/vault/devnet/${row.address}/score-history?from=${first.observed_at}&to=${first.observed_at}`);
    assert.deepEqual(json.data, [first]);
  });
});

describe('snapshots', () => {
  test('are thinned to at most the requested number of stored points, keeping both ends and the TVL extremes', async () => {
    const row = rows.find((candidate) => candidate.total_score !== null);
    const path = `/v1/vault/devnet/${row.address}/snapshots?days=365`;
    const whole = (await stack.ok(`${path}&points=2160`)).json.data;
    assert.ok(whole.length > 24, 'the demo has history');
    const stored = new Map(whole.map((point) => [point.recorded_at, point]));
    for (const points of [1, 2, 24]) {
      const { data } = (await stack.ok(`${path}&resolution=${points}`)).json;
      assert.ok(data.length <= points && data.length > 0);
      for (const point of data) assert.deepEqual(point, stored.get(point.recorded_at));
      assert.deepEqual(data.map((point) => point.recorded_at), data.map((point) => point.recorded_at).sort());
    }
    const thinned = (await stack.ok(`${path}&points=24`)).json.data;
    assert.deepEqual([thinned[0], thinned.at(-1)], [whole[0], whole.at(-1)]);
    const tvl = (list) => list.map((point) => point.tvl_usd).filter((amount) => amount !== null);
    assert.equal(Math.max(...tvl(thinned)), Math.max(...tvl(whole)));
    assert.equal(Math.min(...tvl(thinned)), Math.min(...tvl(whole)));
  });

  test('of one day span at most 24 hours', async () => {
    const { json } = await stack.ok(`/v1/vault/devnet/${rows[0].address}/snapshots?days=1`);
    const times = json.data.map((point) => Date.parse(point.recorded_at));
    if (times.length > 1) assert.ok(Math.max(...times) - Math.min(...times) <= 24 * HOUR);
  });
});

function tierOf(score) {
  if (score === null) return null;
  return score >= 8 ? 'Prime' : score >= 5 ? 'Core' : 'Edge';
}
