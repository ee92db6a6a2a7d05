// Facts are ingested through the admin listener: a batch is all or nothing, and shows everywhere within seconds.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { before, describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { originEnvironment } from './private-stack.mjs';
import { sharedStack, uncachedTarget, until } from './stack.mjs';

const stack = sharedStack();
const ADDRESS = '0x00000000000000000000000000000000000e2e01';
const VAULT = `e2e-lend-31337-${ADDRESS}`;

let now;

/** The time `secondsAgo` seconds before the start of the test. */
const at = (secondsAgo) => new Date(now - secondsAgo * 1000).toISOString();
const line = (kind, fields, secondsAgo = 3600) => ({ kind, observed_at: at(secondsAgo), source: 'e2e', ...fields });
const ingest = (lines) =>
  stack.operate('/ingest', { method: 'POST', body: lines.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n') });

const state = (tvl, secondsAgo) =>
  line('vault_state', { vault_id: VAULT, tvl_usd: tvl, utilization: 0.5, base_apr: 0.04, deposit_status: 'open', price_per_share: 1.01 }, secondsAgo);
const market = () => [
  line('protocol', {
    id: 'e2e-lend', name: 'E2E Lend', version: 'v1', version_deployed_at: '2025-01-01T00:00:00Z', audits: 2,
    newest_audit_at: '2026-06-01T00:00:00Z', strategy: 'lending_pool', dependencies: [], tvl_usd: 5e6,
  }),
  line('vault', { protocol_id: 'e2e-lend', chain_id: 31337, address: ADDRESS, name: 'E2E Dollar', asset_symbol: 'E2E', asset_mode: 'holdings', deployed_at: '2025-02-01T00:00:00Z' }),
  line('exposure', { vault_id: VAULT, status: 'unavailable' }),
  state(5e6, 3000),
];

const listed = async () => (await stack.ok(uncachedTarget('/v1/vaults?protocol=e2e-lend'))).json.data;
const detail = async () => (await stack.ok(`/v1/vaults/${VAULT}?points=${2 + Math.floor(Math.random() * 2000)}`)).json.data;

before(async () => {
  now = Date.parse((await stack.operate('/clock')).json.now);
});

describe('a good batch', () => {
  let report;

  before(async () => {
    const answer = await ingest(market());
    assert.equal(answer.status, 200, answer.text);
    report = answer.json.data;
  });

  test('is counted by kind', () => {
    assert.equal(report.lines, 4);
    assert.deepEqual(report.observations, { protocol: 1, vault: 1, exposure: 1, vault_state: 1 });
  });

  test('is served at the edge within seconds, scored', async () => {
    const row = await until('the vault is listed', 5, async () => (await listed())[0]);
    assert.equal(row.id, VAULT);
    assert.equal(row.tvl_usd, 5e6);
    assert.equal(row.deposit_status, 'open');
    assert.equal(row.available_liquidity_usd, 2.5e6);
    assert.equal(row.score_status, 'scored');
    assert.equal(row.risk_tier, 'Edge');
    const { vault, snapshots } = await detail();
    assert.ok(vault.score_provenance.flags.includes('exposures_unavailable'));
    assert.equal(snapshots.at(-1).tvl_usd, 5e6);
    assert.equal((await stack.ok('/v1/protocols/e2e-lend')).json.data.vaultTotal, 1);
  });

  test('sent again changes nothing, over HTTP or by the command line', async () => {
    const before = await detail();
    const { data } = (await ingest(market())).json;
    assert.deepEqual(data.changed, {});
    assert.equal(data.score_changes, 0);
    assert.equal(data.data_version, report.data_version);
    assert.deepEqual(still(await detail()), still(before));
    assert.deepEqual((await commandLine(market())).changed, {});
  });

  test('sent again in another order or in part changes nothing either', async () => {
    assert.deepEqual((await ingest(market().toReversed())).json.data.changed, {});
    assert.deepEqual((await ingest(market().slice(3))).json.data.changed, {});
  });
});

describe('a later observation', () => {
  test('replaces the value, and an older one that arrives afterwards does not', async () => {
    assert.equal((await ingest([state(6e6, 1000)])).status, 200);
    await until('the new value is listed', 5, async () => (await listed())[0].tvl_usd === 6e6);
    assert.equal((await ingest([state(1e6, 2000)])).status, 200);
    assert.equal((await ingest([state(6e6, 1000)])).json.data.changed.vault_state, undefined);
    assert.equal((await listed())[0].tvl_usd, 6e6);
    const { snapshots } = await detail();
    assert.deepEqual(snapshots.map((point) => point.tvl_usd).slice(-3), [5e6, 1e6, 6e6], 'history keeps every reading');
  });
});

describe('a bad batch', () => {
  test('is refused with the field of every bad line, and nothing of it is stored', async () => {
    const bad = [
      line('curator', { id: 'e2e-nobody', name: 'Nobody' }),
      line('price', { id: 'x' }),
      '{"kind":',
      line('curator', { id: 'e2e-other', name: 'Other', favourite: true }),
      '',
      line('vault', { protocol_id: 'e2e-lend', chain_id: 31337, address: '0x12', name: 'Short', asset_mode: 'holdings' }),
      line('vault_state', { vault_id: `e2e-lend-31337-0x${'9'.repeat(40)}`, tvl_usd: 1 }),
      line('vault_state', { vault_id: VAULT, tvl_usd: 'much' }),
      { kind: 'curator', source: 'e2e', id: 'e2e-third', name: 'Third' },
      state(7e6, 500),
    ];
    const error = expectError(await ingest(bad), 400, 'INVALID_BODY');
    const named = error.details.map((fault) => fault.name);
    for (const [number, field] of [[2, 'kind'], [3, ''], [4, 'favourite'], [6, 'address'], [7, 'vault_id'], [8, 'tvl_usd'], [9, 'observed_at']]) {
      assert.ok(named.some((name) => name.startsWith(`line ${number}`) && name.includes(field)), `line ${number} ${field}: ${named.join('; ')}`);
    }
    for (const good of [1, 5, 10]) assert.ok(!named.some((name) => new RegExp(`^line ${good}\\b`).test(name)), `line ${good} is valid`);
    assert.ok(error.details.every((fault) => fault.reason.length > 0));
    assert.equal((await detail()).vault.tvl_usd, 6e6);
    assert.equal((await stack.get('/v1/curators/e2e-nobody')).status, 404);
  });

  test('by the command line fails too, and the message names the lines', async () => {
    const error = await commandLine([line('price', {})]).catch((failure) => failure);
    assert.ok(error instanceof Error);
    assert.match(error.message, /\b1\b/);
  });
});

/** Ingests a batch through `rds-origin ingest -`. */
function commandLine(lines) {
  return new Promise((resolve, reject) => {
    const child = spawn(stack.origin_bin, ['ingest', '-', '--json'], { env: originEnvironment(stack) });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.on('close', (code) => (code === 0 ? resolve(JSON.parse(stdout)) : reject(new Error(`${stdout}${stderr}`))));
    child.stdin.end(lines.map((one) => JSON.stringify(one)).join('\n'));
  });
}

/** A vault detail without its age, which changes with time, and without the snapshots, whose number depends on the query. */
function still({ vault, events, rewards }) {
  const { freshness_seconds: _moving, ...rest } = vault;
  return { vault: rest, events, rewards };
}
