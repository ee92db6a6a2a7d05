// The golden vectors of the independent evaluator, converted to the published form that the recomputation reads.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Converts an evaluator's vault input to the form that a vault detail publishes. */
export function asPublished(input) {
  const given = (value) => ({ value: value ?? null, source: null, observed_at: null });
  const points = (milli) => (milli === null || milli === undefined ? null : milli / 1_000);
  const part = (units, scale) => (units === null || units === undefined ? null : units / scale);
  const { platform, control, history } = input;
  const signers = Array.isArray(control.signers) ? { threshold: control.signers[0], owners: control.signers[1] } : control.signers;
  return {
    asset: {
      asset_mode: input.asset_mode,
      deposit_score: given(points(input.deposit_score)),
      deposit_hard_fail: given(input.deposit_hard_fail ?? false),
      exposures_status: given(input.exposures_status ?? 'observed'),
      exposures: (input.exposures ?? []).map((one) => ({
        id: one.id, share: one.share_ppm / 1_000_000, score: points(one.score), hard_fail_cap: points(one.hard_fail_cap),
        oracle: one.oracle ?? 'none', lltv: part(one.lltv_bp, 10_000), same_peg: one.same_peg ?? false,
      })),
    },
    platform: Object.fromEntries(
      ['version_age_days', 'audits', 'newest_audit_days', 'bounty_usd', 'strategy', 'protocol_tvl_usd', 'worst_dependency', 'dependencies']
        .map((name) => [name, given(platform?.[name] ?? { worst_dependency: 'unknown', dependencies: 0 }[name])])),
    control: { timelock_seconds: given(control.timelock), signers: given(signers), exit: given(control.exit), source: given(control.source) },
    history: {
      vault_age_days: given(history.vault_age_days),
      incidents: history.incidents ?? [],
      drawdown: given(part(history.drawdown_bp, 10_000)),
      high_util_72h: given(history.high_util_72h ?? false),
      tvl_halved_7d: given(history.tvl_halved_7d ?? false),
    },
    caps: {
      tvl_usd: given(input.tvl_usd),
      utilization: given(part(input.utilization_ppm, 1_000_000)),
      bad_debt: given(part(input.bad_debt_ppm, 1_000_000)),
      needs_risk_review: given(input.needs_risk_review ?? false),
    },
  };
}

const read = (folder, name) => readFileSync(join(folder, `${name}.jsonl`), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** Converts an evaluator's asset input to the form that an asset detail publishes. */
function asDetail(input) {
  const points = (milli) => (milli === null || milli === undefined ? null : milli / 1_000);
  const names = ['bridge_centralization', 'sequencer_centralization', 'validator_set_size_score', 'chain_age_score'];
  const isProfiled = input.chain?.some((milli) => milli !== null);
  const lockup = { id: 'lockup', reason: `exit locked for ${input.lockup_days} days` };
  return {
    slug: input.category,
    category: input.category,
    dimensions: new Proxy({}, { get: (_, name) => points(input.dimensions[name]) }),
    risk_overlays: input.lockup_days ? ['lockup'] : [],
    risk_score_breakdown: { flags: input.chain && !isProfiled ? ['chain_unprofiled'] : [], overlays_applied: [lockup] },
    underlying_asset: 'underlying' in input ? { risk_score: points(input.underlying) } : null,
    dependency_chain: (input.dependencies ?? []).map(([slug, milli]) => ({ slug, risk_score: points(milli) })),
    chain_overlay: isProfiled ? Object.fromEntries(names.map((name, at) => [name, points(input.chain[at])])) : null,
    review_status: input.review_status ?? 'reviewed',
    hard_fail_flags: input.hard_fail_flags ?? [],
  };
}

/** Recomputes every asset vector in the folder; returns their number and the differences. */
export function goldenAssets(thirdParty, folder) {
  const vectors = ['assets', 'random_assets'].flatMap((name) => read(folder, name));
  const differences = vectors.flatMap(({ name, in: input, out }) => {
    const cadence = input.cadence_seconds ?? 1;
    const found = thirdParty.recompute(asDetail(input), thirdParty.olderThan(input.age_seconds ?? 0, cadence));
    const expected = out.score === null ? null : {
      weighted_sum: out.weighted_sum / 100_000,
      overlays_applied: out.overlays.map(([id, kind, before, after]) => ({ id, kind, before: before / 100_000, after: after / 100_000 })),
      score: out.score / 1_000,
      tier: out.tier,
    };
    const { weights: _, ...arrived } = found ?? {};
    const same = JSON.stringify(expected) === JSON.stringify(found && arrived);
    return same ? [] : [`${name}: ${JSON.stringify(expected)} is golden, recomputed ${JSON.stringify(found && arrived)}`];
  });
  return { checked: vectors.length, differences };
}

/** Recomputes every vault vector in the folder; returns their number and the differences. */
export function golden(thirdParty, folder) {
  const vectors = ['vaults', 'random_vaults'].flatMap((name) => read(folder, name));
  const points = (milli) => (milli === null ? null : milli / 1_000);
  const differences = vectors.flatMap(({ name, in: input, out }) => {
    const expected = {
      vectors: Object.fromEntries(['asset', 'platform', 'control', 'history'].map((key) => [key, points(out.vectors[key])])),
      weighted_sum: out.weighted_sum === null ? null : out.weighted_sum / 100_000,
      caps: out.caps.map(([id, milli, binding]) => ({ id, value: points(milli), binding })),
      raw_score: points(out.score),
      tier: out.tier,
    };
    const found = thirdParty.recompute(asPublished(input));
    return Object.keys(expected)
      .filter((key) => JSON.stringify(expected[key]) !== JSON.stringify(found[key]))
      .map((key) => `${name} ${key}: ${JSON.stringify(expected[key])} is golden, recomputed ${JSON.stringify(found[key])}`);
  });
  return { checked: vectors.length, differences };
}
