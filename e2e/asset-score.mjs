// An asset's score worked out again by somebody who has only what the detail route publishes, in whole hundred-thousandths of a
// point: the weighted sum, then every overlay that the published facts call for, in the methodology's order.

import assert from 'node:assert/strict';

/** Hundred-thousandths of a point. */
const UNIT = 100_000;
const units = (points) => Math.round(points * UNIT);

const LOCKUP = [[7, 0.5], [30, 1], [Infinity, 1.5]];
const REVIEW = { reviewed: 10, provisional: 7.9, unreviewed: 4.9 };
const STALENESS_CAPS = { stale: 7.9, expired: 4.9 };
/** From the lowest cap on: the order in which flags apply. */
const HARD_FAIL = {
  sanctions_exposure: 0, active_exploit: 1, issuer_default: 1, mint_key_compromise: 1, depeg_severe: 2, redemption_suspended: 3,
  bridge_halted: 3, unverified_contract: 3, eoa_mint_authority: 4, depeg_active: 4.9, attestation_overdue: 6,
};
/** What an unscored underlying or dependency counts, and a chain's sub-score that nobody knows. */
const UNSCORED = 3;
const NO_EVIDENCE = 2.5;
/** Scores are of a run that is at most an hour old, of facts that are as of the hour before. */
const RUNS_EVERY_HOURS = 2;
/** Their evidence is on chain, and a week old at most where nobody attests anything. */
const ON_CHAIN = ['native', 'cdp_stablecoin', 'synthetic_stablecoin', 'lst', 'lrt', 'wrapped_btc', 'wrapped_crypto', 'governance_token', 'defi_derivative'];
const BOUNDS = [['fresh', 1], ['aging', 2], ['stale', 4], ['expired', Infinity]];
const CADENCE_HOURS = { daily: 24, weekly: 168, monthly: 744, quarterly: 2_208, 'semi-annual': 4_416, annual: 8_784 };
const SUB_SCORES = ['bridge_centralization', 'sequencer_centralization', 'validator_set_size_score', 'chain_age_score'];

/** `{weighted_sum, overlays_applied, score}` of a keyed detail whose evidence is `status`, as its breakdown has to tell them. */
export function recomputed(detail, status) {
  const { weights, dimensions, flags } = detail.risk_score_breakdown;
  const weighted = Object.entries(weights).reduce((sum, [name, weight]) => sum + Math.round(weight * 100) * Math.round((dimensions[name] ?? NO_EVIDENCE) * 1_000), 0);
  const overlays = [];
  let running = weighted;
  const lower = (id, kind, reason, result) => {
    if (result >= running) return;
    overlays.push({ id, kind, before: running / UNIT, after: result / UNIT, reason });
    running = result;
  };
  const cap = (id, points, reason) => lower(id, 'cap', reason, units(Math.min(Math.max(points, 0), 10)));

  if (detail.risk_overlays.includes('lockup')) {
    const reason = detail.risk_score_breakdown.overlays_applied.find(({ id }) => id === 'lockup')?.reason ?? 'none is told';
    const days = Number(reason.match(/^exit locked for (\d+) days?$/)?.[1]);
    assert.ok(days > 0, `${detail.slug} is locked: ${reason}`);
    const [, loss] = LOCKUP.find(([longest]) => days <= longest);
    lower('lockup', 'subtract', reason, Math.max(running - units(loss), 0));
  }
  if (detail.underlying_asset !== null) cap('yield-bearing', (detail.underlying_asset.risk_score ?? UNSCORED) - 0.25, 'bounded by its underlying');
  for (const { slug, risk_score: score } of detail.dependency_chain) cap(`dependency:${slug}`, (score ?? UNSCORED) + 1, `bounded by dependency ${slug}`);
  const profile = detail.chain_overlay ?? (flags.includes('chain_unprofiled') ? {} : null);
  if (profile !== null) lower('chain', 'multiply', 'chain profile', times(running, multiplier(profile), 1_000_000));
  if (status !== 'fresh') lower('staleness', 'multiply', 'evidence older than its cadence', times(running, 97, 100));
  if (status in STALENESS_CAPS) cap('staleness:cap', STALENESS_CAPS[status], 'evidence much older than its cadence');
  cap(`review:${detail.review_status}`, REVIEW[detail.review_status], detail.review_status === 'provisional' ? 'provisionally reviewed' : 'not reviewed');
  for (const flag of Object.keys(HARD_FAIL).filter((name) => detail.hard_fail_flags.includes(name))) {
    const told = detail.risk_score_breakdown.overlays_applied.find(({ id }) => id === `hard_fail:${flag}`);
    cap(`hard_fail:${flag}`, HARD_FAIL[flag], told?.reason);
  }
  return { weighted_sum: weighted / UNIT, overlays_applied: overlays, score: times(running, 1, 1_000) / 100 };
}

/** How old the evidence may have been when it was scored: as it is now, or before it crossed a bound since the last run. */
export function standings({ category, institutional, freshness }) {
  const cadence = CADENCE_HOURS[institutional.attestation_cadence] ?? (ON_CHAIN.includes(category) ? 168 : 744);
  const named = (hours) => BOUNDS.find(([, cadences]) => hours <= cadences * cadence)[0];
  return [...new Set([freshness.status, named(freshness.age_hours - RUNS_EVERY_HOURS)])];
}

/** Of a chain, in parts per million: 0.85 where every sub-score is 0, 1 where every one is 10. */
function multiplier(profile) {
  const total = SUB_SCORES.reduce((sum, name) => sum + Math.round((profile[name] ?? NO_EVIDENCE) * 1_000), 0);
  return 850_000 + times(total, 15, 4);
}

/** `value` times `factor` over `of`, rounded half to even. */
function times(value, factor, of) {
  const [product, divisor] = [BigInt(value) * BigInt(factor), BigInt(of)];
  const [whole, rest] = [product / divisor, (product % divisor) * 2n];
  return Number(rest > divisor || (rest === divisor && whole % 2n === 1n) ? whole + 1n : whole);
}
