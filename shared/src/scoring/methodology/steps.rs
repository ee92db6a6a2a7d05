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
    "The first run of another methodology publishes its raw score without any of that, and starts every clock over; where it moves inside the tier by less than score_step, the published score stays.",
];

/// Baskets.
pub(super) const BASKETS: &[&str] = &[
    "A name's excess is its score less the basket's pivot; a name without any is out.",
    "There is a solution when min_constituents names are left and their issuers, each at its cap or at all its names' caps where that is less, come to the whole. Where there is none, no version is made.",
    "Weights are proportional to excess. Names that would exceed the single-name cap stand at it and the others share what is left, until none does. Then every issuer that exceeds its cap stands at it and the others share what is left, until no issuer is new; the names of such an issuer are filled to exactly its cap in the same way.",
    "All of that is in exact fractions. In the end parts per million are rounded down; those that are missing go to the greatest remainders, of equal ones to the smaller id, and never lift a name or an issuer above its cap.",
    "Where a name is under the floor, the lightest is dropped, of equal ones that of the lower score and then of the greater id, and everything begins again.",
    "No version is made while something that a constituent rests on is older than two of its cadences, unread or in quarantine; none that weighs the same names alike.",
];

/// The check of a portfolio.
pub(super) const CHECK: &[&str] = &[
    "Positions are whole micro-dollars; one vault's are added up, and the total holds those too that cannot be resolved. A limit is rounded down to parts per million.",
    "For each limited dimension and key, every is the sum of amount times share over all mappings to it, and sure that over the verified ones with a confidence of sure_from_confidence or more.",
    "sure above the limit's part of the total is a breach and rejects. every above it is advisory, every from near_from_share of it on is near: both are a caution, as is a vault that cannot be resolved. Without any of them the portfolio is approved.",
    "The curator, protocol, chain, clusters and signer sets of a vault reach all of a position in it, once, even where they stand behind a part of it too. Those of a vault inside it, and an asset with its clusters, signer sets, oracles, their vendors and bridges, reach that part of the position which is held there.",
];

/// What the rules are known not to do well.
pub(super) const KNOWN_WEAKNESSES: &[&str] = &[
    "Weights, caps and what each dimension's points mean are judgement: nobody fitted them to losses.",
    "worst_from_share is a cliff: an exposure just under it moves the mean alone.",
    "A timelock, signer set or dependency of which nothing is known counts more than one known to be bad. The unknown: flags say where that is so.",
    "asset_drag holds a vault near what it lends and lends against, so that a good platform on middling assets hardly shows.",
    "History knows published incidents alone: what nobody reported, and what was not linked to the vault or its protocol, is not in it.",
    "A fall shows in drawdown once it is in the price per share; a loss that was not written down yet is not seen.",
];
