// The past of vaults on a chain: read back to their deployment, scored, served, and read again.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { World } from '../chain/world/world.mjs';
import { startNode, startProxy } from './chain-node.mjs';
import { verb } from './operator.mjs';
import { allStarted, originEnvironment, serveBeside, up } from './private-stack.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const PROTOCOL = 'quillfish';
const DAY = 86_400;
/** Days from the node's first block to its last, and from the first block to the world's. */
const DAYS = 40;
const EMPTY_DAYS = 5;
const PATIENCE = 60;

const folder = mkdtempSync(join(tmpdir(), 'rds-chain-'));
let [stack, node, world, operators, origin, again, gone] = [];

/** Lets days pass, with a block each hour. */
const pass = (days) => world.rpc('anvil_mine', `0x${(days * 24).toString(16)}`, '0xe10');
const vaultId = (address) => `${PROTOCOL}-${CHAIN}-${address}`;

/** Writes a file of chains with these providers; resolves to the environment that names it. */
function environment(name, urls, { quorum = 2, rate = 10_000 } = {}) {
  const providers = urls.map((url, number) => ({ url, operator: `operator-${number}`, requests_per_second: rate }));
  const prices = { [world.token]: { feed: world.feed, heartbeat_seconds: 604_800 } };
  const read = { every_seconds: 1, protocols: { [PROTOCOL]: {} }, prices, discovery: { protocol: PROTOCOL } };
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({ chains: [{ chain_id: CHAIN, quorum, trust_one_operator: quorum === 1, providers, read }] }));
  return { ...originEnvironment(stack), RDS_CHAIN_PROVIDERS: file };
}

/** Runs a subcommand of `chain`; resolves to the exit code and the JSON that it printed. */
const chain = (env, ...words) =>
  new Promise((resolve) => {
    execFile(stack.origin_bin, ['chain', ...words, '--json'], { env, timeout: 120_000 }, (error, stdout) =>
      resolve({ code: error ? error.code : 0, ...JSON.parse(stdout) }),
    );
  });

/** A node that has thrown away the state of all but the newest blocks. */
const pruned = (state) => async (request) => {
  const hash = request.params.find((part) => part?.blockHash)?.blockHash;
  if (!hash) return undefined;
  const { number } = await world.rpc('eth_getBlockByHash', hash, false);
  if (Number(number) > state.newest - state.kept) return undefined;
  const error = { code: -32_000, message: 'missing trie node 0x00 (path )' };
  return { text: JSON.stringify({ jsonrpc: '2.0', id: request.id, error }) };
};

/** The last digit of every answer of a contract is another one. */
const lie = (request, text) => {
  const answer = JSON.parse(text);
  if (request.method !== 'eth_call' || typeof answer.result !== 'string' || answer.result.length < 60) return undefined;
  const digit = answer.result.at(-1) === '0' ? '1' : '0';
  return { text: JSON.stringify({ ...answer, result: answer.result.slice(0, -1) + digit }) };
};

before(async () => {
  const first = Math.floor(Date.now() / 1000) - DAYS * DAY;
  [stack, node] = await allStarted(up('--data', 'demo', '--edge', 'workerd'), startNode('--timestamp', String(first)));
  world = new World(node.url);
  await pass(EMPTY_DAYS);
  world = await World.create(node.url);
  const [, , holder] = world.accounts;
  const vault = (name) => world.deploy('Vault', { text: name }, { text: 'wv' }, world.token, world.timelock);
  [again, gone] = [await vault('Made again'), await vault('Gone')];
  const code = await world.rpc('eth_getCode', again, 'latest');
  await pass(5);
  // A fifth more for everybody, and ten days later a quarter of it is lost.
  await world.send(holder, 'Token', world.token, 'transfer(address,uint256)', world.vault, 200_000_000_000n);
  await world.rpc('anvil_setCode', again, '0x');
  await pass(10);
  await world.rpc('anvil_setCode', again, code);
  await world.rpc('anvil_setCode', gone, '0x');
  await world.rpc('anvil_impersonateAccount', world.vault);
  await world.rpc('anvil_setBalance', world.vault, '0xde0b6b3a7640000');
  await world.send(world.vault, 'Token', world.token, 'transfer(address,uint256)', holder, 300_000_000_000n);
  await pass(17);
  await world.send(world.accounts[0], 'Feed', world.feed, 'set(int256)', 100_000_000n);
  await world.finalize();

  operators = await Promise.all([startProxy(node.url), startProxy(node.url)]);
  const providers = environment('chains.json', operators.map(({ url }) => url)).RDS_CHAIN_PROVIDERS;
  origin = await serveBeside(stack, { RDS_CHAIN_PROVIDERS: providers });
});

after(async () => {
  await origin?.stop();
  for (const proxy of operators ?? []) proxy.stop();
  node?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = async (target) => (await fetch(stack.edge + target, { headers: { authorization: `Bearer ${stack.keys.data}` } })).json();
const detail = async () => (await get(`/v1/vault/devnet/${world.vault}`)).data?.vault;
const history = async () => (await get(`/v1/vault/devnet/${world.vault}/snapshots?days=365&points=2160`)).data;
const all = () => environment('chains.json', operators.map(({ url }) => url));
const requests = () => operators.reduce((sum, { requests }) => sum + requests, 0);

/** The days of the history, each with its last price. */
const prices = (points) => new Map(points.map(({ recorded_at, price_per_share }) => [recorded_at.slice(0, 10), price_per_share]));

describe('the past of a vault', () => {
  test('is not read where the provider has no archive, which the report says', async () => {
    const before = await until('the vault is read and scored', PATIENCE, async () => {
      const vault = await detail();
      return vault?.tvl_usd && vault.total_score !== null ? vault : undefined;
    });
    assert.equal(before.tvl_usd, 900_000);
    assert.equal(before.score_provenance.inputs.history.drawdown.value, null);

    const newest = Number(await world.rpc('eth_blockNumber'));
    const short = await startProxy(node.url, pruned({ newest, kept: 200 }));
    const report = await chain(environment('pruned.json', [short.url], { quorum: 1 }), 'backfill', '--chain', String(CHAIN));
    const checked = await chain({ ...originEnvironment(stack) }, 'check', '--providers', join(folder, 'pruned.json'));
    short.stop();
    assert.deepEqual([report.is_archive, report.state_since], [false, newest - 100]);
    assert.deepEqual(report.deployments.before_state, [vaultId(world.vault)]);
    assert.equal((await detail()).deployment_timestamp, before.deployment_timestamp);
    const [{ providers }] = Object.values(checked).filter((value) => value?.providers);
    assert.deepEqual([providers[0].is_archive, providers[0].state_since_block], [false, newest - 100]);
  });

  test('is read on after a kill in the middle, with no day missing or twice', async () => {
    const slow = environment('slow.json', operators.map(({ url }) => url), { rate: 60 });
    const child = spawn(stack.origin_bin, ['chain', 'backfill', '--chain', String(CHAIN)], { env: slow, stdio: 'ignore' });
    const end = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
    await until('a part of the days is committed', PATIENCE, async () => (await history()).length > 6);
    child.kill('SIGKILL');
    assert.equal(await end, 'SIGKILL');
    const part = (await history()).length;

    const report = await chain(all(), 'backfill', '--chain', String(CHAIN));
    assert.equal(report.code, 0, JSON.stringify(report));
    assert.ok(report.days.known > 0 && report.days.read > 0, JSON.stringify(report.days));
    const points = await until('the whole history is served', PATIENCE, async () => {
      const points = await history();
      return points.length > part && points.length >= DAYS - EMPTY_DAYS - 4 ? points : undefined;
    });
    const days = points.map(({ recorded_at }) => recorded_at.slice(0, 10));
    const whole = days.filter((day) => day >= report.days.first && day <= report.days.last);
    assert.deepEqual(whole, [...new Set(whole)], 'a day has one point');
    assert.equal(whole.length, report.days.read + report.days.known);
    const found = [...prices(points).values()];
    assert.deepEqual([found[0], Math.max(...found), found.at(-1)], [1, 1.2, 0.9]);
  });

  test('is the last block of each UTC day', async () => {
    const [, second, third] = await history();
    for (const { recorded_at } of [second, third]) {
      const midnight = Date.parse(`${recorded_at.slice(0, 10)}T00:00:00Z`) / 1000 + DAY;
      const seconds = Date.parse(recorded_at) / 1000;
      assert.ok(midnight - seconds > 0 && midnight - seconds <= 3600, recorded_at);
    }
  });

  test('moves the score: the age of the vault with its evidence, and the fall of its price', async () => {
    const vault = await until('the past is scored', PATIENCE, async () => {
      const vault = await detail();
      return vault.score_provenance.inputs.history.drawdown.value !== null ? vault : undefined;
    });
    const { vault_age_days: age, drawdown } = vault.score_provenance.inputs.history;
    assert.equal(drawdown.value, 0.25);
    const { evidence } = age;
    const block = await world.rpc('eth_getBlockByHash', evidence.block_hash, false);
    assert.equal(Date.parse(vault.deployment_timestamp) / 1000, Number(block.timestamp));
    assert.equal(age.source, `chain:${CHAIN}`);
    const code = (hash) => world.rpc('eth_getCode', world.vault, { blockHash: hash });
    assert.equal(await code(block.parentHash), '0x');
    assert.notEqual(await code(block.hash), '0x');
    // The present is what it was.
    assert.equal(vault.tvl_usd, 900_000);
  });

  test('is not asked again once it is known', async () => {
    const before = requests();
    const report = await chain(all(), 'backfill', '--chain', String(CHAIN));
    assert.deepEqual([report.readings, report.days.read, report.deployments.found], [0, 0, 0]);
    // The service itself reads on meanwhile; a header for each day would be seventy requests more.
    assert.ok(requests() - before < 60, `${requests() - before} requests`);
  });

  test('is told plainly of contracts that were destroyed', async () => {
    const line = (address, name) => ({
      kind: 'vault', observed_at: new Date().toISOString(), source: 'e2e', protocol_id: PROTOCOL, chain_id: CHAIN, address, name,
      asset_symbol: 'WUSD', asset_address: world.token, asset_mode: 'holdings',
    });
    const file = join(folder, 'vaults.ndjson');
    writeFileSync(file, [line(again, 'Made again'), line(gone, 'Gone')].map((row) => JSON.stringify(row)).join('\n'));
    await verb(stack, 'ingest', file);
    const only = ['--vault', vaultId(again), '--vault', vaultId(gone), '--vault', 'nobody', '--days', '3'];
    const report = await chain(all(), 'backfill', '--chain', String(CHAIN), ...only);
    assert.equal(report.code, 1, 'one of the vaults is unknown');
    assert.deepEqual([report.deployments.made_again, report.deployments.no_code], [[vaultId(again)], [vaultId(gone)]]);
    assert.deepEqual(report.unknown_vaults, ['nobody']);
  });
});

describe('chain verify', () => {
  test('confirms every newest reading, and names what another provider contradicts', async () => {
    const good = await chain(all(), 'verify');
    assert.deepEqual([good.code, good.contradicted, good.not_checkable], [0, 0, 0], JSON.stringify(good));
    const fields = new Set(good.inputs.filter(({ vault_id }) => vault_id === vaultId(world.vault)).map(({ field }) => field));
    for (const field of ['deployed_at', 'price_per_share', 'tvl_usd', 'exposures']) assert.ok(fields.has(field), field);
    const sample = await chain(all(), 'verify', '--chain', String(CHAIN), '--sample', '2');
    assert.equal(sample.inputs.length, 2);

    const liar = await startProxy(node.url, lie);
    const bad = await chain(all(), 'verify', '--chain', String(CHAIN), '--rpc', liar.url, '--vault', vaultId(world.vault));
    liar.stop();
    assert.equal(bad.code, 1);
    assert.ok(bad.contradicted > 0);
    assert.match(bad.inputs.find(({ verdict }) => verdict === 'contradicted').reason, /gives 0x[0-9a-f]+…?, and not 0x/);
    const away = await chain(all(), 'verify', '--chain', String(CHAIN), '--rpc', liar.url, '--vault', vaultId(world.vault));
    assert.deepEqual([away.code, away.contradicted, away.confirmed], [0, 0, 0], 'a provider that is away contradicts nothing');
  });
});
