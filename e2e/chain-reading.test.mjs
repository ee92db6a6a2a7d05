// Vaults that the service reads from a chain by itself: found, scored, explained, and followed, with nothing ingested.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { World } from '../chain/world/world.mjs';
import { readAgain } from '../shared/verifier/build/node.js';
import { startNode, startProxy } from './chain-node.mjs';
import { failing, verb } from './operator.mjs';
import { allStarted, originEnvironment, serveBeside, up } from './private-stack.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const PROTOCOL = 'quillfish';
const TEN_DAYS = 864_000;
/** Seconds within which a change on the chain must be served. */
const PATIENCE = 60;

const folder = mkdtempSync(join(tmpdir(), 'rds-chain-'));
let [stack, node, world, operators, origin] = [];

/** The third operator changes the last digit of every answer of a contract. */
const lie = (request, text) => {
  const answer = JSON.parse(text);
  if (request.method !== 'eth_call' || typeof answer.result !== 'string' || answer.result.length < 70) return undefined;
  const digit = answer.result.at(-1) === '0' ? '1' : '0';
  return { text: JSON.stringify({ ...answer, result: answer.result.slice(0, -1) + digit }) };
};

before(async () => {
  [stack, node] = await allStarted(
    up('--data', 'demo', '--edge', 'workerd'),
    startNode('--timestamp', String(Math.floor(Date.now() / 1000) - TEN_DAYS)),
  );
  world = await World.create(node.url);
  operators = await Promise.all([startProxy(node.url), startProxy(node.url), startProxy(node.url, lie)]);
  const providers = operators.map(({ url }, number) => ({ url, operator: `operator-${number}`, requests_per_second: 10_000 }));
  const read = {
    every_seconds: 1,
    protocols: { [PROTOCOL]: { control: true } },
    prices: { [world.token]: { feed: world.feed, heartbeat_seconds: 604_800 } },
    discovery: { protocol: PROTOCOL },
  };
  writeFileSync(join(folder, 'chains.json'), JSON.stringify({ chains: [{ chain_id: CHAIN, quorum: 2, providers, read }] }));
  origin = await serveBeside(stack, { RDS_CHAIN_PROVIDERS: join(folder, 'chains.json') });
  await until('the origin is ready', PATIENCE, origin.isReady);
});

after(async () => {
  await origin?.stop();
  for (const proxy of operators ?? []) proxy.stop();
  node?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = async (target) => {
  const answer = await fetch(stack.edge + target, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return { status: answer.status, body: await answer.json() };
};

const detail = async () => (await get(`/v1/vault/devnet/${world.vault}`)).body.data?.vault;

/** The vault's detail, once `is` holds for it. */
const vaultThat = (what, is) =>
  until(what, PATIENCE, async () => {
    const vault = await detail();
    return vault && is(vault) ? vault : undefined;
  });

const metric = (name) => origin.metric(name);

/** Every input of a provenance that has evidence, by name. */
const withEvidence = (provenance) =>
  Object.fromEntries(Object.values(provenance.inputs).flatMap((group) => Object.entries(group)).filter(([, input]) => input?.evidence));

/** Reads every input again with the verifier that users run, on the node itself; resolves to the inputs by name. */
async function confirm(vault) {
  const inputs = withEvidence(vault.score_provenance);
  for (const [name, { evidence, source }] of Object.entries(inputs)) {
    assert.equal(source, `chain:${CHAIN}`, name);
    assert.ok(evidence.agreed >= 2 && evidence.asked === 3, name);
  }
  const report = await readAgain(JSON.stringify(vault), [node.url]);
  assert.equal(report.outcome, 'confirmed', JSON.stringify(report, null, 1));
  assert.deepEqual(report.inputs.map(({ name }) => name.split('.')[1]).sort(), Object.keys(inputs).sort());
  assert.ok(report.inputs.every(({ readAt }) => readAt.calls > 0));
  assert.equal(report.score.outcome, 'ok', report.score.said);
  return inputs;
}

describe('a vault on a chain that is read', () => {
  test('is found, scored and explained, and every input that was read can be read again', async () => {
    const vault = await vaultThat('the vault has a score', ({ tvl_usd, total_score }) => tvl_usd !== null && total_score !== null);
    assert.equal(vault.name, 'World Vault');
    assert.equal(vault.tvl_usd, 1_000_000);
    assert.equal(vault.deposit_status, 'open');
    const inputs = await confirm(vault);
    assert.deepEqual(Object.keys(inputs).sort(), ['exposures_status', 'signers', 'timelock_seconds', 'tvl_usd']);
    assert.equal(inputs.timelock_seconds.value, 172_800);
    assert.equal(inputs.signers.value, 'eoa');
    assert.equal(inputs.exposures_status.value, 'observed');
    assert.deepEqual(vault.score_provenance.inputs.asset.exposures.map(({ share }) => share), [1]);
  });

  test('is followed although one of three operators lies, who is named', async () => {
    assert.ok((await metric(`rds_chain_dissent_total{chain="${CHAIN}",operator="operator-2"}`)) > 0);
    for (const honest of [0, 1]) assert.equal(await metric(`rds_chain_dissent_total{chain="${CHAIN}",operator="operator-${honest}"}`), 0);
    const holder = world.accounts[2];
    await world.send(holder, 'Vault', world.vault, 'deposit(uint256,address)', 500_000_000_000n, holder);
    await world.finalize();
    await vaultThat('the deposit is served', ({ tvl_usd }) => tvl_usd === 1_500_000);
  });

  test('falls in control when its owner becomes a plain key, and an event says so', async () => {
    const before = await detail();
    await world.giveVaultTo(world.accounts[3]);
    const vault = await vaultThat('the timelock is gone', ({ score_provenance: { inputs } }) => inputs.control.timelock_seconds.value === 0);
    assert.ok(vault.risk_vectors.control.score < before.risk_vectors.control.score);
    const inputs = await confirm(vault);
    assert.equal(inputs.signers.value, 'eoa');
    const owner = inputs.timelock_seconds.evidence.calls.some(({ answer }) => answer?.endsWith(world.accounts[3].slice(2)));
    assert.ok(owner, 'the evidence names the owner');
    const events = async () => (await get(`/v1/vault/devnet/${world.vault}/events`)).body.data;
    const found = await until('an event tells the change', PATIENCE, async () => {
      const list = await events();
      return list.find(({ event_type }) => event_type === 'ControlChange');
    });
    assert.equal(found.title, 'Control of World Vault became weaker');
    assert.equal(found.severity, 'Warning');
    assert.equal(found.block_number, inputs.timelock_seconds.evidence.block_number);
  });

  test('is not said to hold its asset alone once it has lent a part of it', async () => {
    const [, , holder, owner] = world.accounts;
    await world.send(owner, 'Vault', world.vault, 'lend(address,uint256)', holder, 1_000_000n);
    await world.finalize();
    const unknown = ({ score_provenance: { inputs } }) => inputs.asset.exposures_status.value === 'unavailable';
    const vault = await vaultThat('the exposures are unknown', unknown);
    assert.deepEqual(vault.score_provenance.inputs.asset.exposures, []);
    assert.equal(vault.tvl_usd, 1_500_000);
    await confirm(vault);
  });

  test('keeps what was read when nothing changes, and writes no reading', async () => {
    const readings = await metric(`rds_chain_readings_total{chain="${CHAIN}"}`);
    const block = await metric(`rds_chain_block{chain="${CHAIN}"}`);
    await world.finalize(16);
    await until('a later block is read', PATIENCE, async () => (await metric(`rds_chain_block{chain="${CHAIN}"}`)) > block);
    assert.equal(await metric(`rds_chain_readings_total{chain="${CHAIN}"}`), readings);
  });

  test('is withheld when a final block was replaced, and read again once an operator resumes the chain', async () => {
    const holder = world.accounts[2];
    // Takes back the transfer of the vault, and everything after it.
    await world.rpc('anvil_reorg', 230, []);
    await world.send(holder, 'Vault', world.vault, 'deposit(uint256,address)', 100_000_000_000n, holder);
    await world.finalize();
    await until('the chain is withheld', PATIENCE, async () => (await get(`/v1/vault/devnet/${world.vault}`)).status === 404);
    assert.equal(await metric(`rds_chain_contradicted{chain="${CHAIN}"}`), 1);
    const halted = JSON.parse((await failing(stack, originEnvironment(stack), 'chain', 'status', '--json')).stdout);
    assert.match(halted[0].halted, /^block \d+ was 0x[0-9a-f]{64} when it was read, and is 0x[0-9a-f]{64} now$/);

    await verb(stack, 'chain', 'resume', '--chain', String(CHAIN));
    const vault = await vaultThat('the present is served', ({ tvl_usd }) => tvl_usd === 1_600_000);
    const inputs = await confirm(vault);
    assert.equal(inputs.timelock_seconds.value, 172_800);
    assert.equal((await verb(stack, 'chain', 'status'))[0].halted, null);
  });
});
