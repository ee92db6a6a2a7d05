// Every route answers through the edge with all fields of the interface; a null is written, not omitted.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { expectShape } from './expect.mjs';
import * as fields from './interface-fields.mjs';
import { bearer } from './operator.mjs';
import { listOf } from './shape.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
let rows;
let scored;

before(async () => {
  rows = await stack.vaults();
  scored = rows.find((row) => row.total_score !== null);
  assert.ok(scored, 'the demo has a scored vault');
});

const detailPath = (row) => `/v1/vault/devnet/${row.address}`;

test('the vault list is a page of rows with the page number and totals', async () => {
  const answer = await stack.get('/v1/vaults');
  expectShape(answer, fields.paged(fields.VaultRow));
  const { data, meta } = answer.json;
  assert.deepEqual(meta, { page: 1, limit: 20, total: rows.length, totalPages: Math.ceil(rows.length / 20) });
  assert.equal(data.length, Math.min(20, rows.length));
});

test('every row of the demo has every field, and its fields are consistent', () => {
  for (const row of rows) {
    assert.deepEqual(fields.VaultRow(row, row.id), []);
    assert.equal(row.id, `${row.protocol_id}-${row.chain_id}-${row.address}`);
    assert.equal(row.chain_id, 31337);
    assert.equal(row.is_depositable, { open: true, closed: false, unknown: null }[row.deposit_status]);
    assert.equal(row.score_status, row.total_score === null ? 'unscored' : 'scored');
  }
});

test('tier and score agree in every row', () => {
  for (const { id, total_score: total, risk_tier: tier } of rows) {
    const expected = total === null ? null : total >= 8 ? 'Prime' : total >= 5 ? 'Core' : 'Edge';
    assert.equal(tier, expected, id);
  }
});

test('liquidity follows TVL and utilization', () => {
  for (const row of rows) {
    const { tvl_usd: tvl, utilization, available_liquidity_usd: available, liquidity_deficit_usd: deficit } = row;
    if (utilization === null || row.tvl_status === 'unavailable') {
      assert.deepEqual([row.liquidity_status, available, deficit], ['unknown', null, null], row.id);
      continue;
    }
    nearCents(available, Math.max(0, tvl * (1 - Math.min(1, Math.max(0, utilization)))));
    nearCents(deficit, Math.max(0, tvl * (utilization - 1)));
    const status = available > 0 ? 'available' : utilization > 1 ? 'deficit' : 'exhausted';
    assert.equal(row.liquidity_status, status, row.id);
  }
});

test('the net borrow rate is the rate less incentives, and unknown if they are', () => {
  for (const row of rows) {
    if (row.borrow_incentive_status === 'unavailable') assert.equal(row.borrow_apr_net, null, row.id);
    if (row.borrow_apr_net !== null) near(row.borrow_apr_net, row.borrow_apr - (row.borrow_reward_apr ?? 0));
    if (row.gross_interest_apy !== null) near(row.gross_interest_apy, row.borrow_apr * row.utilization);
  }
});

test('a vault has the same page by id and by chain and address', async () => {
  const byId = await stack.get(`/v1/vaults/${scored.id}`);
  const byAddress = await stack.get(detailPath(scored));
  const byNumber = await stack.get(`/v1/vault/31337/${scored.address}`);
  for (const answer of [byId, byAddress, byNumber]) expectShape(answer, fields.data(fields.VaultPage));
  assert.deepEqual(withoutAge(byId.json), withoutAge(byAddress.json));
  assert.deepEqual(withoutAge(byId.json), withoutAge(byNumber.json));
});

test('a detail repeats the list row', async () => {
  const { json } = await stack.ok(detailPath(scored));
  for (const name of Object.keys(scored).filter((name) => name !== 'freshness_seconds')) {
    assert.deepEqual(json.data.vault[name], scored[name], name);
  }
});

test('the detail of every vault of the demo has every field', async () => {
  await Promise.all(rows.map(async (row) => expectShape(await stack.get(detailPath(row)), fields.data(fields.VaultPage))));
});

test('a batch answers in the requested order, without duplicates and unknown vaults', async () => {
  const [first, second, third] = rows;
  const answer = await stack.post('/v1/vaults/batch', {
    ids: [second.id, 'nobody-1-0x0000000000000000000000000000000000000001', second.id],
    addresses: [third.address, first.address, second.address],
  });
  expectShape(answer, fields.data(listOf(fields.VaultRow)));
  assert.deepEqual(answer.json.data.map((row) => row.id), [second.id, third.id, first.id]);
});

test('a batch may contain only ids, only addresses, or nothing', async () => {
  const ids = async (body) => (await stack.post('/v1/vaults/batch', body)).json.data.map((row) => row.id);
  assert.deepEqual(await ids({ ids: [rows[0].id] }), [rows[0].id]);
  assert.deepEqual(await ids({ addresses: [rows[1].address] }), [rows[1].id]);
  assert.deepEqual(await ids({ ids: [], addresses: [] }), []);
});

test("bulk scores agree with the list and name each score's run", async () => {
  const ask = (query) => stack.get(`/v1/vaults/scores${query}`, { headers: bearer(stack.keys.data) });
  const answer = await ask('');
  expectShape(answer, fields.paged(fields.VaultScoreRow));
  const { data, meta } = answer.json;
  assert.deepEqual(meta, { page: 1, limit: 500, total: rows.length, totalPages: 1 });
  const listed = new Map(rows.map((row) => [row.id, row]));
  const common = Object.keys(data[0]).filter((name) => Object.hasOwn(rows[0], name) && name !== 'freshness_seconds');
  for (const row of data) {
    const listRow = listed.get(row.id);
    for (const name of common) assert.deepEqual(row[name], listRow[name], `${row.id} ${name}`);
    if (row.total_score !== null) {
      assert.ok(row.score_run_id.length > 0 && row.score_computed_at >= row.score_updated_at, row.id);
      assert.equal(row.is_high_confidence, row.total_score >= 7.5 && row.apr_net >= 0.03 && row.apr_net <= 0.1, row.id);
    }
  }
  const prime = (await ask('?riskTier=prime&limit=1000000')).json;
  assert.equal(prime.meta.limit, 1000);
  assert.deepEqual(sortedIds(prime.data), sortedIds(rows.filter((row) => row.risk_tier === 'Prime')));
});

test('snapshots, score history and events have the fields of the interface', async () => {
  const path = detailPath(scored);
  expectShape(await stack.get(`${path}/snapshots`), fields.data(listOf(fields.SnapshotPoint)));
  expectShape(await stack.get(`${path}/score-history`), fields.data(listOf(fields.ScoreHistoryPoint)));
  expectShape(await stack.get(`${path}/events`), fields.data(listOf(fields.VaultEvent)));
});

test('the chain list names the devnet with all its vaults', async () => {
  const answer = await stack.get('/v1/chains');
  expectShape(answer, fields.data(listOf(fields.ChainRow)));
  const devnet = answer.json.data.find((chain) => chain.slug === 'devnet');
  assert.equal(devnet.chain_id, 31337);
  assert.equal(devnet.vault_count, rows.length);
  assert.equal(devnet.scored_vault_count, rows.filter((row) => row.total_score !== null).length);
});

test('protocols count their vaults and list them', async () => {
  const list = await stack.get('/v1/protocols');
  expectShape(list, fields.data(listOf(fields.ProtocolRow)));
  for (const protocol of list.json.data) {
    const answer = await stack.get(`/v1/protocols/${protocol.id}?vaultLimit=100`);
    expectShape(answer, fields.data(fields.ProtocolPage));
    const own = rows.filter((row) => row.protocol_id === protocol.id);
    assert.equal(protocol.vault_count, own.length, protocol.id);
    assert.equal(answer.json.data.vaultTotal, own.length, protocol.id);
    assert.deepEqual(sortedIds(answer.json.data.vaults), sortedIds(largest(own)));
    near(protocol.tvl, own.reduce((sum, row) => sum + row.tvl_usd, 0));
  }
});

test('curators count and list their vaults and their events', async () => {
  const list = await stack.get('/v1/curators');
  expectShape(list, fields.paged(fields.CuratorRow));
  for (const curator of list.json.data) {
    const detail = await stack.get(`/v1/curators/${curator.id}?vaultLimit=100`);
    expectShape(detail, fields.data(fields.CuratorPage));
    const own = rows.filter((row) => row.curator_name === curator.name);
    assert.deepEqual(sortedIds(detail.json.data.vaults), sortedIds(largest(own)));
    assert.equal(curator.vault_count, own.length);
    const events = await stack.get(`/v1/curators/${curator.id}/events`);
    expectShape(events, fields.data(fields.CuratorEvents));
    assert.equal(events.json.data.total, detail.json.data.eventsTotal);
  }
});

test('health and readiness have the fields of the interface', async () => {
  const health = await stack.get('/v1/health');
  expectShape(health, fields.Health);
  assert.equal(health.json.status, 'ok');
  assert.equal(health.json.vaultCount, rows.length);
  expectShape(await stack.get('/ready'), fields.Ready);
});

test('every response has its own request id, which a client cannot choose', async () => {
  const seen = new Set();
  for (let n = 0; n < 5; n += 1) {
    const { headers } = await stack.ok('/v1/chains', { headers: { 'x-request-id': 'ffffffffffffffffffffffffffffffff' } });
    seen.add(headers.get('x-request-id'));
  }
  assert.equal(seen.size, 5);
  assert.ok(!seen.has('ffffffffffffffffffffffffffffffff'));
});

const largest = (list) => list.toSorted((a, b) => b.tvl_usd - a.tvl_usd || (a.id < b.id ? -1 : 1)).slice(0, 100);
const sortedIds = (list) => list.map((row) => row.id).sort();

/** Compares amounts of a dollar and more, which are published to the cent. */
function nearCents(actual, expected) {
  assert.ok(Math.abs(actual - expected) <= 0.011, `${actual} is not ${expected}`);
}

function near(actual, expected) {
  assert.ok(Math.abs(actual - expected) <= 1e-6 * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
}

/** A vault page without `freshness_seconds`, which changes from request to request. */
function withoutAge({ data }) {
  const { freshness_seconds: _age, ...vault } = data.vault;
  return { ...data, vault };
}
