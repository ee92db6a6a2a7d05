//! The simulated reviewers. Their keys are derived from their names, so anybody can sign for them; they exist on the devnet only.

use super::funds::{self, ASSET_WITH_DISPUTED_REVIEW, ASSET_WITHOUT_SIGNED_REVIEW, Fund};
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::source::SOURCE;
use rds_engine::attestation::ReviewerSecret;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{AssetReview, Attestation, Points, Reviewer, ReviewerKey};
use rds_shared::rules::attestation::Statement;
use rds_shared::scoring::asset::{Dimensions, ReviewStatus};
use rds_store::At;
use sha2::{Digest, Sha256};

/// The organisation that reviews all simulated assets.
pub const ORGANISATION: &str = "Lamplight Review Circle";
/// The reviewer that signs for [`ORGANISATION`].
pub const LEAD: &str = "lamplight";
/// The reviewer that names another product for [`ASSET_WITH_DISPUTED_REVIEW`].
const SECOND: &str = "tallow";
/// Name of the current key.
const CURRENT: &str = "k2";
/// Name of the previous key.
const PAST: &str = "k1";

/// The reviewers: id, name, organisation, and whether they still sign.
const REVIEWERS: [(&str, &str, Option<&str>, bool); 3] = [
    (LEAD, "Lamplight desk", Some(ORGANISATION), true),
    (SECOND, "Tallow and Wick", None, true),
    ("ashgrove", "Ashgrove Opinions", None, false),
];

/// All reviewers, current and former.
pub fn registry(moment: Moment) -> Vec<Observation> {
    let reviewer = |(id, name, organisation, signs): &(&str, &str, Option<&str>, bool)| {
        let handover = moment.days_before_start(100);
        let key = |name: &str, valid_from, valid_until| ReviewerKey {
            key_id: name.to_owned(),
            public_key: secret(id, name).public_key(),
            valid_from,
            valid_until,
        };
        let past = key(PAST, moment.days_before_start(900), Some(handover));
        let current = signs.then(|| key(CURRENT, handover, None));
        Observation::Reviewer(Reviewer {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            organisation: organisation.map(str::to_owned),
            website_url: None,
            keys: [Some(past), current].into_iter().flatten().collect(),
        })
    };
    REVIEWERS.iter().map(reviewer).collect()
}

/// The attestations of a review, signed at the time of the review by its author, and for the disputed asset also by a second reviewer.
pub fn attestations(review: &AssetReview) -> Vec<Observation> {
    if review.review_status == ReviewStatus::Unreviewed || review.asset_id == ASSET_WITHOUT_SIGNED_REVIEW {
        return Vec::new();
    }
    let product = Fund::of(&review.asset_id).map(|fund| fund.product);
    let mut signed = vec![signed(review, LEAD, product)];
    if review.asset_id == ASSET_WITH_DISPUTED_REVIEW {
        signed.push(self::signed(review, SECOND, Some("loom-growth")));
    }
    signed
}

fn signed(review: &AssetReview, reviewer_id: &str, product_id: Option<&str>) -> Observation {
    let known = |(name, points): (&String, &Option<Points>)| Some((name.parse().ok()?, (*points)?.0));
    let dimensions: Dimensions = review.dimensions.iter().filter_map(known).collect();
    let At(recorded_at) = review.observed_at;
    let statement = Statement {
        asset: &review.asset_id,
        chain_id: CHAIN_ID.unsigned_abs(),
        address: Some(&funds::address(&review.asset_id)),
        recorded_at,
        review_status: review.review_status,
        dimensions: &dimensions,
        product_id,
        reviewer_id,
        signed_at: recorded_at,
    };
    Observation::Attestation(Attestation {
        kind: Kind,
        observed_at: review.observed_at,
        source: SOURCE.to_owned(),
        asset_id: review.asset_id.clone(),
        reviewed_at: review.observed_at,
        reviewer_id: reviewer_id.to_owned(),
        key_id: CURRENT.to_owned(),
        product_id: product_id.map(str::to_owned),
        signed_at: review.observed_at,
        signature: secret(reviewer_id, CURRENT).sign(&statement.message()),
    })
}

/// The reviewer's secret key, the same on every machine.
fn secret(reviewer_id: &str, key_id: &str) -> ReviewerSecret {
    let mut digest = Sha256::new();
    digest.update(b"a devnet reviewer that does not exist\n");
    digest.update(reviewer_id.as_bytes());
    digest.update(b"\n");
    digest.update(key_id.as_bytes());
    ReviewerSecret::from_seed(digest.finalize().into())
}
