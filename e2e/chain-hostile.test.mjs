// Hostile contracts on a chain that the service reads: they are found like good ones, and must neither be believed nor keep others out.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { World, encode } from '../chain/world/world.mjs';
import { startNode, startProxy } from './chain-node.mjs';
import { allStarted, serveBeside, up } from './private-stack.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const PROTOCOL = 'quillfish';
const TEN_DAYS = 864_000;
const PATIENCE = 60;
/** Longest time from a block that is final to its commit. The hostile contracts use up all the gas that they get. */
const LONGEST_CYCLE = 20_000;
/** More of the token than any vault's value in USD may be: a trillion, with six decimals, and as much again. */
const TOO_MUCH = 2n * 10n ** 18n;

const contracts = JSON.parse(readFileSync(new URL('../chain/world/hostile.json', import.meta.url), 'utf8'));
const NAMES = Object.keys(contracts).filter((name) => name !== 'Plausible');
const folder = mkdtempSync(join(tmpdir(), 'rds-hostile-'));
const hostile = {};
let [stack, node, world, good, operators, origin] = [];

before(async () => {
  [stack, node] = await allStarted(
    up('--data', 'demo', '--edge', 'workerd'),
    startNode('--timestamp', String(Math.floor(Date.now() / 1000) - TEN_DAYS)),
  );
  world = await World.create(node.url);
  const [deployer, admin_, holder] = world.accounts;
  for (const name of NAMES) {
    const { contractAddress } = await world.transact({ from: deployer, data: contracts[name].bytecode + encode(world.token) });
    hostile[name] = contractAddress;
  }
  // A second good vault, after the hostile contracts.
  good = await world.deploy('Vault', { text: 'Late Vault' }, { text: 'lvWUSD' }, world.token, admin_);
  await world.send(holder, 'Token', world.token, 'approve(address,uint256)', good, 5_000_000n);
  await world.send(holder, 'Vault', good, 'deposit(uint256,address)', 5_000_000n, holder);
  await world.send(deployer, 'Token', world.token, 'mint(address,uint256)', deployer, TOO_MUCH);
  await world.finalize();

  operators = await Promise.all([startProxy(node.url), startProxy(node.url), startProxy(node.url)]);
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

const detail = async (address) => {
  const answer = await fetch(`${stack.edge}/v1/vault/devnet/${address}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return answer.status === 200 ? (await answer.json()).data.vault : undefined;
};

/** The prices of a share that the vault's history shows. */
const prices = async (address) => {
  const answer = await fetch(`${stack.edge}/v1/vault/devnet/${address}/snapshots`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return (await answer.json()).data.map(({ price_per_share: price }) => price).filter((price) => price !== null);
};

const metric = (name) => origin.metric(name);

describe('hostile contracts on a chain that is read', () => {
  test('keep no good vault out, whose values are exact', async () => {
    const [early, late] = await until('both good vaults have a value', PATIENCE, async () => {
      const vaults = await Promise.all([detail(world.vault), detail(good)]);
      return vaults.every((vault) => typeof vault?.tvl_usd === 'number' && vault.total_score !== null) ? vaults : undefined;
    });
    assert.deepEqual([early.name, early.tvl_usd, early.deposit_status], ['World Vault', 1_000_000, 'open']);
    assert.deepEqual([late.name, late.tvl_usd, late.deposit_status], ['Late Vault', 5, 'open']);
    for (const vault of [world.vault, good]) assert.deepEqual([...new Set(await prices(vault))], [1]);
    assert.equal(early.score_provenance.inputs.control.timelock_seconds.value, 172_800);
  });

  test('make no cycle long', async () => {
    const cycles = await metric(`rds_chain_cycles_total{chain="${CHAIN}"}`);
    const since = Date.now();
    await world.finalize(16);
    await until('two more cycles are committed', PATIENCE, async () => {
      const now = await metric(`rds_chain_cycles_total{chain="${CHAIN}"}`);
      if (now === cycles + 1) await world.finalize(4);
      return now >= cycles + 2;
    });
    assert.ok(Date.now() - since < 2 * LONGEST_CYCLE, `${Date.now() - since} ms`);
    assert.equal(await metric(`rds_chain_failures_total{chain="${CHAIN}",reason="refused"}`), 0);
  });

  test('are served with no value that cannot be, and what was left out is counted', async () => {
    const served = {};
    for (const [name, address] of Object.entries(hostile)) {
      const vault = await detail(address);
      if (vault) served[name] = vault;
    }
    for (const [name, vault] of Object.entries(served)) {
      assert.ok(vault.tvl_usd === null || (vault.tvl_usd >= 0 && vault.tvl_usd <= 1e12), `${name}: ${vault.tvl_usd}`);
      for (const price of await prices(hostile[name])) assert.ok(price > 0 && price <= 1e6, `${name}: ${price}`);
    }
    // No vault of ERC-4626 at all, or one that claims more than there is.
    for (const name of ['Burner', 'Flood', 'Endless', 'Boaster', 'Gone', 'Endlessly', 'Mirror', 'Choosy']) assert.equal(served[name], undefined, name);
    // Everything that exists is no lie that the chain shows, but it is more than a vault's value may be.
    assert.equal(served.Glutton.tvl_usd ?? 0, 0);
    assert.ok((await metric(`rds_chain_implausible_total{chain="${CHAIN}"}`)) > 0);
    // Their answers are no failure of the operators.
    for (const kind of ['damaged', 'other_block', 'http']) {
      assert.equal(await metric(`rds_chain_provider_failures_total{chain="${CHAIN}",operator="operator-0",kind="${kind}"}`), 0, kind);
    }
  });
});
