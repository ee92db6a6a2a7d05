//! Eligibility: which candidates may be in a basket, and why the others may not.

use super::definition::EligibilityRule;
use super::weights::EligibleName;
use crate::rules::tiers::tier_of;
use crate::scoring::asset::{AssetCategory, ReviewStatus};
use crate::scoring::{MilliPoints, Ppm, named_enum};
use crate::wire::time::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// The facts about a vault or an asset that may be in a basket. Null is an unknown fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: String,
    /// The group to which the issuer cap applies: the protocol of a vault, the issuer of an asset.
    pub issuer: String,
    /// The candidate's protocol, to which the protocol cap applies; `None` if it has no protocol.
    pub protocol: Option<String>,
    /// The published score; [`tier_of`] gives its tier.
    pub score: Option<MilliPoints>,
    /// The asset's category; for a vault, that of its deposit asset.
    pub asset_category: Option<AssetCategory>,
    /// The review status of the asset or of the vault's deposit asset.
    pub review_status: Option<ReviewStatus>,
    /// The category of the asset at the end of the chain of underlyings.
    pub terminal_underlying_category: Option<AssetCategory>,
    /// The fraction of the terminal underlying's backing that is held off chain.
    pub terminal_underlying_backing_offchain: Option<Ppm>,
    /// TVL in whole USD, rounded down.
    pub tvl_usd: Option<u64>,
    /// Whole days since the candidate was first seen.
    pub age_days: Option<u32>,
    /// When the newest hard fail was raised, including hard fails in cool-down; `None` if there is no hard fail.
    pub hard_fail_since: Option<Timestamp>,
    /// Reasons why no version may be built on these facts; empty if there are none.
    pub stale: Vec<StaleInput>,
}

named_enum! {
    /// Why no basket version may be built on a candidate's facts.
    ///
    /// Source: methodology, "Halt closed".
    pub enum StaleInput {
        /// The evidence is older than twice its cadence.
        EvidenceOverdue = "evidence_overdue",
        /// `tvl_status` is `unavailable`.
        TvlUnavailable = "tvl_unavailable",
        /// The candidate is in data-quality quarantine (`needs_risk_review`).
        Quarantine = "quarantine",
    }
}

named_enum! {
    /// Why a candidate may not be in the basket, in the order the conditions are checked.
    pub enum Ineligible {
        Unscored = "unscored",
        AssetCategory = "asset_category",
        ReviewStatus = "review_status",
        TerminalUnderlyingCategory = "terminal_underlying_category",
        TerminalUnderlyingBacking = "terminal_underlying_min_backing_offchain_pct",
        Tier = "tier",
        Tvl = "min_tvl_usd",
        Age = "min_age_days",
        /// Higher-ranked candidates of the same protocol use up the protocol's maximum share.
        ProtocolShare = "max_per_protocol_pct",
    }
}

/// Every candidate, in the order given, with the conditions it fails; an eligible candidate fails none.
pub fn judge<'a>(rule: &EligibilityRule, candidates: &'a [Candidate]) -> Vec<(&'a Candidate, Vec<Ineligible>)> {
    let mut judged: Vec<_> = candidates.iter().map(|candidate| (candidate, own_faults(rule, candidate))).collect();
    if let Some(part) = rule.max_per_protocol {
        apply_protocol_cap(part, &mut judged);
    }
    judged
}

/// The eligible candidates, in the form from which weights are computed.
pub fn eligible(rule: &EligibilityRule, candidates: &[Candidate]) -> Vec<EligibleName> {
    let judged = judge(rule, candidates).into_iter().filter(|(_, faults)| faults.is_empty());
    let name = |candidate: &Candidate| {
        Some(EligibleName { id: candidate.id.clone(), issuer: candidate.issuer.clone(), score: candidate.score? })
    };
    judged.filter_map(|(candidate, _)| name(candidate)).collect()
}

/// The failed conditions that depend on this candidate only, unlike the protocol cap.
fn own_faults(rule: &EligibilityRule, candidate: &Candidate) -> Vec<Ineligible> {
    let listed = |wanted: &[AssetCategory], known: Option<AssetCategory>| {
        wanted.is_empty() || known.is_some_and(|known| wanted.contains(&known))
    };
    let reviewed = rule.review_status.is_empty()
        || candidate.review_status.is_some_and(|status| rule.review_status.contains(&status));
    let tier = candidate.score.map(tier_of);
    let in_tier = rule.tier.is_empty() || tier.is_some_and(|tier| rule.tier.contains(&tier));
    let backed =
        at_least(rule.terminal_underlying_min_backing_offchain, candidate.terminal_underlying_backing_offchain);
    let conditions = [
        (Ineligible::Unscored, candidate.score.is_some()),
        (Ineligible::AssetCategory, listed(&rule.asset_category, candidate.asset_category)),
        (Ineligible::ReviewStatus, reviewed),
        (
            Ineligible::TerminalUnderlyingCategory,
            listed(&rule.terminal_underlying_category, candidate.terminal_underlying_category),
        ),
        (Ineligible::TerminalUnderlyingBacking, backed),
        (Ineligible::Tier, in_tier),
        (Ineligible::Tvl, at_least(rule.min_tvl_usd, candidate.tvl_usd)),
        (Ineligible::Age, at_least(rule.min_age_days, candidate.age_days)),
    ];
    conditions.into_iter().filter(|(_, met)| !met).map(|(fault, _)| fault).collect()
}

fn at_least<T: PartialOrd>(bound: Option<T>, known: Option<T>) -> bool {
    bound.is_none_or(|bound| known.is_some_and(|known| known >= bound))
}

/// Excludes the lowest-ranked candidates of each protocol above the maximum share, until every protocol is within it.
///
/// Candidates rank by score, then by TVL (both descending), then by id. The limit is a share of the eligible candidates, so it is
/// recomputed after each round of exclusions. The loop ends because every round but the last excludes a candidate.
fn apply_protocol_cap(part: Ppm, judged: &mut [(&Candidate, Vec<Ineligible>)]) {
    loop {
        let mut open: Vec<_> = judged.iter_mut().filter(|(_, faults)| faults.is_empty()).collect();
        open.sort_by(|(a, _), (b, _)| (b.score, b.tvl_usd).cmp(&(a.score, a.tvl_usd)).then_with(|| a.id.cmp(&b.id)));
        let names = i64::try_from(open.len()).unwrap_or(i64::MAX);
        let limit = (names.saturating_mul(part.0) / Ppm::ONE.0).max(1);
        let mut taken: BTreeMap<&str, i64> = BTreeMap::new();
        let mut left_out = false;
        for (candidate, faults) in open {
            let Some(protocol) = candidate.protocol.as_deref() else { continue };
            let taken = taken.entry(protocol).or_default();
            *taken += 1;
            if *taken > limit {
                faults.push(Ineligible::ProtocolShare);
                left_out = true;
            }
        }
        if !left_out {
            return;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    /// A candidate whose facts are all known and good.
    pub(in crate::rules::baskets) fn candidate(id: &str, protocol: &str, milli: i32) -> Candidate {
        Candidate {
            id: id.into(),
            issuer: protocol.into(),
            protocol: Some(protocol.into()),
            score: MilliPoints::new(milli),
            asset_category: Some(AssetCategory::TBillBackedStable),
            review_status: Some(ReviewStatus::Reviewed),
            terminal_underlying_category: Some(AssetCategory::TokenizedTreasury),
            terminal_underlying_backing_offchain: Some(Ppm(950_000)),
            tvl_usd: Some(5_000_000),
            age_days: Some(200),
            hard_fail_since: None,
            stale: Vec::new(),
        }
    }

    fn strict() -> EligibilityRule {
        EligibilityRule {
            asset_category: vec![AssetCategory::TBillBackedStable],
            review_status: vec![ReviewStatus::Reviewed],
            terminal_underlying_category: vec![AssetCategory::TokenizedTreasury],
            terminal_underlying_min_backing_offchain: Some(Ppm(950_000)),
            tier: vec![crate::rules::tiers::Tier::Prime],
            min_tvl_usd: Some(5_000_000),
            min_age_days: Some(200),
            max_per_protocol: None,
        }
    }

    fn faults(rule: &EligibilityRule, candidate: &Candidate) -> Vec<Ineligible> {
        judge(rule, core::slice::from_ref(candidate)).remove(0).1
    }

    #[test]
    fn a_candidate_at_every_bound_is_eligible_and_each_missed_condition_is_named() {
        let good = candidate("a", "p", 8000);
        assert_eq!(faults(&strict(), &good), []);
        let misses = [
            (Candidate { score: MilliPoints::new(7990), ..good.clone() }, Ineligible::Tier),
            (Candidate { asset_category: Some(AssetCategory::Native), ..good.clone() }, Ineligible::AssetCategory),
            (Candidate { review_status: Some(ReviewStatus::Provisional), ..good.clone() }, Ineligible::ReviewStatus),
            (Candidate { terminal_underlying_category: None, ..good.clone() }, Ineligible::TerminalUnderlyingCategory),
            (
                Candidate { terminal_underlying_backing_offchain: Some(Ppm(949_999)), ..good.clone() },
                Ineligible::TerminalUnderlyingBacking,
            ),
            (Candidate { tvl_usd: Some(4_999_999), ..good.clone() }, Ineligible::Tvl),
            (Candidate { age_days: None, ..good.clone() }, Ineligible::Age),
        ];
        for (missing, fault) in misses {
            assert_eq!(faults(&strict(), &missing), [fault]);
        }
        let unscored = Candidate { score: None, ..good };
        assert_eq!(faults(&strict(), &unscored), [Ineligible::Unscored, Ineligible::Tier]);
        assert_eq!(faults(&EligibilityRule::default(), &unscored), [Ineligible::Unscored]);
    }

    #[test]
    fn a_protocol_keeps_its_best_names_up_to_its_maximum_share() {
        let rule = EligibilityRule { max_per_protocol: Some(Ppm(400_000)), ..EligibilityRule::default() };
        let mut candidates: Vec<_> = [
            ("a", "p", 8000),
            ("b", "p", 9000),
            ("c", "p", 9000),
            ("d", "p", 7000),
            ("e", "q", 6000),
            ("f", "r", 6000),
        ]
        .map(|(id, protocol, milli)| candidate(id, protocol, milli))
        .into();
        // With six candidates the limit is two per protocol, so p loses two; with the remaining four the limit is one.
        let ids = |candidates: &[Candidate]| -> Vec<String> {
            eligible(&rule, candidates).iter().map(|name| name.id.to_string()).collect()
        };
        assert_eq!(ids(&candidates), ["b", "e", "f"]);
        candidates[2].tvl_usd = Some(6_000_000);
        assert_eq!(ids(&candidates), ["c", "e", "f"]);
        candidates.reverse();
        assert_eq!(ids(&candidates), ["f", "e", "c"]);
        // The protocol cap does not apply to a vault without a protocol.
        candidates.iter_mut().for_each(|candidate| candidate.protocol = None);
        assert_eq!(ids(&candidates).len(), 6);
    }
}
