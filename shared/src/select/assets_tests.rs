//! Filters, order and facets of the asset lists.

use super::*;
use crate::model::asset::{Institutional, Renewal};
use crate::model::ids::{Address, Namespace};
use crate::route::Query;
use crate::rules::tiers::tier_of;
use crate::scoring::asset::Dimensions;
use crate::wire::time::Timestamp;
use alloc::{format, vec};

fn asset(number: u32, category: AssetCategory, milli: Option<i64>) -> AssetRow {
    let score = milli.map(MilliPoints::saturating);
    let address = Address::parse(Namespace::Evm, &format!("0x{number:040x}")).unwrap();
    AssetRow {
        asset_id: number.to_string(),
        asset_version_id: None,
        address: Some(address),
        chain_id: ChainId(if number < 3 { 1 } else { 31337 }),
        symbol: format!("SYM{number}"),
        name: None,
        category,
        review_status: if number.is_multiple_of(2) { ReviewStatus::Provisional } else { ReviewStatus::Reviewed },
        risk_score: score,
        risk_tier: score.map(tier_of),
        issuer: None,
        in_basket_a: false,
        dimensions: Dimensions::default(),
        risk_overlays: vec![],
        instrument_type: (number == 4).then(|| "Fund".into()),
        hard_fail_flags: vec![],
        caps_applied: vec![],
        backing_profile: None,
        underlying_asset: None,
        institutional: Institutional {
            regulatory_wrapper: (number == 4).then(|| "reg_d_fund".into()),
            kyc_gate: (number == 4).then_some(KycGate::Accredited),
            ..Institutional::default()
        },
        data_provenance: vec![],
        reviewed_by: None,
        reviewer: None,
        recorded_at: None,
        freshness: Renewal::default().freshness(Timestamp::from_seconds(0)),
        dependency_chain: vec![],
        methodology_version: AssetRow::METHODOLOGY,
        chain_overlay: None,
        slug: format!("sym{number}"),
        quality: None,
        restricted_fields: &[],
        evidence: crate::model::evidence::AssetScoreEvidence::NONE,
    }
}

fn rows() -> Vec<AssetRow> {
    vec![
        asset(1, AssetCategory::Native, Some(6_000)),
        asset(2, AssetCategory::Lst, None),
        asset(3, AssetCategory::Lst, Some(9_000)),
        asset(4, AssetCategory::TokenizedTreasury, Some(6_000)),
        asset(5, AssetCategory::Unreviewed, None),
    ]
}

fn found(query: &str) -> Vec<u32> {
    let rows = rows();
    let slug = |row: &AssetRow| if row.chain_id == ChainId(1) { "ethereum" } else { "devnet" };
    let columns: Vec<AssetColumns<'_>> = rows.iter().map(|row| AssetColumns::of(row, slug(row))).collect();
    let query = Query::parse(routes::AssetList::QUERY, query).unwrap();
    let selection = AssetIndex::build(&columns).select(
        &AssetFilter::of_assets(RowQuery::of(&query)),
        RowQuery::<routes::AssetList>::of(&query).page().unwrap(),
    );
    assert!(selection.rows.len() <= selection.total);
    selection.rows.iter().map(|row| row + 1).collect()
}

#[test]
fn the_best_score_comes_first_equal_ones_by_id_and_unscored_assets_last() {
    assert_eq!(found(""), [3, 1, 4, 2, 5]);
    assert_eq!(found("page=2&limit=2"), [4, 2]);
}

#[test]
fn every_filter_keeps_exactly_the_matching_assets() {
    for (query, expected) in [
        ("chain=1", &[1, 2][..]),
        ("chain=Ethereum,devnet", &[3, 1, 4, 2, 5]),
        ("category=lst,Native", &[3, 1, 2]),
        ("instrument_type=fund", &[4]),
        ("defi_instrument=true", &[3, 2]),
        ("defi_instrument=false", &[1, 4, 5]),
        ("review_status=provisional", &[4, 2]),
        ("risk_tier=unknown", &[2, 5]),
        ("risk_tier=prime,unknown", &[3, 2, 5]),
        ("regulatory_wrapper=REG_D_FUND", &[4]),
        ("regulatory_wrapper=(unknown)", &[3, 1, 2, 5]),
        ("kyc_gate=accredited", &[4]),
        ("search=sYm4", &[4]),
        ("search=0x0000000000000000000000000000000000000003", &[3]),
        ("search=nothing", &[]),
        ("chain=devnet&category=lst", &[3]),
    ] {
        assert_eq!(found(query), expected, "{query}");
    }
}

#[test]
fn facets_count_every_asset_in_every_field() {
    let rows = rows();
    let facets = serde_json::to_value(facets(rows.iter())).unwrap();
    for (field, counts) in facets.as_object().unwrap() {
        let total: u64 = counts.as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap()).sum();
        assert_eq!(total, rows.len() as u64, "{field}");
    }
    assert_eq!(facets["risk_tiers"][0], serde_json::json!({ "risk_tier": "Core", "count": 2 }));
    assert_eq!(facets["custodians"], serde_json::json!([{ "custodian": "(unknown)", "count": 5 }]));
}

#[test]
fn the_filters_take_every_category_and_kyc_gate() {
    let categories: Vec<&str> = AssetCategory::ALL.iter().map(|category| category.as_str()).collect();
    assert_eq!(CATEGORIES, categories);
    assert!(RWA_CATEGORIES.iter().all(|category| CATEGORIES.contains(category)));
    let gates: Vec<&str> = KycGate::ALL.iter().map(|gate| gate.as_str()).collect();
    let query = |text: &str| Query::parse(routes::RwaList::QUERY, text);
    assert!(query(&format!("kyc_gate={}", gates.join(","))).is_ok());
    assert!(query("category=native").is_err());
}
