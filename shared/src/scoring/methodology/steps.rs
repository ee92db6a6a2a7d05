//! What to do with the tables, a sentence a step.

/// Numbers.
pub(super) const NUMBERS: &[&str] = &[
    "Everything is computed in integers: points in thousandths, fractions in parts per million or basis points, ages in whole days.",
    "Rounding is half to even, and happens nowhere but where a step says so.",
    "A weighted sum, and a running score under overlays, is kept in hundred-thousandths of a point and never rounded.",
    "What a later step reads is the published two-decimal value of the step before it.",
    "A decay after d days: begin with one; for every set bit k of d, ascending, multiply by entry k and drop 63 bits. Beyond last_day it is 0.",
];

/// The asset score.
pub(super) const ASSET: &[&str] = &[
    "weighted_sum is the sum of weight times value over the dimensions of the category; one without evidence counts missing_evidence.",
    "Where more weight than max_missing_weight has no evidence, or the category has no weights, the asset is unscored.",
    "Overlays follow in their order. Each may only lower the running score, never below 0; one that would not lower it is not recorded.",
    "Multiplications round to hundred-thousandths of a point. The score is what is left, rounded to two decimals.",
];

/// The vault score.
pub(super) const VAULT: &[&str] = &[
    "Four vectors are computed from the inputs, each rounded to two decimals once, from the exact fraction.",
    "Without an asset vector or a platform vector the vault is unscored.",
    "weighted_sum is the sum of weight times vector, exact.",
    "Every cap whose condition holds is listed, in table order. It binds when it is below weighted_sum.",
    "raw_score is the least of weighted_sum and the listed caps, rounded to two decimals.",
];

/// The asset vector.
pub(super) const ASSET_VECTOR: &[&str] = &[
    "Exposures that are unavailable count as one exposure of unscored_counts points; an exposure without a score counts that, or its hard_fail_cap where it is lower.",
    "When lending, an exposure counts the lesser of its points and its oracle's cap, less the haircut of the first step that its lltv does not exceed; none without an lltv. Never below 0.",
    "Exposures of one id are merged: shares add up, points are their share-weighted mean, rounded to three decimals.",
    "Holdings: the share-weighted mean of all, rounded to two decimals; without holdings there is no vector.",
    "Lending: mean_weight times that mean plus worst_weight times the worst exposure of at least worst_from_share of the whole (of all, when none reaches it), rounded to two decimals, and never above deposit_score. Without exposures it is deposit_score; without deposit_score there is no vector.",
];

/// The platform vector.
pub(super) const PLATFORM: &[&str] = &[
    "maturity is ten points times one less the maturity decay of version_age_days, rounded to three decimals.",
    "audits counts by their number, the last entry for more. With at least one: plus the bounty's points from its amount on, less the stale audit's when the newest is older or undated; held within 0 and 10.",
    "scale counts the first step that protocol_tvl_usd reaches; an unknown one counts 0 dollars.",
    "The factor is that of worst_dependency, less step for each dependency beyond free, never below floor.",
    "The vector is the weighted sum times the factor, rounded to two decimals. Without version_age_days, audits or strategy there is none.",
];

/// The control vector.
pub(super) const CONTROL: &[&str] = &[
    "A timelock in seconds counts the first step that it reaches, and none where it reaches no step; null counts unknown.",
    "Of several signers the first step counts whose threshold and owners are both reached; one that reaches no step counts one_key, as does eoa. null counts unknown.",
    "The vector is the weighted sum of the four, rounded to two decimals.",
];

/// The history vector.
pub(super) const HISTORY: &[&str] = &[
    "seasoning is ten points times one less the seasoning decay of vault_age_days, rounded to three decimals; an unknown age counts 0.",
    "incidents is ten points less the sum of each one's points times the incident decay of its age, that sum rounded to three decimals; not below 0.",
    "stability is ten points less loss_per_basis_point for each basis point of drawdown up to takes_all_at, or unknown where it is null; less high_util_72h and tvl_halved_7d where they hold; not below 0.",
    "The vector is the weighted sum of the three, rounded to two decimals.",
];

/// Publication.
pub(super) const PUBLICATION: &[&str] = &[
    "Each boundary between two tiers has a clock, started anew whenever the raw score changes its side.",
    "A higher tier is published when its floor has been held for promote_after_seconds, a lower one when the published floor has been missed for demote_after_seconds.",
    "A lower one at once when a cap of at_once binds, or the raw score is hard_below_floor under the published floor or hard_below_anchor under the last score published outside a dwell.",
    "Until then the raw score is held inside the published tier: not below its floor, not above the next one less score_step.",
    "A move inside a tier of less than score_step is not published.",
];
