// Changes, holders, allocations and strategies of the demo vaults, through the edge.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectError, expectShape } from './expect.mjs';
import * as fields from './holdings-fields.mjs';
import { data } from './interface-fields.mjs';
import { listOf } from './shape.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const keyed = { headers: { authorization: `Bearer ${stack.keys?.data}` } };
const path = (row, route) => `/v1/vault/devnet/${row.address}/${route}`;
const BEGINNING = '2020-01-01T00:00:00Z';
let rows;

before(async () => {
  rows = await stack.vaults();
});

describe('changes', () => {
  const changes = (query) => stack.get(`/v1/vaults/changes?${query}`, keyed);

  for (const clock of ['sync', 'score']) {
    test(`of the clock ${clock} come once each over all pages`, async () => {
      const whole = await changes(`since=${BEGINNING}&limit=500&changed=${clock}`);
      expectShape(whole, fields.Changes);
      const paged = [];
      let since = BEGINNING;
      let left = whole.json.meta.total;
      for (;;) {
        const { json } = await changes(`since=${encodeURIComponent(since)}&limit=7&changed=${clock}`);
        assert.equal(json.meta.total, left);
        assert.equal(json.meta.has_more, left > 7);
        paged.push(...json.data.vaults);
        since = json.data.cursor;
        left -= json.data.vaults.length;
        if (!json.meta.has_more) break;
      }
      assert.deepEqual(paged.map((row) => row.id), whole.json.data.vaults.map((row) => row.id));
      assert.equal(new Set(paged.map((row) => row.id)).size, paged.length);
      const active = paged.filter((row) => row.is_active).map((row) => row.id).sort();
      const listed = rows.filter((row) => row[clock === 'sync' ? 'last_synced_at' : 'score_updated_at'] !== null);
      assert.deepEqual(active, listed.map((row) => row.id).sort());
    });
  }

  test('that arrive late are not missed, however old their observation time', async () => {
    const end = await changes(`since=${BEGINNING}&limit=500`);
    const { protocol_id: protocol, chain_id: chain } = rows[0];
    const address = `0x${Date.now().toString(16).padStart(40, '0')}`;
    const id = `${protocol}-${chain}-${address}`;
    const header = { observed_at: '2021-06-01T00:00:00Z', source: 'e2e' };
    const lines = [
      { kind: 'vault', ...header, protocol_id: protocol, chain_id: chain, address, name: 'Late', asset_mode: 'holdings', is_active: false },
      { kind: 'vault_state', ...header, vault_id: id, tvl_usd: 1 },
    ];
    const taken = await stack.operate('/ingest', { method: 'POST', body: lines.map((line) => `${JSON.stringify(line)}\n`).join('') });
    assert.equal(taken.status, 200, taken.text);
    const seen = [];
    let cursor = end.json.data.cursor;
    const deadline = performance.now() + 10_000;
    while (!seen.includes(id) && performance.now() < deadline) {
      const { json } = await changes(`since=${cursor}`);
      seen.push(...json.data.vaults.map((row) => row.id));
      cursor = json.data.cursor;
    }
    assert.ok(seen.includes(id), `${seen}`);
  });

  test('need a timestamp or a cursor of the same clock', async () => {
    const { json } = await changes(`since=${BEGINNING}&limit=1`);
    expectError(await changes(''), 400, 'MISSING_PARAMETER');
    expectError(await changes('since=2026-02-30T00:00:00Z'), 400, 'INVALID_PARAMETER');
    expectError(await changes('since=nonsense'), 400, 'INVALID_CURSOR');
    expectError(await changes(`since=${json.data.cursor}&changed=score`), 400, 'INVALID_CURSOR');
  });

  test('need a key', async () => {
    expectError(await stack.get(`/v1/vaults/changes?since=${BEGINNING}`), 401, 'UNAUTHORIZED');
  });
});

describe('holders', () => {
  test('of every demo vault have the whole shape and consistent figures', async () => {
    const statuses = new Set();
    for (const row of rows) {
      const answer = await stack.get(path(row, 'holders'));
      expectShape(answer, data(fields.HolderSnapshot));
      const held = answer.json.data;
      assert.deepEqual([held.vault_id, held.chain_id], [row.id, row.chain_id]);
      statuses.add(`${held.status} ${held.coverage_status}`);
      if (held.status === 'unavailable') continue;
      assert.ok(held.top1_pct <= held.top5_pct && held.top5_pct <= held.top10_pct);
      assert.equal(held.top_holders.length, Math.min(20, held.holder_count));
      assert.equal(held.top_holders[0].pct, held.top1_pct);
      const raw = held.top_holders.map((holder) => BigInt(holder.balance_raw));
      assert.ok(raw.every((balance, place) => place === 0 || balance <= raw[place - 1]));
    }
    assert.deepEqual([...statuses].sort(), ['observed complete', 'observed indexing', 'unavailable indexing']);
  });

  test('have a history, oldest first, from which provisional figures can be excluded', async () => {
    for (const row of rows.slice(0, 12)) {
      const all = await stack.get(path(row, 'holders/history'));
      expectShape(all, data(listOf(fields.HolderHistoryRow)));
      const at = all.json.data.map((point) => point.computed_at);
      assert.deepEqual(at, [...at].sort());
      const strict = (await stack.ok(`${path(row, 'holders/history')}?completeOnly=true`)).json.data;
      for (const [place, point] of all.json.data.entries()) {
        const kept = point.coverage_status === 'complete';
        const expected = kept ? point : { ...point, top1_pct: null, top5_pct: null, top10_pct: null, hhi: null, protocol_managed_pct: null, top_holders: [] };
        assert.deepEqual(strict[place], expected);
      }
    }
  });
});

describe('allocations and strategies', () => {
  test('are on at most one route per vault', async () => {
    const shapes = { markets: fields.MarketAllocation, strategies: fields.StrategyBreakdown, strategy: fields.StrategyInfo };
    const statuses = {};
    for (const row of rows) {
      const shown = [];
      for (const [route, shape] of Object.entries(shapes)) {
        const answer = await stack.get(path(row, route), route === 'markets' ? keyed : {});
        if (answer.status === 404) {
          expectError(answer, 404, 'NOT_FOUND');
          continue;
        }
        expectShape(answer, data(shape));
        shown.push(route);
        (statuses[route] ??= new Set()).add(answer.json.data.status);
      }
      assert.ok(shown.length <= 1, `${row.id}: ${shown}`);
    }
    assert.deepEqual(Object.keys(statuses).sort(), ['markets', 'strategies', 'strategy']);
    assert.deepEqual([...statuses.strategy].sort(), ['observed', 'unavailable']);
  });

  test('have market shares and an idle share that add up to one', async () => {
    const curated = rows.filter((row) => row.protocol_id === 'lanternmoss');
    assert.ok(curated.length > 0);
    for (const row of curated) {
      const allocation = (await stack.ok(path(row, 'markets'), keyed)).json.data;
      if (allocation.status === 'unavailable') continue;
      const sum = allocation.markets.reduce((sum, market) => sum + market.share, 0);
      assert.ok(Math.abs(sum - allocation.allocated_share) < 1e-9 && Math.abs(1 - sum - allocation.idle_share) < 1e-9, row.id);
    }
  });

  test('need a key for markets', async () => {
    const row = rows.find((row) => row.protocol_id === 'lanternmoss');
    expectError(await stack.get(path(row, 'markets')), 401, 'UNAUTHORIZED');
  });
});
