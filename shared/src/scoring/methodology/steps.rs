//! The computation steps of the methodology as text, one step per entry.

pub(super) const NUMBERS: &[&str] = &[
    "Everything is computed in integers: points in thousandths, fractions in parts per million or basis points, ages in whole days.",
    "Rounding is half to even, and happens only where a step says so.",
    "Weighted sums, and running scores under overlays, are kept in hundred-thousandths of a point and are not rounded further.",
    "A later step uses the published two-decimal value of the step before it.",
    "A decay after d days: start with one; for every set bit k of d, in ascending order, multiply by entry k and drop the low 63 bits. Beyond last_day the decay is 0.",
];

pub(super) const ASSET: &[&str] = &[
    "The value of a dimension is the number of a signed review with status reviewed, else the value that its answers give by the rubric, else the number of any other review. A dimension without a value has no evidence.",
    "weighted_sum is the sum of weight times value over the dimensions of the category; a dimension without evidence counts missing_evidence.",
    "If the dimensions without evidence weigh more than max_missing_weight, or the category has no weights, the asset is unscored.",
    "Age and cadence of the evidence are those of the rubric for an asset whose values follow from answers alone, and otherwise those of its review. lowest_score and highest_score are the scores with every dimension and the supply limit at the ends of their ranges.",
    "Overlays apply in the listed order. Each may only lower the running score, never below 0; an overlay that would not lower it is not recorded.",
    "Multiplications round to hundred-thousandths of a point. The score is the final running score, rounded to two decimals.",
];

pub(super) const VAULT: &[&str] = &[
    "Four vectors are computed from the inputs. Each is rounded once, to two decimals, from an exact fraction.",
    "Without an asset vector or a platform vector the vault is unscored.",
    "weighted_sum is the exact sum of weight times vector.",
    "Every cap whose condition applies is listed, in table order. A cap binds when it is below weighted_sum.",
    "raw_score is the minimum of weighted_sum and the listed caps, rounded to two decimals.",
    "lowest_score and highest_score are the scores with every unknown input at its worst and at its best value, and with the assets at the ends of their ranges. score_coverage is the part of the weight whose inputs are known.",
];

pub(super) const ASSET_VECTOR: &[&str] = &[
    "Unavailable exposures count as one exposure of unscored_counts points. An exposure without a score counts unscored_counts points, or its hard_fail_cap if that is lower.",
    "Exposures with unknown shares count as one exposure with the points of the weakest member, but at least unscored_counts. Exposures by a rule that ages are unavailable once they are older than expires_after_seconds.",
    "Lending: an exposure counts the minimum of its points and its oracle's cap, less the haircut of the first step whose bound its lltv does not exceed, but never below 0. Without an lltv there is no haircut.",
    "Exposures with the same id are merged: their shares add up, and their points are the share-weighted mean, rounded to three decimals.",
    "Holdings: the vector is the share-weighted mean of all exposures, rounded to two decimals. Without holdings there is no vector.",
    "Lending: the vector is mean_weight times the share-weighted mean plus worst_weight times the points of the worst exposure, rounded to two decimals, and at most deposit_score. The worst exposure is the lowest of those with at least worst_from_share of the whole, or the lowest of all if none reaches that share. Without exposures the vector is deposit_score; without deposit_score there is no vector.",
];

pub(super) const PLATFORM: &[&str] = &[
    "maturity is ten points times (1 − the maturity decay of version_age_days), rounded to three decimals.",
    "audits counts the points of the number of audits, the last entry also for more. With at least one audit, add the bounty's points if the bounty reaches from_usd, and subtract the stale_audit points if the newest audit is older than older_than_days or undated; the result is clamped to 0 to 10.",
    "scale counts the points of the first step that protocol_tvl_usd reaches, or scale_below if it reaches no step; an unknown TVL counts 0 dollars.",
    "The factor is that of worst_dependency, less step for each dependency beyond free, but at least floor.",
    "The vector is the weighted sum times the factor, rounded to two decimals. Without version_age_days, audits or strategy there is no vector.",
];

pub(super) const CONTROL: &[&str] = &[
    "A timelock in seconds counts the points of the first step that it reaches, or those of none if it reaches no step; null counts the points of unknown.",
    "A multisig counts the points of the first step whose threshold and owners it both reaches, or those of one_key if it reaches no step; eoa counts one_key too. null counts the points of unknown.",
    "The vector is the weighted sum of the four parts, rounded to two decimals.",
];

pub(super) const HISTORY: &[&str] = &[
    "seasoning is ten points times (1 − the seasoning decay of vault_age_days), rounded to three decimals; an unknown age counts 0 days.",
    "incidents is ten points minus the sum, over all incidents, of the incident's points times the incident decay of its age; the sum is rounded to three decimals, and the result is at least 0.",
    "stability is ten points minus loss_per_basis_point for each basis point of drawdown up to takes_all_at, or unknown if the drawdown is null; then high_util_72h and tvl_halved_7d are subtracted where these conditions apply. The result is at least 0.",
    "The vector is the weighted sum of the three parts, rounded to two decimals.",
];

pub(super) const PUBLICATION: &[&str] = &[
    "Each boundary between two tiers has a clock, which restarts whenever the raw score crosses the boundary.",
    "A higher tier is published once the raw score has been at or above its floor for promote_after_seconds; a lower tier is published once the raw score has been below the published tier's floor for demote_after_seconds.",
    "A lower tier is published at once if a cap of at_once binds, if the raw score is hard_below_floor or more below the published tier's floor, or if it is hard_below_anchor or more below the last score published outside a dwell.",
    "Until then the raw score is clamped to the published tier: not below its floor, and not above the next tier's floor less score_step.",
    "A move within a tier of less than score_step is not published.",
    "The first run under another methodology publishes its raw score without these rules and restarts every clock; if the tier is the same and the move is less than score_step, the published score stays.",
];

pub(super) const BASKETS: &[&str] = &[
    "A name's excess is its score minus the basket's pivot; a name without a positive excess is excluded.",
    "Weights exist if at least min_constituents names are left, and if the issuers together can hold the whole, each at most the issuer cap and at most the sum of its names' single-name caps. Otherwise no version is made.",
    "Weights are proportional to excess. Names that would exceed the single-name cap are set to it and the others share the rest, until no name exceeds it. Then every issuer that exceeds the issuer cap is set to it and the others share the rest, until no further issuer exceeds it. The names of such an issuer share exactly its cap in the same way.",
    "The computation uses exact fractions. At the end weights are rounded down to parts per million; the missing parts go to the largest remainders (ties: the smaller id first) and never lift a name or an issuer above its cap.",
    "If a weight is below the floor, the lightest name is dropped (ties: the lower score first, then the greater id), and the computation starts again.",
    "No version is made while the facts about a constituent of the current or the next version are older than two cadences, unread or in quarantine, and none is made if names and weights are unchanged.",
];

pub(super) const CHECK: &[&str] = &[
    "Positions are in whole micro-dollars; positions in the same vault are added up, and the total includes positions that cannot be resolved. A limit is rounded down to parts per million.",
    "For each limited dimension and key, the full exposure is the sum of amount times share over all mappings to the key. The sure exposure is the same sum over the verified mappings with a confidence of sure_from_confidence or more.",
    "The maximum exposure is the limit times the total. A sure exposure above it is a breach, and the portfolio is rejected. A full exposure above it is advisory, and one of at least near_from_share of it is near; both are a caution, as is a vault that cannot be resolved. Otherwise the portfolio is approved.",
    "The curator, protocol, chain, clusters and signer sets of a vault count for the whole position in it, and only once, even if they also apply to a part of it. Those of a nested vault, and each asset with its clusters, signer sets, oracles, oracle vendors and bridges, count only for the part of the position that is held there.",
];

pub(super) const RUBRIC: &[&str] = &[
    "An answer counts from its date on. Of the answers to a question that are not withdrawn, those of the newest UTC day decide; if they differ, the weakest counts and the question is contradicted.",
    "An answer older than expires_after_cadences times the cadence of its question has aged: it counts its points, but at most aged, and its ceiling stays. Answers of one day age together, by the latest of them.",
    "If there is no answer, or the newest is withdrawn and no other remains, the question is unknown and counts unknown. Among aged answers of the newest day and answers withdrawn on that day or later, the weakest decides.",
    "The value is the sum of weight times points, rounded half to even to two decimals, and at most the lowest ceiling.",
    "If the unknown questions weigh more than max_unknown_weight and the value is not below unknown, the dimension has no evidence.",
    "lowest and highest range over all answers that the unknown questions can still get, with their ceilings.",
    "The evidence is as old as the answer at which half of the answered weight is reached, freshest first, by age in cadences.",
    "The score of an asset in supply_categories is at most the lowest score_ceiling of its answers to the questions with limits_supply; an unknown one counts unknown_supply_ceiling.",
];

pub(super) const PROTOCOL_ANSWERS: &[&str] = &[
    "Of the answers to a question that are not withdrawn, those of the newest UTC day count, and of several the weakest: the latest version, the smallest amount or delay, and otherwise the one that counts the fewest points.",
    "An answer older than expires_after_cadences times the cadence of its question is no evidence; answers of one day age together, by the latest of them. A timelock, signers or an exit that counts less than an unknown one stays, also after a withdrawal on the newest day or later.",
    "Lists of dependencies of the newest day add up. If none counts, the protocols of those lists and of the lists withdrawn on that day or later apply where their factor is below that of unknown dependencies.",
    "A dependency's tier is that of its platform vector without the dependency factor. The worst is Edge, then an unknown tier, then Core, then Prime.",
    "Audits add up: audits is the number of firms with a report that is not withdrawn, and newest_audit_days is the age of the newest report. Names with the same letters and digits, in any case, are one firm.",
    "A vault's own answer counts before the vault's registry entry, that before an answer about its protocol, and that before the protocol's registry entry.",
];

pub(super) const ANSWERING: &[&str] = &[
    "Give the weakest answer that the source supports.",
    "One fact answers one question: a loss belongs to the question about its cause.",
    "A price that one venue showed alone for less than an hour is answered as what the deepest other venue showed; the note says so.",
    "An answer that a search found nothing names the place of the search in its note.",
    "A question without meaning for the asset has an answer that says so. Weights do not change.",
    "To dispute an answer, give another one with its source and date. All other answers stay.",
];

pub(super) const KNOWN_WEAKNESSES: &[&str] = &[
    "Weights, caps and the meaning of each dimension's points are judgement; they were not fitted to losses.",
    "worst_from_share is a hard threshold: an exposure just below it affects the mean only.",
    "An unknown timelock, signer set or dependency counts more than one known to be bad. The unknown: flags show where that is the case.",
    "asset_drag limits a vault to one point above its asset vector, so a good platform cannot make up for mediocre assets.",
    "History includes published incidents only: an incident that was not reported, or not linked to the vault or its protocol, is missing.",
    "A loss shows in drawdown only once it is in the price per share; a loss that has not been written down yet has no effect.",
];
