//! Default baskets, which `import` and `simulate` define.
//!
//! Only the rules are defined here. The constituents follow from observations and scores; if too few vaults or assets are eligible, the
//! basket has no version.

use crate::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Basket, BasketMethodology, Eligibility, Percent, Points};
use rds_shared::model::basket::ConstituentType::{self, Asset, Vault};
use rds_shared::rules::baskets::definition::Weighting;
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{AssetCategory, ReviewStatus};
use rds_shared::wire::Timestamp;
use rds_store::At;

/// `source` of the definitions.
const SOURCE: &str = "house";
/// The definitions are as of 2026-01-01T00:00:00Z.
pub const AS_OF: Timestamp = Timestamp::from_seconds(1_767_225_600);
/// Version of the rules of every default basket.
const VERSION: &str = "rds-1.0.0";
/// Minimum TVL of a vault, in US dollars: an index over smaller vaults would mean little.
const DEEP_VAULT_USD: u64 = 10_000_000;
/// Minimum age of a vault: a quarter.
const SEASONED_DAYS: u32 = 90;

/// The observations that define the default baskets and their rules.
pub fn definitions() -> Vec<Observation> {
    let prime = Rules {
        summary: "Deep, seasoned vaults whose published tier is Prime, weighed by what their scores lie above 7.00.",
        eligibility: Eligibility {
            tier: vec![Tier::Prime],
            min_tvl_usd: Some(DEEP_VAULT_USD),
            min_age_days: Some(SEASONED_DAYS),
            ..Eligibility::default()
        },
        pivot: Weighting::PRIME_PIVOT,
        min_constituents: 5,
        caps: [200_000, 350_000, 20_000],
    };
    let stable = Rules {
        summary: "Deep vaults of dollar-pegged assets, Prime and Core, weighed by what their scores lie above 5.00.",
        eligibility: Eligibility {
            asset_category: vec![
                AssetCategory::FiatBackedStablecoin,
                AssetCategory::CdpStablecoin,
                AssetCategory::SyntheticStablecoin,
                AssetCategory::TBillBackedStable,
            ],
            tier: vec![Tier::Core, Tier::Prime],
            min_tvl_usd: Some(DEEP_VAULT_USD),
            ..Eligibility::default()
        },
        pivot: Weighting::MIXED_PIVOT,
        min_constituents: 5,
        caps: [250_000, 400_000, 20_000],
    };
    let treasury = Rules {
        summary: "Reviewed assets that stand on treasury bills. There are few of them: the caps are wide.",
        eligibility: Eligibility {
            asset_category: vec![AssetCategory::TokenizedTreasury, AssetCategory::TBillBackedStable],
            review_status: vec![ReviewStatus::Reviewed, ReviewStatus::Provisional],
            tier: vec![Tier::Core, Tier::Prime],
            ..Eligibility::default()
        },
        pivot: Weighting::MIXED_PIVOT,
        min_constituents: 3,
        caps: [400_000, 600_000, 20_000],
    };
    [
        basket("prime-vaults", "Prime vaults", Vault, false, prime),
        basket("stable-vaults", "Stablecoin vaults", Vault, false, stable),
        basket("treasury-assets", "Treasury-backed assets", Asset, true, treasury),
    ]
    .concat()
}

struct Rules {
    summary: &'static str,
    eligibility: Eligibility,
    pivot: MilliPoints,
    min_constituents: i32,
    /// The cap of a constituent, the cap of an issuer, and the minimum weight of a constituent, in parts per million.
    caps: [u32; 3],
}

fn basket(
    id: &str,
    name: &str,
    constituent_type: ConstituentType,
    is_basket_a: bool,
    rules: Rules,
) -> Vec<Observation> {
    let [single_name, issuer, floor] = rules.caps.map(Percent);
    let basket = Basket {
        kind: Kind,
        observed_at: At(AS_OF),
        source: SOURCE.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        constituent_type,
        is_basket_a,
    };
    let methodology = BasketMethodology {
        kind: Kind,
        observed_at: At(AS_OF),
        source: SOURCE.to_owned(),
        basket_id: id.to_owned(),
        version: VERSION.to_owned(),
        summary: rules.summary.to_owned(),
        doc_url: None,
        eligibility_rule: rules.eligibility,
        pivot: Points(rules.pivot),
        min_constituents: rules.min_constituents,
        single_name,
        issuer,
        floor,
    };
    vec![Observation::Basket(basket), Observation::BasketMethodology(Box::new(methodology))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::Batch;

    #[test]
    fn ingest_accepts_the_definitions() {
        assert_eq!(AS_OF.to_string(), "2026-01-01T00:00:00.000Z");
        let mut batch = Batch::default();
        definitions().into_iter().for_each(|observation| batch.push(observation));
        assert_eq!(batch.lines(), 6);
        assert!(batch.own_faults().is_empty());
    }
}
