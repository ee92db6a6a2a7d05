// Vaults of lending protocols, read from published contracts on a real node: what they hold or lend against, at which rates, and who
// controls them.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startNode } from './chain-node.mjs';
import { verb } from './operator.mjs';
import { allStarted, serveBeside, up } from './private-stack.mjs';
import { deployProtocols } from './protocols.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const TEN_DAYS = 864_000;
/** Seconds within which a change on the chain must be served. */
const PATIENCE = 60;

const folder = mkdtempSync(join(tmpdir(), 'rds-protocols-'));
let [stack, node, deployed, origin] = [];

/** The protocols of the registry, with what their vaults are. */
const PROTOCOLS = {
  'real-vaults': { control: true, holders: true },
  'real-curators': { adapter: 'metamorpho', control: true },
  'real-allocators': { adapter: 'morpho_vault_v2', control: true },
  'real-credit': { adapter: 'euler_v2', control: true },
  'real-strategies': { adapter: 'yearn_v3' },
  'real-requests': { adapter: 'erc7540' },
  'real-pool': { adapter: 'aave_v3' },
  'real-market': { adapter: 'compound_v3' },
};

const idOf = (protocol, address) => `${protocol}-${CHAIN}-${address}`;

async function register() {
  const { vaults, allocator, supplyTokens } = deployed;
  const header = { observed_at: new Date(Date.now() - TEN_DAYS * 1000).toISOString(), source: 'e2e' };
  const protocols = Object.keys(PROTOCOLS).map((id) => ({
    kind: 'protocol', ...header, id, name: id, version: 'v1', version_deployed_at: '2025-01-01T00:00:00Z', audits: 2,
    newest_audit_at: '2026-06-01T00:00:00Z', strategy: 'lending_pool', dependencies: [], tvl_usd: 5e6,
  }));
  const vault = (protocol_id, address, asset_mode = 'lending') => ({
    kind: 'vault', ...header, protocol_id, chain_id: CHAIN, address, name: `${protocol_id} ${address.slice(2, 6)}`, asset_mode,
  });
  const lines = [
    ...protocols,
    vault('real-vaults', vaults.plain, 'holdings'),
    vault('real-curators', vaults.curated),
    vault('real-curators', allocator.inner),
    vault('real-allocators', allocator.vault),
    vault('real-credit', vaults.credit),
    vault('real-strategies', vaults.strategies),
    vault('real-requests', vaults.request, 'holdings'),
    vault('real-pool', supplyTokens.usd),
    vault('real-pool', supplyTokens.eth),
    vault('real-market', vaults.market),
  ];
  const file = join(folder, 'registry.ndjson');
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  await verb(stack, 'ingest', file);
}

before(async () => {
  [stack, node] = await allStarted(
    up('--data', 'demo', '--edge', 'workerd'),
    startNode('--timestamp', String(Math.floor(Date.now() / 1000) - TEN_DAYS), '--disable-code-size-limit'),
  );
  deployed = await deployProtocols(node.url);
  await register();
  const { tokens, feeds, blue } = deployed;
  const price = (feed) => ({ feed, heartbeat_seconds: 604_800 });
  const read = {
    every_seconds: 1,
    protocols: PROTOCOLS,
    prices: { [tokens.usd]: price(feeds.usd), [tokens.eth]: price(feeds.eth) },
    oracles: { [feeds.aggregator]: 'attested_push' },
    oracle_factories: [blue.factory],
  };
  const chain = { chain_id: CHAIN, quorum: 1, trust_one_operator: true, providers: [{ url: node.url, requests_per_second: 10_000 }], read };
  writeFileSync(join(folder, 'chains.json'), JSON.stringify({ chains: [chain] }));
  origin = await serveBeside(stack, { RDS_CHAIN_PROVIDERS: join(folder, 'chains.json') });
  await until('the origin is ready', PATIENCE, origin.isReady);
});

after(async () => {
  await origin?.stop();
  node?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function served(path) {
  const answer = await fetch(`${stack.edge}${path}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return (await answer.json()).data;
}

const detail = async (protocol, address) => (await served(`/v1/vaults/${idOf(protocol, address)}`))?.vault;

/** The vault's detail, once `is` holds for it. */
const vaultThat = (what, protocol, address, is) =>
  until(what, PATIENCE, async () => {
    const vault = await detail(protocol, address);
    return vault && is(vault) ? vault : undefined;
  });

const hasExposures = ({ score_provenance: provenance }) => provenance?.inputs.asset.exposures_status.value !== 'unavailable';
const exposures = (vault) => vault.score_provenance.inputs.asset.exposures;

/** Repeats every call that an input of the vault stands on. */
async function confirm({ score_provenance: { inputs } }) {
  const read = Object.values(inputs).flatMap((group) => Object.values(group)).filter((input) => input?.evidence);
  assert.ok(read.length > 0);
  let repeated = 0;
  for (const { evidence } of read) {
    const block = { blockHash: evidence.block_hash };
    for (const { method, contract, data, answer } of evidence.calls.filter((call) => call.method === 'eth_call')) {
      const again = await deployed.world.rpc(method, { to: contract, data }, block).catch(() => null);
      assert.equal(again, answer, `${contract} ${data}`);
      repeated += 1;
    }
  }
  return repeated;
}

describe('vaults of real protocols', () => {
  test('of a curator lend in the markets of its queue, by share, price source and loan-to-value', async () => {
    const { vaults, tokens, feeds, blue } = deployed;
    const vault = await vaultThat('the exposures are read', 'real-curators', vaults.curated, hasExposures);
    assert.equal(vault.score_provenance.inputs.asset.exposures_status.value, 'observed');
    const found = exposures(vault).map(({ id, share, oracle, lltv }) => ({ id, share, oracle, lltv }));
    const eth = `token-${CHAIN}-${tokens.eth}`;
    assert.deepEqual(found.toSorted((a, b) => b.share - a.share), [
      // Morpho's own factory made this oracle, and its only feed is one that the operator knows.
      { id: eth, share: 0.5, oracle: 'push_feed', lltv: 0.86 },
      // This one has the same functions, but nobody knows who made it.
      { id: eth, share: 0.3, oracle: 'unknown', lltv: 0.625 },
      { id: `token-${CHAIN}-${tokens.usd}`, share: 0.2, oracle: 'none', lltv: null },
    ]);
    assert.equal(vault.tvl_usd, 1_000_000);
    // 1,500,000 are supplied to the first market, and 500,000 lent.
    assert.ok(Math.abs(vault.utilization - 0.5 / 3) < 0.001, `${vault.utilization}`);
    assert.ok(vault.base_apr > 0, `${vault.base_apr}`);
    const { timelock_seconds: timelock, signers } = vault.score_provenance.inputs.control;
    assert.equal(timelock.value, 86_400, 'the delay of the vault itself');
    assert.deepEqual(signers.value, { threshold: 3, owners: 5 });
    assert.ok((await confirm(vault)) > 20);
    const feed = vault.score_provenance.inputs.asset.exposures_status.evidence.calls.some(({ answer }) => answer?.endsWith(feeds.eth.slice(2)));
    assert.ok(feed, 'the feed behind the oracle is shown');
    assert.ok(blue.oracles.known);
  });

  test('of a pool of Aave v3 have its amounts, rates, gates and everything that secures its loans', async () => {
    const { supplyTokens, tokens } = deployed;
    const usd = await vaultThat('the reserve is read', 'real-pool', supplyTokens.usd, hasExposures);
    // With the interest of some minutes.
    assert.ok(Math.abs(usd.tvl_usd - 1_000_000) < 10, `${usd.tvl_usd}`);
    assert.ok(Math.abs(usd.utilization - 0.5) < 0.001, `${usd.utilization}`);
    // 0.5 of 0.8 on the way to 4 %, of which depositors get half, less a tenth.
    assert.ok(Math.abs(usd.base_apr - 0.01125) < 0.0001, `${usd.base_apr}`);
    assert.deepEqual([usd.deposit_status, usd.withdraw_status, usd.borrow_status], ['open', 'open', 'open']);
    assert.equal(usd.score_provenance.inputs.asset.exposures_status.value, 'shares_unknown');
    const members = exposures(usd).map(({ id, lltv }) => [id, lltv]);
    // The dollar's efficiency mode lets loans go up to 95 % of it.
    assert.deepEqual(Object.fromEntries(members), { [`token-${CHAIN}-${tokens.usd}`]: 0.95, [`token-${CHAIN}-${tokens.eth}`]: 0.8 });
    const eth = await vaultThat('the paused reserve is read', 'real-pool', supplyTokens.eth, ({ withdraw_status }) => withdraw_status === 'closed');
    assert.deepEqual([eth.deposit_status, eth.borrow_status, eth.tvl_usd], ['closed', 'paused', 3_000_000]);
    await confirm(usd);
  });

  test('of a pool of Aave v3 belong to a market with its reserves and efficiency modes, found on the chain', async () => {
    const { supplyTokens, tokens, lending, world } = deployed;
    const market = () => served(`/v1/markets/real-pool-v3-devnet-test`);
    const { market: row, reserves, emodes } = await until('the market is served', PATIENCE, async () => {
      const found = await market();
      return found?.reserves.every(({ supplied_usd: supplied }) => supplied !== null) ? found : undefined;
    });
    assert.deepEqual(
      [row.name, row.address, row.shape, row.source, row.totals_source, row.reserve_count],
      ['test', lending.pool, 'pool', 'onchain_rpc', 'members', 2],
    );
    assert.ok(Math.abs(row.total_supplied_usd - 4_000_000) < 10 && Math.abs(row.total_borrowed_usd - 500_000) < 10, JSON.stringify(row));
    const shown = reserves.map(({ asset_symbol: symbol, asset_address: asset, token_address: token, vault_id: id, fee_rate: fee, borrow_status: borrow, is_depositable: open }) =>
      [symbol, asset, token, id, fee, borrow, open]);
    assert.deepEqual(shown, [
      ['WETH', tokens.eth, supplyTokens.eth, idOf('real-pool', supplyTokens.eth), 0.1, 'paused', false],
      ['WUSD', tokens.usd, supplyTokens.usd, idOf('real-pool', supplyTokens.usd), 0.1, 'open', true],
    ]);
    const stable = {
      emode_id: 1, label: 'stable', ltv: 0.93, liquidation_threshold: 0.95, liquidation_bonus: 0.01,
      collateral_assets: [tokens.usd], borrowable_assets: [tokens.usd], ltv_zero_assets: [],
    };
    assert.deepEqual(emodes, [stable]);
    await lending.change('setEModeCategory', 1, 9_000, 9_400, 10_200, '0x0000000000000000000000000000000000000000', 'dollars');
    await world.finalize();
    const changed = await until('the changed mode is served', PATIENCE, async () => {
      const { emodes: [mode] } = await market();
      return mode.label === 'dollars' ? mode : undefined;
    });
    assert.deepEqual(changed, { ...stable, label: 'dollars', ltv: 0.9, liquidation_threshold: 0.94, liquidation_bonus: 0.02 });
  });

  // No package has the contracts of Morpho Vault V2: chain/world/Allocating.sol has their functions.
  test('of Morpho Vault V2 hold what their adapters hold, and are not closed by limits of 0', async () => {
    const { tokens, allocator } = deployed;
    const of = (what, is) => vaultThat(what, 'real-allocators', allocator.vault, is);
    const vault = await of('the adapters are read', hasExposures);
    assert.equal(vault.score_provenance.inputs.asset.exposures_status.value, 'observed');
    const [eth, usd] = [tokens.eth, tokens.usd].map((token) => `token-${CHAIN}-${token}`);
    const found = exposures(vault);
    const part = (id) => found.filter((it) => it.id.includes(id)).map(({ share, oracle, lltv }) => ({ share, oracle, lltv }));
    const total = (id) => part(id).reduce((sum, { share }) => sum + share, 0);
    assert.equal(total(idOf('real-curators', allocator.inner)), 0.5, JSON.stringify(found));
    assert.deepEqual(part(eth), [{ share: 0.2, oracle: 'unknown', lltv: 0.625 }]);
    assert.ok(Math.abs(total(usd) - 0.3) < 1e-9, JSON.stringify(found));
    assert.equal(vault.tvl_usd, 1_000_000);
    assert.deepEqual([vault.deposit_status, vault.is_depositable], ['unknown', null]);
    const { timelock_seconds: timelock, signers } = vault.score_provenance.inputs.control;
    assert.equal(timelock.value, 259_200, 'the shortest delay of what can raise the risk');
    assert.deepEqual(signers.value, { threshold: 3, owners: 5 });
    assert.ok((await confirm(vault)) > 20);

    // Nothing stands between a depositor and the vault any more, but a gate decides who leaves.
    await allocator.send('setLiquidityAdapter(address)', 0n);
    await allocator.send('setGates(address,address,address,address)', 0n, allocator.inner, 0n, 0n);
    await deployed.world.finalize();
    const open = await of('the vault is open', ({ deposit_status: status }) => status === 'open');
    assert.equal(open.score_provenance.inputs.control.exit.value, 'blockable');
    // The adapter to which deposits go gets no more.
    await allocator.send('setCaps(address,uint256,uint256)', allocator.adapters.vault, 1n, 10n ** 18n);
    await allocator.send('setLiquidityAdapter(address)', allocator.adapters.vault);
    await deployed.world.finalize();
    await confirm(await of('the vault is closed', ({ deposit_status: status }) => status === 'closed'));
    await allocator.send('setCaps(address,uint256,uint256)', allocator.adapters.vault, 10n ** 13n, 10n ** 18n);
    await deployed.world.finalize();
    await of('nobody can tell', ({ deposit_status: status }) => status === 'unknown');

    // An adapter of an unknown kind says only what it is worth.
    await allocator.send('addAdapter(address)', allocator.adapters.other);
    await allocator.send('allocate(address,uint256)', allocator.adapters.other, 1_000_000n);
    await deployed.world.finalize();
    const after = await of('the exposures end', (it) => !hasExposures(it));
    assert.deepEqual(exposures(after), []);
    await confirm(after);
  });

  test('of a market of Compound are secured by collaterals in the proportion of their value', async () => {
    const { vaults, tokens } = deployed;
    const vault = await vaultThat('the market is read', 'real-market', vaults.market, hasExposures);
    assert.equal(vault.tvl_usd, 2_000_000);
    assert.deepEqual([vault.utilization, vault.base_apr, vault.borrow_apr].map((it) => it.toFixed(4)), ['0.5000', '0.0400', '0.0500']);
    const found = exposures(vault).map(({ id, share, oracle, lltv }) => [id, share, oracle, lltv]);
    assert.deepEqual(found.toSorted((a, b) => b[1] - a[1]), [
      [`token-${CHAIN}-${tokens.eth}`, 0.75, 'push_feed', 0.85],
      [`token-${CHAIN}-${tokens.usd}`, 0.25, 'push_feed', 0.85],
    ]);
    await confirm(vault);
  });

  test('of Euler lend against the assets of their collateral vaults', async () => {
    const { vaults, tokens } = deployed;
    const vault = await vaultThat('the collaterals are read', 'real-credit', vaults.credit, hasExposures);
    assert.deepEqual(exposures(vault).map(({ id, lltv }) => [id, lltv]), [[`token-${CHAIN}-${tokens.eth}`, 0.85]]);
    // 5 % on 60 %, less a tenth.
    assert.deepEqual([vault.utilization, vault.base_apr.toFixed(4)], [0.6, '0.0270']);
    assert.deepEqual(vault.score_provenance.inputs.control.signers.value, { threshold: 3, owners: 5 });
    await confirm(vault);
  });

  test('of Yearn hold other vaults, until a strategy is not listed', async () => {
    const { vaults, tokens, sender } = deployed;
    const vault = await vaultThat('the strategies are read', 'real-strategies', vaults.strategies, hasExposures);
    const found = exposures(vault).map(({ id, share }) => [id, share]).toSorted((a, b) => b[1] - a[1]);
    assert.equal(found.length, 2);
    assert.match(found[0][0], new RegExp(idOf('real-vaults', vaults.plain)));
    assert.deepEqual([found[0][1], found[1]], [0.7, [`token-${CHAIN}-${tokens.usd}`, 0.3]]);
    await confirm(vault);
    await sender.sendOwn('StrategyVault', vaults.strategies, 'invest(address,uint256,bool)', vaults.request, 1_000_000n, 0);
    await deployed.world.finalize();
    const after = await vaultThat('the exposures end', 'real-strategies', vaults.strategies, (it) => !hasExposures(it));
    assert.deepEqual(exposures(after), []);
    await confirm(after);
  });

  test('that redeem by request only say so', async () => {
    const vault = await vaultThat('the exit is read', 'real-requests', deployed.vaults.request, ({ score_provenance: provenance }) => provenance?.inputs.control.exit.value === 'gated');
    await confirm(vault);
  });

  test('are as weakly controlled as the published timelock and Safe allow', async () => {
    const vault = await vaultThat('control is read', 'real-vaults', deployed.vaults.plain, ({ score_provenance: provenance }) => provenance?.inputs.control.timelock_seconds.value === 172_800);
    assert.deepEqual(vault.score_provenance.inputs.control.signers.value, { threshold: 3, owners: 5 });
    await confirm(vault);
  });

  test('have the holders whose balances are the supply', async () => {
    const { vaults, sender } = deployed;
    const target = `${stack.edge}/v1/vault/devnet/${vaults.plain}/holders`;
    const holders = await until('the holders are read', PATIENCE, async () => {
      const answer = await fetch(target, { headers: { authorization: `Bearer ${stack.keys.data}` } });
      const { data } = await answer.json();
      return data?.top_holders?.length > 0 ? data : undefined;
    });
    const found = Object.fromEntries(holders.top_holders.map(({ address, balance_raw: balance }) => [address.toLowerCase(), balance]));
    assert.deepEqual(found, { [sender.admin]: '1000000000000000000000000', [vaults.strategies]: '700000000000000000000000' });
    assert.equal(holders.coverage_status, 'complete');
  });

  test('take prices from feeds that are served with their answers', async () => {
    const { feeds } = deployed;
    const rows = (await served('/v1/oracle')).filter(({ chain_id: id }) => id === CHAIN);
    const feed = rows.find(({ address }) => address === feeds.eth);
    assert.deepEqual(
      [feed.asset, feed.quote, feed.last_answer, feed.heartbeat_seconds],
      ['WETH', 'USD', '3000', 604_800],
    );
    // This contract only has a function without a time, so nobody can say how old its answer is.
    assert.equal(rows.find(({ address }) => address === feeds.aggregator).last_answer, null);
  });
});
