// The imported public data sets: real vaults, with null for every value that no source provides.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { StrategyInfo } from './holdings-fields.mjs';
import * as fields from './interface-fields.mjs';
import { MarketPage } from './market-fields.mjs';
import { ThirdParty, differences } from './recompute.mjs';
import { repository, up } from './private-stack.mjs';
import { faults } from './shape.mjs';

const DATA = process.env.RDS_DATA ?? join(repository, '..', 'shared', 'data');
const skip = existsSync(join(DATA, 'vaults.jsonl.gz')) ? false : `no data sets at ${DATA}; set RDS_DATA to their folder`;

describe('the public data sets', { skip }, () => {
  let stack;

  before(async () => {
    stack = await up('--data', DATA, '--test-clock');
  }, { timeout: 400_000 });
  after(() => stack?.stop());

  const total = async (query) => (await stack.ok(`/v1/vaults?limit=1&${query}`)).json.meta.total;
  const first = async (query) => (await stack.ok(`/v1/vaults?limit=1&${query}`)).json.data[0];
  const vaults = (query) => stack.pages(`/v1/vaults?${query}`);
  /** All pages; beyond the first 200 rows a key is required. */
  const allVaults = async (query) => {
    const headers = { authorization: `Bearer ${stack.keys.data}` };
    const page = async (number) => (await stack.ok(`/v1/vaults?limit=100&${query}&page=${number}`, { headers })).json;
    const { data, meta } = await page(1);
    for (let number = 2; number <= meta.totalPages; number += 1) data.push(...(await page(number)).data);
    return data;
  };
  const detail = async (row) => (await stack.ok(`/v1/vaults/${row.id}`)).json.data;

  test('contain thousands of vaults on nineteen chains', async () => {
    const chains = (await stack.ok('/v1/chains')).json.data;
    assert.equal(chains.length, 19);
    const count = await total('');
    assert.equal(count, 6238);
    assert.equal(chains.reduce((sum, chain) => sum + chain.vault_count, 0), count);
    for (const chain of chains) {
      assert.equal(await total(`chain=${chain.slug}`), chain.vault_count, chain.slug);
      assert.equal(await total(`chain=${chain.chain_id}`), chain.vault_count, chain.slug);
    }
  });

  test('have every field of the interface in each row', async () => {
    for (const row of await vaults('chain=ethereum')) assert.deepEqual(faults(fields.VaultRow, row, row.id), []);
  });

  test('have null or unknown for values that no source provides', async () => {
    for (const row of await vaults('')) {
      for (const name of ['apr_net', 'base_apr', 'utilization', 'borrow_apr', 'active_loans_usd', 'available_liquidity_usd', 'deposit_capacity_usd', 'curator_name']) {
        assert.equal(row[name], null, `${row.id} ${name}`);
      }
      assert.deepEqual([row.deposit_status, row.withdraw_status, row.liquidity_status], ['unknown', 'unknown', 'unknown'], row.id);
    }
  });

  test('have scores for at least 3,207 vaults, all of protocols with known audits', async () => {
    const scored = await total('minRiskScore=0');
    assert.ok(scored >= 3207, `${scored}`);
    for (const row of (await vaults('minRiskScore=0')).slice(0, 40)) {
      const { vault } = await detail(row);
      assert.equal(vault.score_status, 'scored');
      const { audits } = vault.score_provenance.inputs.platform;
      assert.ok(audits.value >= 1 && audits.source.length > 0 && audits.observed_at, row.id);
      const unknownExposures = vault.score_provenance.flags.includes('exposures_unavailable');
      assert.equal(vault.score_basis === 'assumed', unknownExposures, row.id);
      assert.ok(vault.lowest_score <= vault.total_score && vault.total_score <= vault.highest_score, row.id);
    }
  });

  test('cite a source that can be opened behind every answer', async () => {
    for (const row of (await vaults('minRiskScore=0&sort=total_score')).slice(0, 40)) {
      const { vault } = await detail(row);
      const { exposures, answers } = vault.score_evidence;
      assert.ok(answers.length > 0, row.id);
      for (const cited of exposures === null ? answers : [exposures, ...answers]) {
        assert.match(cited.source_url, /^https:\/\/[^/]+/, row.id);
        assert.ok(cited.source_title.length > 0 && cited.as_of.length > 0, row.id);
      }
    }
  });

  // All vaults are recomputed in origin/tests/it/scoring/methodology.rs.
  test('let a third party recompute scores from the methodology and the details alone', async () => {
    const thirdParty = new ThirdParty((await stack.ok('/v1/methodology')).json.data);
    const all = (await allVaults('minRiskScore=0')).filter((row) => row.total_score !== null);
    const scored = all.filter((row, number) => row.score_basis !== 'assumed' || number % 8 === 0);
    assert.ok(scored.length >= 500, `${scored.length}`);
    const wrong = [];
    for (let from = 0; from < scored.length; from += 20) {
      const details = await Promise.all(scored.slice(from, from + 20).map(detail));
      for (const { vault } of details) wrong.push(...differences(thirdParty, vault));
    }
    assert.deepEqual(wrong, []);
  });

  test('do not suffice to backtest scores against prices, and the reports say so', async () => {
    const list = async (name) => (await stack.ok(`/v1/research/${name}?limit=100`)).json.data;
    const discrimination = (await list('validation-reports')).find((report) => report.report_type === 'discrimination');
    const tested = discrimination.backtests.filter((one) => one.signal === 'published_score');
    assert.ok(tested.length === 6 && tested.every((one) => one.unmet.length > 0));
    assert.deepEqual(await list('predictions'), []);
    // All prices are of one protocol, and most equal the previous price, so there are too few losses for a verdict.
    const of = (horizon) => discrimination.backtests.find(
      (one) => one.signal === 'history_vector' && one.outcome === 'price_loss' && one.horizon === horizon);
    assert.deepEqual(
      ['7d', '30d', '90d'].map((horizon) => [of(horizon).samples, of(horizon).losses, of(horizon).unmet]),
      [
        [843, 1, ['too_few_losses', 'too_few_loss_groups']],
        [910, 6, ['too_few_losses', 'too_few_loss_groups']],
        [513, 5, ['too_few_losses', 'too_few_loss_groups']],
      ]);
    const { data: shown, meta } = (await stack.ok('/v1/research/backtests')).json;
    assert.deepEqual(shown.map(({ outcome }) => outcome).filter((outcome) => outcome === 'price_loss'), []);
    assert.ok(shown.length > 0 || meta.notice.includes('No row is published yet'), meta.notice);
    const coverage = (await list('model-health')).find(({ name }) => name === 'exposure_coverage');
    assert.ok(coverage.count > 0 && coverage.count < coverage.of / 10, 'rules derive the exposures of few vaults');
  });

  test('leave the others unscored, with null for the missing inputs', async () => {
    const unscored = (await vaults('sortBy=total_score&sortOrder=asc&protocol=harvest-finance')).filter((row) => row.total_score === null);
    assert.ok(unscored.length > 0);
    for (const row of unscored.slice(0, 40)) {
      const { vault } = await detail(row);
      assert.deepEqual([vault.score_status, vault.total_score, vault.risk_tier], ['unscored', null, null]);
      assert.ok(vault.score_provenance.missing.length > 0, row.id);
      assert.equal(vault.score_basis, 'missing', row.id);
    }
  });

  test('mark a lower bound as such in the source of its input', async () => {
    const sources = [];
    for (const row of await vaults('protocol=beefy&minRiskScore=0')) {
      sources.push((await detail(row)).vault.score_provenance.inputs.platform.version_age_days.source);
    }
    assert.ok(sources.some((source) => /lower bound/i.test(source)), [...new Set(sources)].join('; '));
  });

  test('find a vault by any case of its address, and refuse an address of another chain', async () => {
    const row = await first('chain=ethereum');
    const upperCase = `0x${row.address.slice(2).toUpperCase()}`;
    assert.equal((await stack.ok(`/v1/vault/ethereum/${upperCase}`)).json.data.vault.id, row.id);
    expectError(await stack.get(`/v1/vault/base/${row.address}`), 404, 'NOT_FOUND');
    expectError(await stack.get(`/v1/vault/solana/${row.address}`), 400, 'ADDRESS_NAMESPACE_MISMATCH');
  });

  test('have unavailable holders and allocations, and the known fields of a strategy', async () => {
    const at = async (row, route) => (await stack.ok(`/v1/vault/${row.chain_id}/${row.address}/${route}`)).json.data;
    const [allocator, compounder] = [await first('protocol=yearn'), await first('protocol=beefy')];
    assert.deepEqual([(await at(allocator, 'holders')).status, (await at(allocator, 'strategies')).status], ['unavailable', 'unavailable']);
    const strategy = await at(compounder, 'strategy');
    assert.deepEqual(faults(StrategyInfo, strategy), []);
    assert.deepEqual([strategy.status, strategy.is_active, strategy.apr, strategy.apy], ['observed', true, null, null]);
    assert.ok(strategy.yield_sources.length > 0 && strategy.strategy_type.length > 0);
  });

  test('contain lending markets with unknown totals, and oracle feeds with unknown heartbeats', async () => {
    const markets = await stack.pages('/v1/markets');
    assert.equal(markets.length, 47);
    for (const market of markets) {
      const { total_supplied_usd: supplied, total_borrowed_usd: borrowed, utilization, supplied_observed_count: read } = market;
      assert.deepEqual([supplied, borrowed, utilization, read], [0, null, null, 0], market.id);
    }
    const { reserves, emodes, signer_sets: administrators } = (await stack.ok('/v1/markets/aave-v3-ethereum-main')).json.data;
    assert.ok(reserves.length > 50 && emodes.length > 0);
    const forms = administrators.map((set) => set.form).sort();
    assert.deepEqual([forms.filter((form) => form === 'multisig').length, forms.length], [13, 15]);
    for (const set of administrators) {
      assert.equal(set.delay_seconds, null, 'no source gives the delay');
      assert.equal(set.threshold === null, set.form !== 'multisig');
    }
    for (const reserve of reserves) assert.deepEqual([reserve.supplied_usd, reserve.borrow_status, reserve.is_depositable], [null, 'unknown', null]);
    const spoke = (await stack.ok('/v1/markets/aave-v4-avalanche-main')).json.data;
    assert.deepEqual(faults(MarketPage, spoke), []);
    assert.deepEqual(spoke.hubs.map((hub) => [hub.address, hub.name, hub.assets.length]), [[spoke.market.hub_address, 'core', 7]]);
    assert.equal(spoke.signer_sets.length, 1);
    assert.equal((await stack.ok('/v1/oracle?status=unknown')).json.meta.total, 1808);
    assert.equal((await stack.ok('/v1/oracle?vendor=chainlink')).json.meta.total, 1558);
  });

  test('contain symbols with a slash, each with its history', async () => {
    const symbols = (await stack.ok('/v1/assets')).json.data.map((row) => row.asset_symbol).filter((symbol) => symbol.includes('/'));
    assert.ok(symbols.length > 100, `${symbols.length}`);
    const headers = { authorization: `Bearer ${stack.keys.data}` };
    for (const symbol of symbols.slice(0, 20)) {
      const { meta } = (await stack.ok(`/v1/assets/${encodeURIComponent(symbol)}/history`, { headers })).json;
      assert.equal(meta.symbol, symbol.toUpperCase());
    }
  });

  test('contain a history that ends on the last day of the data', async () => {
    const body = JSON.stringify({ now: '2025-10-01T00:00:00.000000Z' });
    assert.equal((await stack.operate('/clock', { method: 'PUT', body, headers: { 'content-type': 'application/json' } })).status, 200);
    const rows = await allVaults('protocol=yearn');
    assert.equal(rows.length, 953);
    const [observed, historyOnly] = [rows.filter((row) => row.tvl_status === 'observed'), rows.filter((row) => row.last_synced_at < '2025-10-01')];
    assert.equal(historyOnly.length, 615, 'vaults known only from the history');
    const points = async (row) => (await stack.ok(`/v1/vault/${row.chain_id}/${row.address}/snapshots?days=365&points=2160`)).json.data;
    const sampled = [...observed.slice(0, 100), ...historyOnly.slice(0, 100)];
    const histories = (await Promise.all(sampled.map(points))).filter((history) => history.length > 0);
    assert.ok(histories.length > 110, `${histories.length} vaults have history`);
    for (const history of histories) {
      assert.deepEqual(faults(fields.SnapshotPoint, history[0]), []);
      assert.ok(history.every((point) => point.price_per_share !== null));
      assert.ok(history.at(-1).recorded_at < '2025-10-01');
    }
  });
});
