//! The text that a reviewer signs: one canonical text per version of a review.
//!
//! Every field of the text is published, so a client that reads the asset detail with a key can rebuild the text and verify the
//! signature. The text states dimensions in milli-points.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use crate::scoring::asset::{Dimensions, ReviewStatus};
use crate::scoring::canonical::Canonical;
use crate::wire::time::{Micros, Timestamp};

/// Domain separation: distinguishes a signed review from every other text that is signed with the same key.
const PURPOSE: &str = "rds.asset_review";
/// Version of the text's layout.
const LAYOUT: i64 = 1;

/// The facts that the signature of a review covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statement<'a> {
    /// The asset's slug.
    pub asset: &'a str,
    pub chain_id: u64,
    /// Address of the asset's contract; `None` for a native coin.
    pub address: Option<&'a str>,
    /// When the review was recorded; identifies the version of the review.
    pub recorded_at: Timestamp,
    pub review_status: ReviewStatus,
    /// The scores that the review gives to the asset's dimensions.
    pub dimensions: &'a Dimensions,
    /// Id of the product to which the reviewer maps the deployment, if any.
    pub product_id: Option<&'a str>,
    /// Id of the reviewer who signs.
    pub reviewer_id: &'a str,
    pub signed_at: Timestamp,
}

impl Statement<'_> {
    /// The text whose UTF-8 bytes are signed: canonical JSON (RFC 8785).
    pub fn message(&self) -> String {
        let dimensions: BTreeMap<&'static str, Canonical> =
            self.dimensions.iter().map(|(key, value)| (key.as_str(), value.into())).collect();
        let instant = |at: Timestamp| Canonical::from(Micros(at).to_string().as_str());
        Canonical::object([
            ("address", self.address.into()),
            ("asset", self.asset.into()),
            ("chain_id", self.chain_id.into()),
            ("dimensions", Canonical::Object(dimensions)),
            ("product_id", self.product_id.into()),
            ("purpose", PURPOSE.into()),
            ("recorded_at", instant(self.recorded_at)),
            ("review_status", self.review_status.as_str().into()),
            ("reviewer_id", self.reviewer_id.into()),
            ("signed_at", instant(self.signed_at)),
            ("v", LAYOUT.into()),
        ])
        .to_string()
    }
}

/// Domain separation of signatures on sets of answers.
const ANSWERS_PURPOSE: &str = "rds.asset_answers.attestation";

/// An attested set of answers about one asset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswersStatement<'a> {
    /// The asset's slug.
    pub asset: &'a str,
    /// Content hash of the set, in hex; the asset's detail shows it.
    pub answers_hash: &'a str,
    /// The signing reviewer.
    pub reviewer_id: &'a str,
    pub signed_at: Timestamp,
}

impl AnswersStatement<'_> {
    /// The text whose UTF-8 bytes are signed: canonical JSON (RFC 8785).
    pub fn message(&self) -> String {
        Canonical::object([
            ("answers_hash", self.answers_hash.into()),
            ("asset", self.asset.into()),
            ("purpose", ANSWERS_PURPOSE.into()),
            ("reviewer_id", self.reviewer_id.into()),
            ("signed_at", Canonical::from(Micros(self.signed_at).to_string().as_str())),
            ("v", LAYOUT.into()),
        ])
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::MilliPoints;
    use crate::scoring::asset::Dimension;
    use proptest::prelude::*;

    fn dimensions(milli: i64) -> Dimensions {
        [(Dimension::Liquidity, MilliPoints::saturating(milli))].into_iter().collect()
    }

    fn statement(dimensions: &Dimensions) -> Statement<'_> {
        Statement {
            asset: "dtb",
            chain_id: 31337,
            address: Some("0x01"),
            recorded_at: Timestamp::from_micros(1),
            review_status: ReviewStatus::Reviewed,
            dimensions,
            product_id: None,
            reviewer_id: "lamplight",
            signed_at: Timestamp::from_seconds(0),
        }
    }

    #[test]
    fn the_signed_text_is_fixed_byte_for_byte() {
        let message = statement(&dimensions(7_950)).message();
        assert!(message.starts_with(
            r#"{"address":"0x01","asset":"dtb","chain_id":31337,"dimensions":{"bridge_mechanism":null,"credit_quality":null,"#
        ));
        assert!(message.contains(r#""liquidity":7950,"#));
        assert!(message.ends_with(
            r#""product_id":null,"purpose":"rds.asset_review","recorded_at":"1970-01-01T00:00:00.000001Z","review_status":"reviewed","reviewer_id":"lamplight","signed_at":"1970-01-01T00:00:00.000000Z","v":1}"#
        ));
    }

    #[test]
    fn the_signed_text_of_a_set_of_answers_is_fixed_byte_for_byte() {
        let statement = AnswersStatement {
            asset: "dtb",
            answers_hash: "ab",
            reviewer_id: "lamplight",
            signed_at: Timestamp::from_seconds(0),
        };
        assert_eq!(
            statement.message(),
            r#"{"answers_hash":"ab","asset":"dtb","purpose":"rds.asset_answers.attestation","reviewer_id":"lamplight","signed_at":"1970-01-01T00:00:00.000000Z","v":1}"#
        );
    }

    proptest! {
        #[test]
        fn different_statements_have_different_texts(
            a in (0i64..=1000, "[a-z\"]{0,3}", "[a-z\"]{0,3}"), b in (0i64..=1000, "[a-z\"]{0,3}", "[a-z\"]{0,3}"),
        ) {
            let text = |(points, product, reviewer): &(i64, String, String)| {
                let dimensions = dimensions(points * 10);
                let product_id = Some(product.as_str()).filter(|id| !id.is_empty());
                Statement { product_id, reviewer_id: reviewer, ..statement(&dimensions) }.message()
            };
            prop_assert_eq!(text(&a) == text(&b), a == b);
        }
    }
}
