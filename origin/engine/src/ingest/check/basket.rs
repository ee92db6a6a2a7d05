//! Checks of baskets and their rules.

use super::Check;
use rds_facts::{Basket, BasketMethodology, Percent};
use rds_shared::model::basket::ConstituentType;

/// A path segment that another route uses in the place of a basket's id.
const RESERVED: &str = "webhooks";
/// Upper bound of `min_constituents`.
const MAX_CONSTITUENTS: i32 = 1_000;

impl Check {
    pub(super) fn basket(&mut self, basket: &Basket) {
        self.header(basket.observed_at, &basket.source);
        self.slug("id", &basket.id);
        if basket.id == RESERVED {
            self.wrong("id", format!("must not be {RESERVED:?}, which is reserved for another path"));
        }
        self.text("name", &basket.name);
        if basket.is_basket_a && basket.constituent_type != ConstituentType::Asset {
            self.wrong("is_basket_a", "may be true only for a basket of assets");
        }
    }

    pub(super) fn basket_methodology(&mut self, rules: &BasketMethodology) {
        self.header(rules.observed_at, &rules.source);
        self.slug("basket_id", &rules.basket_id);
        self.slug("version", &rules.version);
        self.text("summary", &rules.summary);
        self.url("doc_url", rules.doc_url.as_ref());
        if !(1..=MAX_CONSTITUENTS).contains(&rules.min_constituents) {
            self.wrong("min_constituents", format!("must be between 1 and {MAX_CONSTITUENTS}"));
        }
        for (field, Percent(ppm)) in [("single_name_pct", rules.single_name), ("issuer_pct", rules.issuer)] {
            if ppm == 0 {
                self.wrong(field, "must be above 0");
            }
        }
        if rules.floor.0 > rules.single_name.0 {
            self.wrong("floor_pct", "must be at most single_name_pct");
        }
        let eligibility = &rules.eligibility_rule;
        if eligibility.max_per_protocol_pct == Some(Percent(0)) {
            self.wrong("eligibility_rule.max_per_protocol_pct", "must be above 0");
        }
        // Larger whole numbers are not exact in JSON readers that use doubles.
        if eligibility.min_tvl_usd.is_some_and(|usd| usd > 1 << 53) {
            self.wrong("eligibility_rule.min_tvl_usd", "must be at most 2^53");
        }
    }
}
