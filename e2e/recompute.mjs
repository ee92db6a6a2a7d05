// A third party that recomputes a vault's score from published data alone.
//
// It reads two responses, /v1/methodology and the vault's detail, follows the steps of the methodology, and contains no weight, cap or
// threshold itself. Inputs that rest on answers are derived from the answers. Numbers are converted to integers when read: thousandths of a
// point, parts per million, basis points.

import { ProtocolInputs } from './protocol-inputs.mjs';

const scaled = (number, scale, unit) => {
  const units = Math.round(number * scale);
  if (Math.abs(number * scale - units) > 1e-5) throw new Error(`${number} has more decimals than ${unit} allow`);
  return BigInt(units);
};
const points = (number) => scaled(number, 1_000, 'thousandths of a point');
const share = (number) => scaled(number, 1_000_000, 'parts per million');
const bp = (number) => scaled(number, 10_000, 'basis points');

/** n/d rounded half to even, for n >= 0 and d > 0. */
function round(n, d) {
  const [down, rest] = [n / d, n % d];
  if (2n * rest === d) return down + (down & 1n);
  return 2n * rest > d ? down + 1n : down;
}
/** n/d thousandths of a point, rounded to two decimals and returned in thousandths. */
const cents = (n, d) => 10n * round(n, 10n * d);
const least = (...values) => values.reduce((a, b) => (b < a ? b : a));
const greatest = (...values) => values.reduce((a, b) => (b > a ? b : a));
const clamp = (value) => greatest(0n, least(10_000n, value));

/** Recomputes scores by the rules in the response of `/v1/methodology`. */
export class ThirdParty {
  constructor(methodology) {
    this.rules = methodology.vault;
    this.tiers = methodology.tiers;
    this.decays = methodology.numbers.decay;
    this.answered = new ProtocolInputs(methodology);
  }

  /** The fraction left after `days` of decay, times 2^63. */
  decay(name, days) {
    if (days > this.decays.last_day) return 0n;
    let left = BigInt(this.decays.one);
    this.decays[name].forEach((power, k) => {
      if ((days >> k) & 1) left = (left * BigInt(power)) >> 63n;
    });
    return left;
  }

  /** `10 * (1 - decay)` points, in thousandths of a point. */
  grown(name, days) {
    const one = BigInt(this.decays.one);
    return round(10_000n * (one - this.decay(name, days)), one);
  }

  /** The sum of the parts times the weights of the same names, in parts per million times thousandths of a point. */
  weighted(weights, parts) {
    const sum = Object.values(weights).reduce((total, weight) => total + share(weight), 0n);
    if (sum !== 1_000_000n) throw new Error(`weights sum to ${sum}`);
    return Object.entries(weights).reduce((total, [name, weight]) => total + share(weight) * parts[name], 0n);
  }

  assetScore(exposure) {
    if (exposure.score !== null) return points(exposure.score);
    const unscored = points(this.rules.asset_vector.unscored_counts);
    return exposure.hard_fail_cap === null ? unscored : least(unscored, points(exposure.hard_fail_cap));
  }

  collateralScore(exposure) {
    const { oracle_caps: caps, lltv_haircuts: otherPeg, same_peg_haircuts: samePeg } = this.rules.asset_vector;
    const steps = exposure.same_peg ? samePeg : otherPeg;
    const step = exposure.lltv === null ? undefined : steps.find(({ up_to: to }) => to === null || bp(exposure.lltv) <= bp(to));
    return greatest(0n, least(this.assetScore(exposure), points(caps[exposure.oracle])) - (step ? points(step.less) : 0n));
  }

  asset(inputs) {
    const rules = this.rules.asset_vector;
    const lending = inputs.asset_mode === 'lending';
    const merged = new Map();
    const add = (id, part, counts) => {
      const [held, sum] = merged.get(id) ?? [0n, 0n];
      merged.set(id, [held + part, sum + part * counts]);
    };
    const status = inputs.exposures_status.value;
    if (status === 'unavailable') {
      add('unavailable', 1_000_000n, points(rules.unscored_counts));
    } else if (status === 'shares_unknown') {
      const members = inputs.exposures.map((one) => (lending ? this.collateralScore(one) : this.assetScore(one)));
      add('weakest', 1_000_000n, members.length > 0 ? greatest(least(...members), points(rules.unscored_counts)) : points(rules.unscored_counts));
    } else {
      for (const one of inputs.exposures) add(one.id, share(one.share), lending ? this.collateralScore(one) : this.assetScore(one));
    }
    const held = [...merged.values()].filter(([part]) => part > 0n).map(([part, sum]) => [part, round(sum, part)]);
    const total = held.reduce((sum, [part]) => sum + part, 0n);
    const sum = held.reduce((all, [part, counts]) => all + part * counts, 0n);
    if (!lending) return total > 0n ? cents(sum, total) : null;
    if (inputs.deposit_score.value === null) return null;
    const deposit = points(inputs.deposit_score.value);
    if (held.length === 0) return deposit;
    const material = held.filter(([part]) => part * 1_000_000n >= share(rules.worst_from_share) * total);
    const worst = least(...(material.length > 0 ? material : held).map(([, counts]) => counts));
    const blend = share(rules.mean_weight) * sum + share(rules.worst_weight) * worst * total;
    return least(deposit, cents(blend, 1_000_000n * total));
  }

  platform(inputs) {
    const rules = this.rules.platform;
    const [age, audits, strategy] = [inputs.version_age_days, inputs.audits, inputs.strategy].map((input) => input.value);
    if (age === null || audits === null || strategy === null) return null;
    let audited = points(rules.audits[Math.min(audits, rules.audits.length - 1)]);
    if (audits > 0) {
      if ((inputs.bounty_usd.value ?? 0) >= rules.bounty.from_usd) audited += points(rules.bounty.adds);
      const newest = inputs.newest_audit_days.value;
      if (newest === null || newest > rules.stale_audit.older_than_days) audited -= points(rules.stale_audit.less);
    }
    const scale = rules.scale.find((step) => (inputs.protocol_tvl_usd.value ?? 0) >= step.from_usd);
    const sum = this.weighted(rules.weights, {
      maturity: this.grown('maturity', age),
      audits: clamp(audited),
      strategy: points(rules.strategies[strategy]),
      scale: points(scale ? scale.counts : rules.scale_below),
    });
    const { factors, free, step, floor } = rules.dependency;
    const beyond = BigInt(Math.max(0, inputs.dependencies.value - free));
    const factor = greatest(bp(factors[inputs.worst_dependency.value]) - beyond * bp(step), bp(floor));
    return cents(sum * factor, 1_000_000n * 10_000n);
  }

  control(inputs) {
    const { weights, timelock, signers, exits, sources } = this.rules.control;
    const timelockScore = (value) => {
      if (value === null) return timelock.unknown;
      if (value === 'immutable') return timelock.immutable;
      return (timelock.steps.find((step) => value >= step.from_seconds) ?? { counts: timelock.none }).counts;
    };
    const signersScore = (value) => {
      if (value === null) return signers.unknown;
      if (value === 'eoa') return signers.one_key;
      if (typeof value === 'string') return signers[value];
      const step = signers.steps.find((one) => value.threshold >= one.threshold && value.owners >= one.owners);
      return step ? step.counts : signers.one_key;
    };
    return cents(this.weighted(weights, {
      timelock: points(timelockScore(inputs.timelock_seconds.value)),
      signers: points(signersScore(inputs.signers.value)),
      exit: points(exits[inputs.exit.value]),
      source: points(sources[inputs.source.value]),
    }), 1_000_000n);
  }

  history(inputs) {
    const rules = this.rules.history;
    const penalty = inputs.incidents.reduce(
      (sum, one) => sum + points(rules.incidents[one.class]) * this.decay('incident', one.age_days), 0n);
    const drawdown = inputs.drawdown.value;
    let stability = points(rules.drawdown.unknown);
    if (drawdown !== null) {
      stability = 10_000n - points(rules.drawdown.loss_per_basis_point) * least(bp(drawdown), bp(rules.drawdown.takes_all_at));
    }
    for (const name of ['high_util_72h', 'tvl_halved_7d']) if (inputs[name].value) stability -= points(rules[name]);
    return cents(this.weighted(rules.weights, {
      seasoning: this.grown('seasoning', inputs.vault_age_days.value ?? 0),
      incidents: clamp(10_000n - round(penalty, BigInt(this.decays.one))),
      stability: clamp(stability),
    }), 1_000_000n);
  }

  /** The cap's value, or null if it does not apply. */
  cap(rule, inputs, vectors) {
    const value = rule.value === null ? null : points(rule.value);
    const { asset, platform, control, history, caps } = inputs;
    const ppm = (input) => (input.value === null ? 0n : share(input.value));
    const when = (applies) => (applies ? value : null);
    switch (rule.id) {
      case 'asset_hard_fail': {
        if (asset.asset_mode === 'lending') return asset.deposit_hard_fail.value ? points(asset.deposit_score.value) : null;
        if (asset.exposures_status.value !== 'observed') return null;
        const failed = asset.exposures.filter(
          (one) => one.hard_fail_cap !== null && share(one.share) >= share(rule.when.holding_from_share));
        return failed.length > 0 ? least(...failed.map((one) => this.assetScore(one))) : null;
      }
      case 'unaudited':
        return when(platform.audits.value === 0);
      case 'incident': {
        const found = history.incidents.filter((one) => one.class !== 'minor').map((one) => {
          if (!one.resolved) return rule.when.unresolved;
          return rule.when.resolved.find((step) => one.age_days < step.younger_than_days)?.cap;
        });
        const caps = found.filter((cap) => cap !== undefined);
        return caps.length > 0 ? least(...caps.map(points)) : null;
      }
      case 'vector_floor':
      case 'vector_weak':
      case 'prime_gate': {
        const smallest = least(...Object.values(vectors));
        const applying = this.rules.caps.filter((one) => one.when?.smallest_vector_below !== undefined
          && smallest < points(one.when.smallest_vector_below));
        return when(applying[0]?.id === rule.id);
      }
      case 'liquidity_deficit':
        return when(ppm(caps.utilization) > share(rule.when.utilization_above));
      case 'bad_debt':
        return when(ppm(caps.bad_debt) > share(rule.when.bad_debt_above));
      case 'needs_risk_review':
        return when(caps.needs_risk_review.value);
      case 'new_vault':
        return when((history.vault_age_days.value ?? 0) < rule.when.younger_than_days);
      case 'low_tvl':
        return when((caps.tvl_usd.value ?? 0) < rule.when.tvl_usd_below);
      case 'eoa_control': {
        const [signers, timelock] = [control.signers.value, control.timelock_seconds.value];
        const oneKey = signers === 'eoa' || (signers !== null && typeof signers === 'object' && signers.threshold <= 1);
        return when(oneKey && (timelock === null || timelock === 0));
      }
      case 'asset_drag':
        return least(10_000n, vectors.asset + points(rule.when.above_asset_vector));
      default:
        throw new Error(`unknown cap ${rule.id}`);
    }
  }

  /** Recomputes vectors, caps, score and tier from the published `inputs`; numbers have their published form. */
  recompute(inputs) {
    const vectors = {
      asset: this.asset(inputs.asset),
      platform: this.platform(inputs.platform),
      control: this.control(inputs.control),
      history: this.history(inputs.history),
    };
    const shown = Object.fromEntries(Object.entries(vectors).map(([name, value]) => [name, value === null ? null : Number(value) / 1_000]));
    if (vectors.asset === null || vectors.platform === null) {
      return { vectors: shown, weighted_sum: null, caps: [], raw_score: null, tier: null };
    }
    const sum = this.weighted(this.rules.weights, vectors);
    const caps = this.rules.caps.map((rule) => [rule.id, this.cap(rule, inputs, vectors)]).filter(([, value]) => value !== null);
    const score = cents(least(sum, ...caps.map(([, value]) => value * 1_000_000n)), 1_000_000n);
    return {
      vectors: shown,
      weighted_sum: Number(sum) / 1_000_000_000,
      caps: caps.map(([id, value]) => ({ id, value: Number(value) / 1_000, binding: value * 1_000_000n < sum })),
      raw_score: Number(score) / 1_000,
      tier: this.tiers.find((tier) => score >= points(tier.from)).tier,
    };
  }
}

/** The differences between a vault's detail and its recomputation; empty if they agree. */
export function differences(thirdParty, vault) {
  const { score_provenance: provenance, risk_vectors: published } = vault;
  const { inputs, differences: ofInputs } = thirdParty.answered.derive(vault);
  const recomputed = thirdParty.recompute(inputs);
  const shown = {
    vectors: Object.fromEntries(Object.entries(published).map(([name, { score }]) => [name, score])),
    weighted_sum: provenance.weighted_sum,
    caps: provenance.caps,
    raw_score: provenance.raw_score,
  };
  const ofResults = Object.keys(shown)
    .filter((name) => JSON.stringify(shown[name]) !== JSON.stringify(recomputed[name]))
    .map((name) => `${vault.id} ${name}: ${JSON.stringify(shown[name])} is published, ${JSON.stringify(recomputed[name])} is recomputed`);
  return [...ofInputs, ...ofResults];
}
