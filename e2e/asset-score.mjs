// An asset's score worked out again by somebody who has only what is published: the methodology's tables and the detail. In whole
// hundred-thousandths of a point: the weighted sum, then every overlay that the facts call for, in the methodology's order.
//
// It holds no weight, cap, threshold or cadence of its own.

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';

/** Hundred-thousandths of a point. */
const UNIT = 100_000;
const units = (points) => Math.round(points * UNIT);

/** Scores are of a run that is at most an hour old, of facts that are as of the hour before. */
const RUNS_EVERY_HOURS = 2;

/** What `/v1/methodology` says of assets, ready to be asked. */
export class AssetThirdParty {
  constructor(methodology) {
    this.rules = methodology.asset;
    this.tiers = methodology.tiers;
    this.overlays = Object.fromEntries(this.rules.overlays.map(({ id, kind, rule }) => [id, { kind, rule }]));
  }

  /** `{weights, weighted_sum, overlays_applied, score, tier}` of a keyed detail with evidence older than so many cadences; null is unscored. */
  recompute(detail, olderThan) {
    const { weights } = this.rules.categories[detail.category];
    const missing = Object.entries(weights).filter(([name]) => detail.dimensions[name] === null);
    const lost = missing.reduce((sum, [, weight]) => sum + Math.round(weight * 100), 0);
    if (Object.keys(weights).length === 0 || lost > Math.round(this.rules.max_missing_weight * 100)) return null;
    const counts = (name) => detail.dimensions[name] ?? this.rules.missing_evidence;
    const weighted = Object.entries(weights).reduce((sum, [name, weight]) => sum + Math.round(weight * 100) * Math.round(counts(name) * 1_000), 0);
    const overlays = [];
    let running = weighted;
    for (const { id, kind, result } of this.results(detail, olderThan)) {
      const after = Math.max(0, result(running));
      if (after >= running) continue;
      overlays.push({ id, kind, before: running / UNIT, after: after / UNIT });
      running = after;
    }
    const score = times(running, 1, 1_000) / 100;
    return { weights, weighted_sum: weighted / UNIT, overlays_applied: overlays, score, tier: this.tiers.find(({ from }) => score >= from).tier };
  }

  /** Every overlay that the facts call for, in the order of the table, each with what it makes of a running score. */
  * results(detail, olderThan) {
    for (const { id, kind, rule } of this.rules.overlays) {
      const cap = (name, points) => ({ id: name, kind, result: () => units(points) });
      switch (id) {
        case 'lockup':
          if (detail.risk_overlays.includes('lockup')) {
            const days = lockedFor(detail);
            const { less } = rule.less_by_days.find(({ up_to_days: to }) => to === null || days <= to);
            yield { id, kind, result: (running) => running - units(less) };
          }
          break;
        case 'yield-bearing':
          if (detail.underlying_asset !== null) {
            yield cap(id, (detail.underlying_asset.risk_score ?? this.rules.unscored_counts) - rule.below_underlying);
          }
          break;
        case 'dependency':
          for (const { slug, risk_score: score } of detail.dependency_chain) {
            yield cap(`dependency:${slug}`, (score ?? this.rules.unscored_counts) + rule.above_dependency);
          }
          break;
        case 'chain': {
          const { flags } = detail.risk_score_breakdown ?? { flags: [] };
          const profile = detail.chain_overlay ?? (flags.includes('chain_unprofiled') ? {} : null);
          if (profile !== null) {
            const sum = rule.sub_scores.reduce((all, name) => all + Math.round((profile[name] ?? this.rules.missing_evidence) * 1_000), 0);
            const multiplier = Math.round(rule.floor * 1e6) + times(sum, rule.gain_ppm.numerator, rule.gain_ppm.denominator);
            yield { id, kind, result: (running) => times(running, multiplier, 1_000_000) };
          }
          break;
        }
        case 'staleness':
          if (olderThan >= 1) yield { id, kind, result: (running) => times(running, rule.factor.numerator, rule.factor.denominator) };
          break;
        case 'staleness:cap': {
          const step = rule.older_than_cadences.find(({ cadences }) => olderThan >= cadences);
          if (step) yield cap(id, step.cap);
          break;
        }
        case 'review':
          yield cap(`review:${detail.review_status}`, rule.caps[detail.review_status]);
          break;
        case 'hard_fail':
          for (const flag of Object.keys(rule.flags).filter((name) => detail.hard_fail_flags.includes(name))) {
            yield cap(`hard_fail:${flag}`, rule.flags[flag].cap);
          }
          break;
        default:
          throw new Error(`nobody said what ${id} means`);
      }
    }
  }

  /** How many cadences the evidence may have been older than when it was scored: as now, or before it crossed a bound since. */
  ages({ category, institutional, freshness }) {
    const cadence = this.rules.attestation_cadence_seconds[institutional.attestation_cadence] ?? this.rules.categories[category].cadence_seconds;
    const told = this.rules.freshness.findIndex(({ status }) => status === freshness.status);
    const bound = told < 0 ? this.rules.freshness.length : told;
    const now = bound === 0 ? 0 : this.rules.freshness[bound - 1].up_to_cadences;
    return [...new Set([now, this.olderThan((freshness.age_hours - RUNS_EVERY_HOURS) * 3_600, cadence)])];
  }

  /** The most cadences of those that matter which so many seconds exceed; 0 for none. */
  olderThan(seconds, cadence) {
    const bounds = this.rules.freshness.map(({ up_to_cadences: cadences }) => cadences);
    return Math.max(0, ...bounds.filter((cadences) => seconds > cadences * cadence));
  }

  /** Where a keyed detail and its recomputation differ; empty when the score is what its inputs make it. */
  differences(detail) {
    const told = detail.risk_score_breakdown;
    const published = told && {
      weights: told.weights, weighted_sum: told.weighted_sum, overlays_applied: told.overlays_applied.map(({ reason: _, ...overlay }) => overlay),
      score: told.score, tier: told.tier,
    };
    const possible = this.ages(detail).map((olderThan) => this.recompute(detail, olderThan));
    if (possible.some((one) => isDeepStrictEqual(one, published))) return [];
    return [`${detail.slug}: ${JSON.stringify(published)} is published, ${possible.map((one) => JSON.stringify(one)).join(' or ')} follows`];
  }
}

/** Days that a holder waits: told in words alone, in the reason of the overlay. */
function lockedFor(detail) {
  const reason = detail.risk_score_breakdown?.overlays_applied.find(({ id }) => id === 'lockup')?.reason ?? 'none is told';
  const days = Number(reason.match(/^exit locked for (\d+) days?$/)?.[1]);
  assert.ok(days > 0, `${detail.slug} is locked: ${reason}`);
  return days;
}

/** `value` times `factor` over `of`, rounded half to even. */
function times(value, factor, of) {
  const [product, divisor] = [BigInt(value) * BigInt(factor), BigInt(of)];
  const [whole, rest] = [product / divisor, (product % divisor) * 2n];
  return Number(rest > divisor || (rest === divisor && whole % 2n === 1n) ? whole + 1n : whole);
}
