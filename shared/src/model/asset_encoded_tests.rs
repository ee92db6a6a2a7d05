//! Tests of encoded asset rows: the bytes written for a view equal the row that is serialised for the same caller and time.

use super::super::asset::{AssetRow, Institutional, Quality};
use super::super::ids::ChainId;
use super::super::rwa::{CanonicalAum, RwaMetrics, RwaRow};
use super::*;
use crate::rules::rwa_totals::IdentityStatus;
use crate::scoring::MilliPoints;
use crate::scoring::asset::{AssetCategory, Dimension, ReviewStatus, RwaScoreStatus};
use crate::scoring::number::Decimal;
use alloc::{string::String, vec};
use proptest::prelude::*;

fn row(symbol: String, renewal: Renewal, view: &View) -> AssetRow {
    let quality = Quality {
        weighted_dimensions: 7,
        answered_dimensions: 5,
        evidence_coverage: Decimal { units: 75, scale: 2 },
        provenance_documents: 1,
    };
    let row = AssetRow {
        asset_id: "12".into(),
        asset_version_id: None,
        address: None,
        chain_id: ChainId(1),
        name: Some(symbol.clone()),
        reviewer: Some(symbol.clone()),
        slug: symbol.clone(),
        symbol,
        category: AssetCategory::RwaCredit,
        review_status: ReviewStatus::Reviewed,
        risk_score: None,
        risk_tier: None,
        issuer: None,
        in_basket_a: false,
        dimensions: [(Dimension::Liquidity, MilliPoints::MAX)].into_iter().collect(),
        risk_overlays: vec!["lockup"],
        instrument_type: None,
        hard_fail_flags: vec![],
        caps_applied: vec![],
        backing_profile: None,
        underlying_asset: None,
        institutional: Institutional::default(),
        data_provenance: vec![],
        reviewed_by: None,
        recorded_at: None,
        freshness: renewal.freshness(view.now),
        dependency_chain: vec![],
        methodology_version: AssetRow::METHODOLOGY,
        chain_overlay: None,
        quality: view.with_quality.then_some(quality),
        restricted_fields: &[],
        evidence: crate::model::evidence::AssetScoreEvidence::NONE,
    };
    if view.is_keyed { row } else { row.withheld(RESTRICTED_IN_ROWS) }
}

fn rwa(asset: AssetRow, aum_of: Option<Timestamp>, now: Timestamp) -> RwaRow {
    RwaRow {
        asset,
        score_status: RwaScoreStatus::Unscored,
        dimensions_only: false,
        product_id: None,
        identity_status: IdentityStatus::Unmapped,
        canonical_product_id: "X".into(),
        aum_scope: None,
        canonical_aum: CanonicalAum {
            snapshot_date: None,
            included: false,
            exclusion_reason: None,
            value_usd: None,
            source_id: None,
            effective_at: None,
            age_hours: aum_of.map(|at| age_hours(at, now)),
            carried_forward: None,
            observation_ids: vec![],
            caveats: vec![],
        },
        metrics: RwaMetrics::default(),
    }
}

proptest! {
    #[test]
    fn bytes_equal_the_row_serialised_for_that_caller_at_that_instant(
        text in ".{0,20}", hostile in any::<bool>(), is_keyed in any::<bool>(), with_quality in any::<bool>(),
        renewed in proptest::option::of(0i64..4_000_000_000), before in proptest::option::of(0i64..4_000_000_000),
        aum_of in proptest::option::of(0i64..4_000_000_000), now in 0i64..4_000_000_000, as_rwa in any::<bool>(),
    ) {
        let text = if hostile { "\"dimensions\":{},\"age_hours\":1}".into() } else { text };
        let at = |seconds: Option<i64>| seconds.map(Timestamp::from_seconds);
        let renewal = Renewal { at: at(renewed), before: at(before), cadence_seconds: 604_800 };
        let view = View::new(Timestamp::from_seconds(now), is_keyed, with_quality);
        let whole = View::new(Timestamp::from_seconds(5), true, true);
        let (known, wanted) = (row(text.clone(), renewal, &whole), row(text, renewal, &view));
        let (encoded, wanted) = if as_rwa {
            (
                EncodedAsset::encode(&rwa(known, at(aum_of), whole.now), renewal, at(aum_of)).unwrap(),
                serde_json::to_string(&rwa(wanted, at(aum_of), view.now)).unwrap(),
            )
        } else {
            (EncodedAsset::encode(&known, renewal, None).unwrap(), serde_json::to_string(&wanted).unwrap())
        };
        let mut out = Vec::new();
        encoded.write(&view, &mut out);
        prop_assert!(out.len() <= encoded.max_len());
        prop_assert_eq!(String::from_utf8(out).unwrap(), wanted);
        let mut bytes = Vec::new();
        encoded.write_record(&mut bytes);
        prop_assert_eq!(EncodedAsset::read_record(&mut Reader::new(&bytes)), Some(encoded));
    }
}

#[test]
fn a_changed_dimension_or_status_changes_the_version_and_a_passing_hour_does_not() {
    let at = Timestamp::from_seconds;
    let renewal = Renewal { at: Some(at(0)), before: None, cadence_seconds: 604_800 };
    let early = row("X".into(), renewal, &View::new(at(0), true, true));
    let version = |row: &AssetRow, seconds| EncodedAsset::encode(row, renewal, None).unwrap().version(at(seconds));
    assert_eq!(version(&early, 0), version(&row("X".into(), renewal, &View::new(at(9_999), true, true)), 3_600));
    assert_ne!(version(&early, 0), version(&early, 604_800_000));
    let mut other = early.clone();
    other.dimensions.set(Dimension::Liquidity, None);
    assert_ne!(version(&early, 0), version(&other, 0));
}
