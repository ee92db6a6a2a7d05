// Vaults that say that they take deposits, and whether they do: the service simulates a deposit and its redemption on a real node.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { World, encode } from '../chain/world/world.mjs';
import { startNode, startProxy } from './chain-node.mjs';
import { verb } from './operator.mjs';
import { allStarted, originEnvironment, serveBeside, up } from './private-stack.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const PROTOCOL = 'quillfish';
const [HOUR, DAY] = [3_600, 86_400];
/** Seconds within which a change on the chain must be served. */
const PATIENCE = 60;
/** The address that has code only during a trial. */
const GATE = '0x0000000000000000000000000000000000deba7e';
const PROGRAM = fileURLToPath(new URL('../shared/verifier/build/read-again-cli.js', import.meta.url));
const contracts = JSON.parse(readFileSync(new URL('../chain/world/deposits.json', import.meta.url), 'utf8'));

const folder = mkdtempSync(join(tmpdir(), 'rds-gate-'));
let [stack, node, world, operators, origin, database] = [];
/** The vaults, by what their deposits do. */
const vaults = {};

const data = (signature, ...values) => `0x${contracts.GatedVault.functions[signature]}${encode(...values)}`;
const send = (from, to, signature, ...values) => world.transact({ from, to, data: data(signature, ...values) });
const setGates = (vault, { isPaused = 0, minimum = 0n, hasLock = 0 }) => send(world.accounts[0], vault, 'set(bool,uint256,bool)', isPaused, minimum, hasLock);

/** Deploys a vault that somebody has used, and that the service finds by that. */
async function deployVault(name) {
  const [deployer, , holder, owner] = world.accounts;
  const code = contracts.GatedVault.bytecode + encode({ text: name }, world.token, owner);
  const { contractAddress: vault } = await world.transact({ from: deployer, data: code });
  await world.send(deployer, 'Token', world.token, 'mint(address,uint256)', holder, 1_000_000_000n);
  await world.send(holder, 'Token', world.token, 'approve(address,uint256)', vault, 1_000_000_000n);
  await send(holder, vault, 'deposit(uint256,address)', 500_000_000n, holder);
  return vault;
}

/** The third operator makes every call as if nothing were overridden: an address without code answers with nothing. */
const withoutOverrides = ({ id, method, params }) =>
  (method === 'eth_call' && params.length > 2 ? { text: JSON.stringify({ jsonrpc: '2.0', id, result: '0x' }) } : undefined);

before(async () => {
  [stack, node] = await allStarted(
    up('--data', 'demo', '--edge', 'workerd'),
    startNode('--timestamp', String(Math.floor(Date.now() / 1000) - 10 * DAY)),
  );
  database = new pg.Pool({ connectionString: originEnvironment(stack).DATABASE_URL });
  world = await World.create(node.url);
  for (const name of ['paused', 'locked', 'minimum']) vaults[name] = await deployVault(`Vault ${name}`);
  await setGates(vaults.paused, { isPaused: 1 });
  await setGates(vaults.locked, { hasLock: 1 });
  await setGates(vaults.minimum, { minimum: 100_000_000n });
  await world.finalize();
  operators = await Promise.all([startProxy(node.url), startProxy(node.url), startProxy(node.url, withoutOverrides)]);
  const providers = operators.map(({ url }, number) => ({ url, operator: `operator-${number}`, requests_per_second: 10_000 }));
  const read = { every_seconds: 1, protocols: { [PROTOCOL]: {} }, discovery: { protocol: PROTOCOL } };
  writeFileSync(join(folder, 'chains.json'), JSON.stringify({ chains: [{ chain_id: CHAIN, quorum: 2, providers, read }] }));
  origin = await serveBeside(stack, { RDS_CHAIN_PROVIDERS: join(folder, 'chains.json') });
  await until('the origin is ready', PATIENCE, origin.isReady);
});

after(async () => {
  await database?.end();
  await origin?.stop();
  for (const proxy of operators ?? []) proxy.stop();
  node?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function detail(address) {
  const answer = await fetch(`${stack.edge}/v1/vault/devnet/${address}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return (await answer.json()).data?.vault;
}

/** The vault's detail, once its deposits have this status. */
const served = (address, status) =>
  until(`deposits of ${address} are ${status}`, PATIENCE, async () => {
    const vault = await detail(address);
    return vault?.deposit_status === status ? vault : undefined;
  });

/** The newest reading of a vault's deposits in the store. */
async function stored(address) {
  const { rows } = await database.query(
    `SELECT r.* FROM chain_reading r JOIN vault v ON v.id = r.vault_id WHERE v.address = $1 AND r.field = 'deposit_status' ORDER BY r.observed_at DESC LIMIT 1`,
    [address],
  );
  return rows[0];
}

/** The newest reading, once it comes from a trial. */
const tried = (address) =>
  until(`deposits of ${address} are tried`, PATIENCE, async () => {
    const reading = await stored(address);
    return reading?.calls[1]?.contract === GATE ? reading : undefined;
  });

const trials = (result) => origin.metric(`rds_chain_deposit_trials_total{chain="${CHAIN}",result="${result}"}`);
const allTrials = async () => (await Promise.all(['open', 'refused', 'unknown'].map(trials))).reduce((sum, count) => sum + count, 0);

/** Lets time pass on the chain; resolves when the service has read the new blocks. */
async function pass(seconds) {
  const read = () => origin.metric(`rds_chain_block{chain="${CHAIN}"}`);
  if (seconds > 0) await world.rpc('evm_increaseTime', seconds);
  await world.finalize();
  const { number } = await world.rpc('eth_getBlockByNumber', 'finalized', false);
  await until('the new blocks are read', PATIENCE, async () => (await read()) >= Number(number));
}

/** Runs the program that reads again; resolves to its report. */
async function readAgain(address, reading, ...endpoints) {
  const { chain_id, block_number, block_hash, calls, agreed, asked, value, source, observed_at } = reading;
  const evidence = { chain_id: Number(chain_id), block_number: Number(block_number), block_hash, calls, agreed, asked };
  const answer = { data: { vault: { address, score_provenance: { inputs: { caps: { deposit_status: { value, source, observed_at, evidence } } } } } } };
  const words = [PROGRAM, '--json', ...endpoints.flatMap((url) => ['--rpc', url])];
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, words, (fault, out, said) => (out ? resolve(JSON.parse(out)) : reject(new Error(said || fault))));
    child.stdin.end(JSON.stringify(answer));
  });
}

describe('a vault that says that it takes deposits', () => {
  test('is closed if its deposits are refused, with the call that shows it', async () => {
    const vault = await served(vaults.paused, 'closed');
    assert.equal(vault.withdraw_status, 'unknown');
    const { calls, agreed, asked } = await tried(vaults.paused);
    const [limit, trial] = calls;
    assert.deepEqual([limit.contract, limit.answer, limit.overrides], [vaults.paused, `0x${'f'.repeat(64)}`, undefined]);
    assert.deepEqual(Object.keys(trial.overrides).sort(), [GATE, world.token].sort());
    assert.ok(Buffer.from(trial.answer.slice(2), 'hex').includes('deposits are paused'), trial.answer);
    // The third operator serves no overrides, so it says nothing about the vault, and contradicts nobody.
    assert.deepEqual([agreed, asked], [2, 3]);
    for (const number of [0, 1, 2]) assert.equal(await origin.metric(`rds_chain_dissent_total{chain="${CHAIN}",operator="operator-${number}"}`), 0);
  });

  test('is open if it takes them, also from a minimum on, and if shares are locked in their first block', async () => {
    for (const address of [world.vault, vaults.minimum, vaults.locked]) {
      const { value, calls } = await tried(address);
      assert.equal(value, 'open', address);
      assert.equal((await served(address, 'open')).withdraw_status, 'unknown');
      assert.equal(calls.length, 2);
    }
    const steps = await Promise.all([world.vault, vaults.locked].map(async (address) => Number((await stored(address)).calls[1].answer.slice(0, 66))));
    assert.deepEqual(steps, [6, 4], 'the round trip ends, or its redemption is refused');
  });

  test('keeps the verdict through the readings of an hour, also when other values of it change', async () => {
    await setGates(vaults.paused, {});
    const [count, before] = [await allTrials(), await tried(vaults.paused)];
    await pass(HOUR);
    const [, , holder] = world.accounts;
    await send(holder, vaults.paused, 'deposit(uint256,address)', 100_000_000n, holder);
    await pass(HOUR);
    const amount = await database.query(
      `SELECT count(*)::int AS n FROM chain_reading r JOIN vault v ON v.id = r.vault_id WHERE v.address = $1 AND r.field = 'tvl_native' AND r.value = '600'`,
      [vaults.paused],
    );
    assert.equal(amount.rows[0].n, 1, 'the deposit is read');
    assert.equal((await detail(vaults.paused)).deposit_status, 'closed');
    assert.deepEqual(await stored(vaults.paused), before);
    assert.equal(await allTrials(), count, 'nothing was due');
  });

  test('is open again with the next trial, a day after the last', async () => {
    await pass(DAY);
    await served(vaults.paused, 'open');
    const { calls } = await tried(vaults.paused);
    assert.equal(Number(calls[1].answer.slice(0, 66)), 6);
  });

  test('is closed at once when it says so, and tried at once when it says otherwise', async () => {
    const owner = world.accounts[3];
    await world.send(owner, 'Vault', vaults.paused, 'setCap(uint256)', 0);
    await pass(0);
    await served(vaults.paused, 'closed');
    assert.equal((await stored(vaults.paused)).calls.length, 1, 'this needs no trial');
    const refused = await trials('refused');
    await setGates(vaults.paused, { isPaused: 1 });
    await world.send(owner, 'Vault', vaults.paused, 'setCap(uint256)', 2n ** 255n);
    await pass(0);
    assert.ok((await tried(vaults.paused)).value === 'closed' && (await trials('refused')) === refused + 1);
    await setGates(vaults.paused, {});
    await world.send(owner, 'Vault', vaults.paused, 'setCap(uint256)', 2n ** 254n);
    await pass(0);
    await served(vaults.paused, 'open');
  });
});

describe('a trial can be repeated by anybody', () => {
  test('with the operator’s program, which asks any provider', async () => {
    const report = await verb(stack, 'chain', 'verify', '--chain', String(CHAIN), '--rpc', node.url);
    assert.equal(report.contradicted, 0, JSON.stringify(report.inputs.filter(({ verdict }) => verdict !== 'confirmed')));
    const verdicts = report.inputs.filter(({ field }) => field === 'deposit_status').map(({ verdict }) => verdict);
    assert.deepEqual(verdicts, Array(4).fill('confirmed'));
  });

  test('with the public verifier, which sends the same overrides', async () => {
    const reading = await tried(vaults.locked);
    const confirmed = await readAgain(vaults.locked, reading, node.url, operators[0].url);
    assert.equal(confirmed.outcome, 'confirmed', JSON.stringify(confirmed, null, 1));
    assert.deepEqual([confirmed.inputs[0].readAt.calls, confirmed.inputs[0].readAt.simulated], [2, 1]);
    const changed = structuredClone(reading);
    changed.calls[1].answer = changed.calls[1].answer.replace(/^0x0{63}4/, `0x${'0'.repeat(63)}3`);
    assert.equal((await readAgain(vaults.locked, changed, node.url)).outcome, 'contradicted');
    const unchecked = await readAgain(vaults.locked, reading, operators[2].url);
    assert.deepEqual([unchecked.outcome, unchecked.inputs[0].findings[0].reason], ['not_checked', 'unsupported']);
  });
});
