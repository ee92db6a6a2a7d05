//! Checks of baskets and their rules.

use super::fields::Check;
use super::rule::{Rule, Unit};
use rds_facts::{Basket, BasketMethodology, Percent};
use rds_shared::model::basket::ConstituentType;

/// A path segment that another route uses in the place of a basket's id.
const RESERVED: &str = "webhooks";
/// Upper bound of `min_constituents`.
const MAX_CONSTITUENTS: i128 = 1_000;

impl Check {
    pub(super) fn basket(&mut self, basket: &Basket) {
        self.header(basket.observed_at, &basket.source);
        self.slug("id", &basket.id);
        let is_free = basket.id != RESERVED;
        self.must("id", is_free, format_args!("must not be {RESERVED:?}, which is reserved for another path"));
        self.text("name", &basket.name);
        let is_of_assets = basket.constituent_type == ConstituentType::Asset;
        self.must("is_basket_a", !basket.is_basket_a || is_of_assets, "may be true only for a basket of assets");
    }

    pub(super) fn basket_methodology(&mut self, rules: &BasketMethodology) {
        self.header(rules.observed_at, &rules.source);
        self.slug("basket_id", &rules.basket_id);
        self.slug("version", &rules.version);
        self.text("summary", &rules.summary);
        self.url("doc_url", rules.doc_url.as_ref());
        self.whole("min_constituents", Some(rules.min_constituents), 1..=MAX_CONSTITUENTS, Unit::One);
        self.positive("single_name_pct", Some(rules.single_name));
        self.positive("issuer_pct", Some(rules.issuer));
        self.must("floor_pct", rules.floor.0 <= rules.single_name.0, "must be at most single_name_pct");
        let eligibility = &rules.eligibility_rule;
        self.positive("eligibility_rule.max_per_protocol_pct", eligibility.max_per_protocol_pct);
        // Larger whole numbers are not exact in JSON readers that use doubles.
        self.whole("eligibility_rule.min_tvl_usd", eligibility.min_tvl_usd, 0..=1 << 53, Unit::Usd);
    }

    fn positive(&mut self, field: &str, percent: Option<Percent>) {
        self.rule(field, || Rule::Positive);
        if percent == Some(Percent(0)) {
            self.wrong(field, "must be above 0");
        }
    }
}
