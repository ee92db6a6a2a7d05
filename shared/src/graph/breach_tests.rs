//! Tests of the breach preview: a fall computed by hand, unknown debt reported separately, and totals that add up.

use super::*;
use crate::scoring::canonical::Canonicalize;
use alloc::string::ToString;
use proptest::prelude::*;
use serde_json::json;

fn market(id: &str, debt: Option<i64>, collateral: Option<(i64, i64, i64)>) -> LendingMarket {
    let instant = Timestamp::from_seconds(1_000);
    LendingMarket {
        contract: id.into(),
        name: id.into(),
        protocol_id: "harbor".into(),
        chain_id: 1,
        source: "onchain_rpc".into(),
        read_from: instant,
        read_to: instant,
        debt_cents: debt,
        is_debt_whole: debt.is_some(),
        collateral: collateral.map(|(value_cents, threshold_ppm, bonus_ppm)| Collateral {
            value_cents,
            threshold_ppm: Some(threshold_ppm),
            bonus_ppm: Some(bonus_ppm),
        }),
        vaults: Vec::new(),
    }
}

/// The preview as JSON; each market's id is its contract.
fn answered(markets: &[LendingMarket]) -> serde_json::Value {
    let ids = markets.iter().map(|market| (market.contract.clone(), market.contract.clone())).collect();
    serde_json::to_value(preview(markets, &ids)).unwrap()
}

#[test]
fn a_fall_projects_a_loss_where_collateral_does_not_cover_debt_and_bonus() {
    // Debt 1 000 dollars, collateral 1 500, threshold 0.8, bonus 25 %.
    let markets = [market("a", Some(100_000), Some((150_000, 800_000, 250_000)))];
    let value = answered(&markets);
    let shocks = &value["protocols"][0]["shocks"];
    // Collateral 1 425: covers 1 140 after the bonus, supports 1 140 at the threshold.
    assert_eq!(
        shocks[0],
        json!({"shockPct": 5, "projectedLossUsd": 0.0, "liquidatableDebtMinUsd": 0.0, "liquidatableDebtMaxUsd": 1000.0})
    );
    // Collateral 1 050: 840 for both. Collateral 750: 600 for both.
    assert_eq!(
        shocks[3],
        json!({"shockPct": 30, "projectedLossUsd": 160.0, "liquidatableDebtMinUsd": 160.0, "liquidatableDebtMaxUsd": 1000.0})
    );
    assert_eq!(shocks[4]["projectedLossUsd"], 400.0);
}

#[test]
fn missing_thresholds_and_bonuses_keep_the_projection_a_lower_bound() {
    let collateral = Collateral { value_cents: 150_000, threshold_ppm: None, bonus_ppm: None };
    let markets = [LendingMarket { collateral: Some(collateral), ..market("a", Some(100_000), None) }];
    let entry = answered(&markets)["protocols"][0].clone();
    // Collateral 1 500 falls to 1 050, then to 750.
    assert_eq!(
        (&entry["shocks"][3]["projectedLossUsd"], &entry["shocks"][4]["projectedLossUsd"]),
        (&json!(0.0), &json!(250.0))
    );
    assert_eq!(entry["shocks"][4]["liquidatableDebtMinUsd"], 250.0);
    assert_eq!(
        (&entry["topMarkets"][0]["collateralUsd"], &entry["topMarkets"][0]["liquidationThreshold"]),
        (&json!(1500.0), &json!(null))
    );
}

#[test]
fn debt_without_valued_collateral_is_reported_separately() {
    let markets =
        [market("a", Some(100_000), Some((1, 800_000, 0))), market("b", Some(999_900), None), market("c", None, None)];
    let value = answered(&markets);
    let entry = &value["protocols"][0];
    assert_eq!((&entry["pricedDebtUsd"], &entry["unpricedDebtUsd"]), (&json!(1000.0), &json!(9999.0)));
    assert_eq!(entry["shocks"][4]["projectedLossUsd"], 1000.0);
    assert_eq!(entry["shocks"][4]["liquidatableDebtMaxUsd"], 1000.0);
    let counts = ["marketCount", "debtReadCount", "pricedCount"].map(|name| entry["coverage"][name].as_u64().unwrap());
    assert_eq!((entry["coverage"]["status"].as_str().unwrap(), counts), ("interval_sampled", [3, 2, 1]));
    assert_eq!(value["topMarkets"], entry["topMarkets"]);
    assert_eq!(entry["topMarkets"][0]["marketId"], "b", "largest debt first, valued or not");
}

#[test]
fn partly_read_debt_is_not_part_of_any_projection() {
    let markets = [LendingMarket { is_debt_whole: false, ..market("a", Some(100_000), Some((1, 800_000, 0))) }];
    let entry = answered(&markets)["protocols"][0].clone();
    assert_eq!((&entry["pricedDebtUsd"], &entry["unpricedDebtUsd"]), (&json!(0.0), &json!(1000.0)));
    assert_eq!(entry["shocks"][4]["liquidatableDebtMaxUsd"], 0.0);
    assert_eq!((&entry["coverage"]["debtReadCount"], &entry["coverage"]["pricedCount"]), (&json!(0), &json!(0)));
    assert_eq!(entry["topMarkets"][0]["unpricedDebtUsd"], 1000.0, "the debt that was read is reported");
}

#[test]
fn deprecated_members_repeat_the_first_entry_and_are_null_without_one() {
    let other = LendingMarket {
        protocol_id: "lantern".into(),
        source: "protocol_api".into(),
        chain_id: 8453,
        ..market("z", Some(5), None)
    };
    let markets = [market("a", Some(1), None), other];
    let value = answered(&markets);
    assert_eq!(
        (&value["schemaVersion"], &value["maturity"], &value["protocolId"]),
        (&json!(2), &json!("preview"), &json!("lantern"))
    );
    for member in ["observedAt", "protocolId", "source", "maturity", "shockPcts", "chains", "topMarkets"] {
        assert_eq!(value[member], value["protocols"][0][member], "{member}");
    }
    let empty = answered(&[]);
    assert_eq!((&empty["protocolId"], &empty["protocols"]), (&json!(null), &json!([])));
}

#[test]
fn a_market_parses_back_from_its_canonical_text() {
    let vault_key = VaultKey::parse("1:0x0000000000000000000000000000000000000001").unwrap();
    let vaults = alloc::vec![LendingVault { vault_key, supplied_cents: Some(7), bad_debt_cents: None }];
    let supply = Some(Collateral { value_cents: 1, threshold_ppm: None, bonus_ppm: None });
    let markets = [
        market("a", Some(1), Some((1, 2, 3))),
        LendingMarket { vaults, ..market("b", None, None) },
        LendingMarket { collateral: supply, ..market("c", Some(1), None) },
    ];
    for market in markets {
        assert_eq!(serde_json::from_str::<LendingMarket>(&market.canonical().to_string()).unwrap(), market);
    }
}

proptest! {
    #[test]
    fn a_deeper_fall_never_projects_less_and_chains_add_up_to_their_protocol(
        rows in proptest::collection::vec((0..4_u64, 0..1_000_000_000_i64, proptest::option::of((0..1_000_000_000_i64, 0..=1_000_000_i64, 0..300_000_i64))), 1..12),
    ) {
        let markets: Vec<LendingMarket> = rows
            .into_iter()
            .enumerate()
            .map(|(place, (chain_id, debt, collateral))| LendingMarket { chain_id, ..market(&place.to_string(), Some(debt), collateral) })
            .collect();
        let ids = MarketIds::new();
        let preview = preview(&markets, &ids);
        let entry = &preview.protocols[0];
        for pair in entry.totals.shocks.windows(2) {
            prop_assert!(pair[0].projected_loss_usd <= pair[1].projected_loss_usd);
            prop_assert!(pair[0].liquidatable_debt_min_usd <= pair[1].liquidatable_debt_min_usd);
        }
        for shock in &entry.totals.shocks {
            prop_assert!(shock.liquidatable_debt_min_usd <= shock.liquidatable_debt_max_usd);
            prop_assert_eq!(shock.liquidatable_debt_max_usd, entry.totals.priced_debt_usd);
            prop_assert!(shock.projected_loss_usd <= entry.totals.priced_debt_usd);
        }
        let mut sum = Totals::none();
        entry.chains.iter().for_each(|chain| sum.add(&chain.totals));
        prop_assert_eq!(&sum, &entry.totals);
    }
}
