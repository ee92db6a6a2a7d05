//! Tests of the totals of real-world assets.

use super::*;
use alloc::vec;
use proptest::prelude::*;

fn day(number: i64) -> Timestamp {
    Timestamp::from_seconds(number * DAY)
}

fn deployment(asset: i64, chain_id: u64, product: Option<&str>) -> Deployment {
    let identity = if product.is_some() { IdentityStatus::Verified } else { IdentityStatus::Candidate };
    Deployment { asset, chain_id, category: "rwa_credit".into(), identity, product_id: product.map(String::from) }
}

fn stated(id: i64, asset: i64, source: (&str, i32), at: Timestamp, fund: i64) -> Observation {
    Observation {
        id,
        asset,
        source_id: source.0.into(),
        priority: source.1,
        effective_at: at,
        published_at: at,
        fund_aum: Some(fund),
        issued: None,
        circulating: None,
    }
}

const ISSUER: (&str, i32) = ("issuer", 1);
const FEED: (&str, i32) = ("feed", 2);

#[test]
fn a_product_on_two_chains_counts_once_and_an_unverified_deployment_does_not_count() {
    let deployments = vec![deployment(1, 1, Some("fund")), deployment(2, 10, Some("fund")), deployment(3, 1, None)];
    let figures =
        ProductFigures::new(deployments, vec![stated(1, 1, ISSUER, day(5), 900), stated(2, 3, ISSUER, day(5), 70)]);
    let snapshot = figures.snapshot(day(5));
    assert_eq!(snapshot.included, ProductTotal { products: 1, cents: 900 });
    assert_eq!(snapshot.excluded, BTreeMap::from([("identity_unverified".into(), 1)]));
    let contributions = figures.contributions(day(5));
    let told =
        |asset: i64| (contributions[&asset].value.as_ref().map(|value| value.cents), contributions[&asset].exclusion);
    assert_eq!(told(1), (Some(900), None));
    assert_eq!(told(2), (None, Some(Exclusion::CountedOnce)));
    assert_eq!(told(3), (None, Some(Exclusion::IdentityUnverified)));
}

#[test]
fn a_figure_is_carried_for_a_week_and_then_missing_never_zero() {
    let figures = ProductFigures::new(vec![deployment(1, 1, Some("fund"))], vec![stated(1, 1, ISSUER, day(10), 900)]);
    let value = |number| figures.contributions(day(number))[&1].clone();
    assert_eq!(value(10).value.map(|value| value.carried_forward), Some(false));
    let carried = value(16).value.unwrap();
    assert!(carried.carried_forward && carried.caveats.contains(&Caveat::CarriedForward));
    assert_eq!(value(17), Contribution { value: None, exclusion: Some(Exclusion::ObservationExpired) });
    assert_eq!(value(9), Contribution { value: None, exclusion: Some(Exclusion::NeverObserved) });
    assert_eq!(figures.snapshot(day(17)).included, ProductTotal::default());
    assert_eq!(figures.snapshot(day(17)).excluded["observation_expired"], 1);
}

#[test]
fn the_best_ranked_source_is_used_and_a_disagreeing_source_is_a_caveat() {
    let observations = vec![
        stated(1, 1, ISSUER, day(4), 1_000),
        stated(2, 1, FEED, day(5), 1_050),
        Observation { fund_aum: None, issued: Some(5), ..stated(3, 1, ("catalog", 0), day(5), 0) },
    ];
    let quiet =
        ProductFigures::new(vec![deployment(1, 1, Some("fund"))], observations[..2].to_vec()).contributions(day(5));
    let value = quiet[&1].value.as_ref().unwrap();
    assert_eq!(
        (value.cents, value.source_id.as_str(), value.observation_ids.as_slice()),
        (1_000, "issuer", &[1, 2][..])
    );
    assert!(!value.caveats.contains(&Caveat::SourcesDisagree), "a difference of exactly 5 % is no disagreement");
    let loud = ProductFigures::new(vec![deployment(1, 1, Some("fund"))], observations).contributions(day(5));
    let value = loud[&1].value.as_ref().unwrap();
    assert_eq!(value.cents, 1_000, "a fund's own figure beats an issued value, whatever the rank");
    assert!(value.caveats.contains(&Caveat::SourcesDisagree));
}

#[test]
fn a_correction_published_later_replaces_the_figure_of_its_instant() {
    let corrected = Observation { published_at: day(6), ..stated(2, 1, ISSUER, day(5), 950) };
    let figures =
        ProductFigures::new(vec![deployment(1, 1, Some("fund"))], vec![stated(1, 1, ISSUER, day(5), 1_000), corrected]);
    assert_eq!(figures.snapshot(day(5)).included.cents, 950);
}

#[test]
fn value_that_no_deployment_accounts_for_is_unallocated() {
    let deployments = vec![deployment(1, 1, Some("fund")), deployment(2, 10, Some("fund"))];
    let with = |first: i64, second: i64| {
        let observed = vec![
            Observation { circulating: Some(first), ..stated(1, 1, ISSUER, day(5), 1_000) },
            Observation { circulating: Some(second), fund_aum: None, ..stated(2, 2, ISSUER, day(5), 0) },
        ];
        ProductFigures::new(deployments.clone(), observed).snapshot(day(5))
    };
    let snapshot = with(600, 150);
    assert_eq!((snapshot.by_chain[&1].cents, snapshot.by_chain[&10].cents), (600, 150));
    assert_eq!(snapshot.unallocated_cents, 250);
    let crowded = with(900, 300);
    assert_eq!((crowded.by_chain[&1].cents, crowded.by_chain[&10].cents, crowded.unallocated_cents), (750, 250, 0));
    assert_eq!(crowded.caveats["circulating_exceeds_total"], 1);
}

proptest! {
    #[test]
    fn every_breakdown_adds_up_to_the_total_in_any_order_of_facts(
        facts in proptest::collection::vec((0i64..6, 0usize..3, 0i64..12, proptest::option::of(0i64..1_000_000), proptest::option::of(0i64..1_000_000), proptest::option::of(0i64..1_000_000)), 0..40),
        on in 0i64..14,
    ) {
        let products = ["a", "a", "b", "c"];
        let deployments: Vec<Deployment> =
            (0..6).map(|asset| deployment(asset, asset as u64 % 3, products.get(asset as usize).copied())).collect();
        let sources = [ISSUER, FEED, ("third", 2)];
        let mut observations: Vec<Observation> = facts.iter().enumerate().map(|(id, (asset, source, at, fund, issued, circulating))| Observation {
            fund_aum: *fund, issued: *issued, circulating: *circulating, ..stated(id as i64, *asset, sources[*source], day(*at), 0)
        }).collect();
        let snapshot = ProductFigures::new(deployments.clone(), observations.clone()).snapshot(day(on));
        let chains: i64 = snapshot.by_chain.values().map(|part| part.cents).sum();
        prop_assert_eq!(chains + snapshot.unallocated_cents, snapshot.included.cents);
        prop_assert_eq!(snapshot.by_category.values().map(|part| part.cents).sum::<i64>(), snapshot.included.cents);
        prop_assert_eq!(snapshot.by_source.values().map(|part| part.cents).sum::<i64>(), snapshot.included.cents);
        prop_assert_eq!(snapshot.included.products + snapshot.excluded.values().sum::<u64>(), 3 + 2, "three products, two unmapped");
        observations.reverse();
        let figures = ProductFigures::new(deployments, observations);
        prop_assert_eq!(&figures.snapshot(day(on)), &snapshot);
        let contributions = figures.contributions(day(on));
        let rows: i64 = contributions.values().filter_map(|standing| standing.value.as_ref()).map(|value| value.cents).sum();
        prop_assert_eq!(rows, snapshot.included.cents, "summing the rows gives the total");
        prop_assert!(contributions.values().all(|standing| standing.value.is_some() != standing.exclusion.is_some()));
    }
}
