// Markets, oracle feeds, asset symbols, platform statistics and portfolios of the demo through the edge; sums are computed independently.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectError, expectShape } from './expect.mjs';
import { data, paged } from './interface-fields.mjs';
import * as fields from './market-fields.mjs';
import { listOf } from './shape.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
let markets;
let rows;

before(async () => {
  markets = await stack.pages('/v1/markets');
  rows = await stack.vaults();
});

const near = (actual, expected, what) =>
  assert.ok(Math.abs(actual - expected) <= 1e-6 * Math.max(1, Math.abs(expected)), `${what}: ${actual} is not ${expected}`);
const sum = (list) => list.reduce((total, value) => total + value, 0);

describe('markets', () => {
  test('have the whole shape, in list and detail', async () => {
    expectShape(await stack.get('/v1/markets'), paged(fields.Market));
    for (const { id } of markets) expectShape(await stack.get(`/v1/markets/${id}`), data(fields.MarketPage));
  });

  test('have ids built from their parts, and pair fields only if they are pairs', () => {
    for (const market of markets) {
      assert.equal(market.id, `${market.protocol_id}-${market.protocol_version}-devnet-${market.market_key}`);
      const sides = [market.loan_asset_symbol, market.collateral_asset_symbol, market.lltv];
      assert.equal(sides.every((side) => side === null), market.shape !== 'pair', market.id);
      assert.equal(market.totals_source, market.shape === 'pair' ? 'protocol_api' : 'members', market.id);
    }
  });

  test('are the sum of their reserves, with null where no borrow side was observed', async () => {
    for (const listed of markets.filter((one) => one.shape !== 'pair')) {
      const { market, reserves } = (await stack.ok(`/v1/markets/${listed.id}`)).json.data;
      const counted = reserves.filter((reserve) => !reserve.is_shutdown);
      const lending = counted.filter((reserve) => reserve.borrowed_usd !== null);
      assert.deepEqual([market.reserve_count, market.borrow_observed_count], [counted.length, lending.length], market.id);
      near(market.total_supplied_usd, sum(counted.map((reserve) => reserve.supplied_usd ?? 0)), market.id);
      if (lending.length === 0) {
        assert.deepEqual([market.total_borrowed_usd, market.utilization], [null, null], market.id);
      } else {
        near(market.total_borrowed_usd, sum(lending.map((reserve) => reserve.utilization * reserve.supplied_usd)), market.id);
        near(market.utilization, market.total_borrowed_usd / sum(lending.map((reserve) => reserve.supplied_usd)), market.id);
      }
      const supplies = reserves.map((reserve) => reserve.supplied_usd ?? -1);
      assert.deepEqual(supplies, supplies.toSorted((a, b) => b - a), `${market.id}: largest supply first`);
    }
  });

  test('agree with the vault row of each reserve', async () => {
    const byId = new Map(rows.map((row) => [row.id, row]));
    let linked = 0;
    for (const { id } of markets) {
      for (const reserve of (await stack.ok(`/v1/markets/${id}`)).json.data.reserves) {
        const row = byId.get(reserve.vault_id);
        if (!row) continue;
        linked += 1;
        for (const name of ['borrow_status', 'is_depositable', 'deposit_capacity_usd', 'risk_tier', 'total_score', 'utilization']) {
          assert.deepEqual(reserve[name], row[name], `${reserve.vault_id} ${name}`);
        }
      }
    }
    assert.ok(linked > 5, `${linked} reserves have a vault row`);
  });

  test('sort by each field with unknown values last, and are filtered by chain slug or number, protocol and version', async () => {
    for (const field of ['total_supplied_usd', 'total_borrowed_usd', 'reserve_count', 'name']) {
      for (const direction of ['asc', 'desc']) {
        const value = (market) => (field === 'name' ? market.name.toLowerCase() : market[field]);
        const sorted = (await stack.pages(`/v1/markets?sortBy=${field}&sortOrder=${direction}`, 4)).map(value);
        const known = sorted.filter((one) => one !== null);
        const order = known.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        assert.deepEqual(sorted, [...(direction === 'asc' ? order : order.reverse()), ...Array(sorted.length - known.length).fill(null)]);
      }
    }
    for (const query of ['chain=devnet', 'chain=31337', 'protocol=quillfish,brambleway,mothlamp']) {
      assert.equal((await stack.ok(`/v1/markets?${query}`)).json.meta.total, markets.length, query);
    }
    const pairs = markets.filter((market) => market.protocol_version === 'v1');
    assert.equal((await stack.ok('/v1/markets?version=v1')).json.meta.total, pairs.length);
  });

  test('are 404 when unknown, and invalid parameters are 400', async () => {
    expectError(await stack.get('/v1/markets/nobody-v1-devnet-nothing'), 404, 'NOT_FOUND');
    expectError(await stack.get('/v1/markets?limit=0'), 400, 'INVALID_PARAMETER');
    expectError(await stack.get('/v1/markets?sortBy=lltv'), 400, 'INVALID_PARAMETER');
  });
});

describe('feeds', () => {
  test('have the whole shape, and a status that follows from age and heartbeat', async () => {
    expectShape(await stack.get('/v1/oracle?limit=100'), paged(fields.OracleFeed));
    const { json } = await stack.ok('/v1/oracle?limit=100');
    for (const feed of json.data) {
      const { age_seconds: age, heartbeat_seconds: heartbeat } = feed;
      const known = age !== null && heartbeat !== null;
      assert.equal(feed.status, known ? (age <= heartbeat ? 'fresh' : 'stale') : 'unknown', feed.address);
      expectShape(await stack.get(`/v1/oracle/devnet/${feed.address}`), data(fields.OracleFeed));
    }
    for (const status of ['fresh', 'stale', 'unknown']) assert.ok(json.data.some((feed) => feed.status === status), status);
  });

  test('are filtered by vendor and status', async () => {
    const whole = (await stack.ok('/v1/oracle?limit=100')).json.data;
    const total = async (query) => (await stack.ok(`/v1/oracle?${query}`)).json.meta.total;
    assert.equal(await total('vendor=LAMPLIGHT'), whole.filter((feed) => feed.vendor === 'lamplight').length);
    assert.equal(await total('vendor=unknown'), whole.filter((feed) => feed.vendor === null).length);
    assert.equal(await total('status=unknown'), whole.filter((feed) => feed.status === 'unknown').length);
  });

  test('refuse an address that is invalid on their chain', async () => {
    expectError(await stack.get('/v1/oracle/devnet/0x12'), 400, 'INVALID_ADDRESS');
    expectError(await stack.get('/v1/oracle/devnet/TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'), 400, 'ADDRESS_NAMESPACE_MISMATCH');
    expectError(await stack.get(`/v1/oracle/devnet/0x${'0'.repeat(40)}`), 404, 'NOT_FOUND');
  });
});

describe('symbols', () => {
  test('count the vaults that the list finds by them', async () => {
    const answer = await stack.get('/v1/assets');
    expectShape(answer, data(listOf(fields.AssetSymbol)));
    for (const { asset_symbol: symbol, vault_count: vaults } of answer.json.data) {
      assert.equal((await stack.ok(`/v1/vaults?limit=1&asset=${encodeURIComponent(symbol)}`)).json.meta.total, vaults, symbol);
    }
  });

  test('have a history with days of both sources, in order, at most as many as the range', async () => {
    const [{ asset_symbol: symbol }] = (await stack.ok('/v1/assets')).json.data;
    for (const [range, maxDays] of [['7d', 7], ['30d', 30], ['90d', 90], ['1y', 365]]) {
      const answer = await stack.get(`/v1/assets/${symbol.toLowerCase()}/history?range=${range}`);
      expectShape(answer, fields.SymbolHistory);
      const { data: days, meta } = answer.json;
      assert.deepEqual(meta, { symbol: symbol.toUpperCase(), range, points: days.length });
      assert.ok(days.length > 0 && days.length <= maxDays, `${range}: ${days.length}`);
      const dates = days.map((day) => day.date);
      assert.deepEqual(dates, [...new Set(dates)].sort());
    }
    const { json } = await stack.ok(`/v1/assets/${symbol}/history`);
    for (const source of ['observed', 'derived']) assert.ok(json.data.some((day) => day.source === source), source);
    expectError(await stack.get('/v1/assets/NOBODY/history'), 404, 'NOT_FOUND');
    expectError(await stack.get(`/v1/assets/${symbol}/history?range=5d`), 400, 'INVALID_PARAMETER');
  });
});

describe('statistics and portfolios', () => {
  test('the platform totals are the sum of the vaults in every breakdown', async () => {
    const answer = await stack.get('/v1/stats');
    expectShape(answer, data(fields.Stats));
    const stats = answer.json.data;
    assert.equal(stats.vault_count, rows.length);
    assert.equal(stats.scored_vault_count, rows.filter((row) => row.total_score !== null).length);
    assert.equal(stats.market_count, markets.length);
    near(stats.tvl_usd, sum(rows.map((row) => row.tvl_usd)), 'tvl_usd');
    for (const cut of ['by_tier', 'by_chain', 'by_protocol', 'by_curator', 'by_category', 'by_strategy']) {
      assert.equal(sum(stats[cut].map((part) => part.vault_count)), rows.length, cut);
      near(sum(stats[cut].map((part) => part.tvl_usd)), stats.tvl_usd, cut);
    }
  });

  test('an unknown address has no positions, and an invalid one is refused', async () => {
    const answer = await stack.get(`/v1/portfolio/0x${'1'.repeat(40)}`);
    expectShape(answer, data(fields.Portfolio));
    assert.deepEqual([answer.json.data.positions, answer.json.data.weighted_risk_score], [[], null]);
    expectError(await stack.get('/v1/portfolio/nobody'), 400, 'INVALID_ADDRESS');
  });

  test('a position is worth its share of the vault', async () => {
    const holder = `0x${'ab'.repeat(20)}`;
    const row = rows.find((candidate) => candidate.total_score !== null && candidate.tvl_usd > 0);
    const observation = { kind: 'position', observed_at: new Date().toISOString(), source: 'fixture', holder, vault_id: row.id, balance_raw: '1', share: 0.5 };
    const body = `${JSON.stringify(observation)}\n`;
    assert.equal((await stack.operate('/ingest', { method: 'POST', body })).status, 200);
    const answer = await stack.get(`/v1/portfolio/${holder.toUpperCase().replace('0X', '0x')}`);
    expectShape(answer, data(fields.Portfolio));
    near(answer.json.data.total_value_usd, answer.json.data.positions[0].value_usd, 'total');
    assert.equal(answer.json.data.weighted_risk_score, answer.json.data.positions[0].total_score);
  });

  test('royco is an empty page where it is not tracked', async () => {
    const answer = await stack.get('/v1/royco');
    expectShape(answer, paged(fields.RewardedVault));
    assert.deepEqual(answer.json.data, []);
  });
});
