// Recomputes an asset's score from published data alone: the methodology's tables and the asset's detail. The values of the dimensions follow
// from the published answers, except where the breakdown says that a review states a number. It computes the weighted sum, then every overlay
// that applies, in the methodology's order, in integers of 0.00001 points.
//
// Every weight, cap, threshold and cadence comes from the methodology.

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { Rubric } from './rubric.mjs';

/** Integer units per point. */
const UNIT = 100_000;
const units = (points) => Math.round(points * UNIT);

/** Upper bound on how much older the facts of a score are than now: the run is at most an hour old, and its facts are as of the hour before. */
const MAX_RUN_AGE_HOURS = 2;

/** The asset rules of `/v1/methodology`. */
export class AssetThirdParty {
  constructor(methodology) {
    this.rules = methodology.asset;
    this.tiers = methodology.tiers;
    this.rubric = new Rubric(methodology.rubric);
    this.overlays = Object.fromEntries(this.rules.overlays.map(({ id, kind, rule }) => [id, { kind, rule }]));
  }

  /** What the answers say at `now`: the detail with the dimensions that follow, the supply limit, and the age of the answers. */
  answered(detail, now) {
    const answers = detail.answers?.answers ?? [];
    const { weights } = this.rules.categories[detail.category];
    const dimensions = Object.fromEntries(Object.keys(weights).map((name) => [name, this.rubric.dimension(name, answers, now)]));
    const basis = (name) => detail.risk_score_breakdown?.dimension_basis?.[name] ?? (answers.length > 0 ? 'answers' : 'review');
    const isNumber = (name) => detail.dimensions[name] !== null && ['review', 'signed_review'].includes(basis(name));
    const values = (field) => Object.fromEntries(Object.entries(dimensions).map(([name, one]) => {
      if (isNumber(name)) return [name, detail.dimensions[name]];
      const counts = one.value ?? Math.round(this.rules.missing_evidence * 100);
      const value = { value: one.value, lowest: Math.min(counts, one.lowest), highest: Math.max(counts, one.highest) }[field];
      return [name, value === null ? null : value / 100];
    }));
    const names = Object.keys(weights);
    const supply = this.rubric.supply(detail.category, answers, now);
    const isSigned = names.some((name) => basis(name) === 'signed_review');
    const with_ = (field, limit) => ({ ...detail, dimensions: { ...detail.dimensions, ...values(field) }, supply: limit === undefined || limit >= 1_000 ? null : limit / 100 });
    return {
      now: with_('value', isSigned ? supply?.highest : supply?.limit),
      lowest: with_('lowest', supply?.lowest),
      highest: with_('highest', supply?.highest),
      refresh: names.some(isNumber) ? null : this.rubric.refresh(weights, dimensions, now),
    };
  }

  /** Recomputes `{weights, weighted_sum, overlays_applied, score, tier}` of a keyed detail with evidence older than `olderThan` cadences; null if unscored. */
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

  /** Every overlay that applies, in the table's order, with a function from the running score to the result. */
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
          const profile = detail.chain_overlay ?? (isUnprofiled(detail) ? {} : null);
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
        case 'supply':
          if ((detail.supply ?? null) !== null) yield cap(id, detail.supply);
          break;
        case 'hard_fail':
          for (const flag of Object.keys(rule.flags).filter((name) => detail.hard_fail_flags.includes(name))) {
            yield cap(`hard_fail:${flag}`, rule.flags[flag].cap);
          }
          break;
        default:
          throw new Error(`unknown overlay ${id}`);
      }
    }
  }

  /** Possible `olderThan` values at scoring time: the current value, and the previous one if the age may have crossed a bound since. */
  ages({ category, institutional, freshness }, refresh) {
    const cadence = refresh?.cadence ?? this.rules.attestation_cadence_seconds[institutional.attestation_cadence] ?? this.rules.categories[category].cadence_seconds;
    const index = this.rules.freshness.findIndex(({ status }) => status === freshness.status);
    const bound = index < 0 ? this.rules.freshness.length : index;
    const now = bound === 0 ? 0 : this.rules.freshness[bound - 1].up_to_cadences;
    return [...new Set([now, this.olderThan((freshness.age_hours - MAX_RUN_AGE_HOURS) * 3_600, cadence)])];
  }

  /** The largest bound, in cadences, that `seconds` exceeds; 0 if it exceeds none. */
  olderThan(seconds, cadence) {
    const bounds = this.rules.freshness.map(({ up_to_cadences: cadences }) => cadences);
    return Math.max(0, ...bounds.filter((cadences) => seconds > cadences * cadence));
  }

  /** The differences between a keyed detail, read at `now`, and its recomputation; empty if they agree. */
  differences(detail, now = Date.now()) {
    const answered = this.answered(detail, now);
    const dimensions = Object.keys(this.rules.categories[detail.category].weights)
      .filter((name) => detail.dimensions[name] !== answered.now.dimensions[name])
      .map((name) => `${detail.slug} ${name}: ${detail.dimensions[name]} is published, the answers give ${answered.now.dimensions[name]}`);
    const breakdown = detail.risk_score_breakdown;
    const published = breakdown && {
      weights: breakdown.weights, weighted_sum: breakdown.weighted_sum,
      overlays_applied: breakdown.overlays_applied.map(({ reason: _, ...overlay }) => overlay), score: breakdown.score, tier: breakdown.tier,
    };
    const ages = this.ages(detail, answered.refresh);
    const possible = ages.map((olderThan) => this.recompute(answered.now, olderThan));
    // Only a breakdown says whether an asset is on a chain without a profile. Without one, both are possible.
    const chains = breakdown ? [{}] : [{ unprofiled: false }, { unprofiled: true }];
    const ranges = ages.flatMap((olderThan) => chains.map((chain) =>
      [answered.lowest, answered.highest].map((extreme) => this.recompute({ ...extreme, ...chain }, olderThan)?.score ?? null)));
    const shown = [detail.lowest_score, detail.highest_score];
    const hasWeights = Object.keys(this.rules.categories[detail.category].weights).length > 0;
    if (hasWeights && typeof shown[0] === 'number' && !ranges.some((range) => isDeepStrictEqual(range, shown))) {
      dimensions.push(`${detail.slug}: the range ${shown} is published, recomputed ${ranges.join(' or ')}`);
    }
    if (possible.some((one) => isDeepStrictEqual(one, published))) return dimensions;
    return [...dimensions, `${detail.slug}: ${JSON.stringify(published)} is published, recomputed ${possible.map((one) => JSON.stringify(one)).join(' or ')}`];
  }
}

/** Whether the asset is on a chain without a profile, which counts as a chain about which nothing is known. */
const isUnprofiled = ({ unprofiled, risk_score_breakdown: breakdown }) =>
  unprofiled ?? breakdown?.flags.includes('chain_unprofiled') ?? false;

/** Lock-up in days, which only the overlay's reason states. */
function lockedFor(detail) {
  const reason = detail.risk_score_breakdown?.overlays_applied.find(({ id }) => id === 'lockup')?.reason ?? 'no reason given';
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
