//! Index levels by example, and properties that hold for any prices.

use super::*;
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;

const FIRST: i64 = 20_000;

fn day(number: i64) -> Day {
    Day::from_number(FIRST + number)
}

fn price(units: u64) -> Price {
    Price::new(u128::from(units)).unwrap()
}

fn version(effective: i64, holdings: &[(&str, i64)]) -> IndexVersion {
    let holdings = holdings.iter().map(|(id, weight)| ((*id).to_string(), Ppm(*weight))).collect();
    IndexVersion { effective_on: day(effective), holdings, is_withheld: false }
}

/// Prices by day: one row per day, one column per id; 0 means not read.
fn prices(ids: &[&str], rows: &[&[u64]]) -> ClosingPrices {
    let of = |row: &&[u64]| {
        let read = ids.iter().zip(*row).filter(|(_, units)| **units > 0);
        read.map(|(id, units)| ((*id).to_string(), price(*units))).collect()
    };
    rows.iter().enumerate().map(|(number, row)| (day(i64::try_from(number).unwrap()), of(row))).collect()
}

fn levels(chain: &Chain) -> Vec<Result<u64, Gap>> {
    chain.days.iter().map(|it| it.level.map(Level::get)).collect()
}

#[test]
fn a_level_is_the_value_of_a_basket_bought_at_its_weights() {
    let versions = [version(0, &[("a", 600_000), ("b", 400_000)])];
    // 0.6 · 1.1 + 0.4 · 0.5 = 0.86; 0.6 · 1 + 0.4 · 2 = 1.4.
    let chain = chain(&versions, &prices(&["a", "b"], &[&[100, 200], &[110, 100], &[100, 400]]), day(2));
    assert_eq!(levels(&chain), [Ok(1_000_000_000), Ok(860_000_000), Ok(1_400_000_000)]);
    assert_eq!(chain.links, [Link { version: 0, day: day(0), level: Level::BASE }]);
    assert_eq!(serde_json::to_string(&Level(1_000_500_000)).unwrap(), "1000.5");
}

#[test]
fn a_rebalance_does_not_move_the_level_and_the_next_day_follows_the_new_version() {
    let versions = [version(0, &[("a", 1_000_000)]), version(1, &[("b", 1_000_000)])];
    let chain = chain(&versions, &prices(&["a", "b"], &[&[100, 7], &[150, 5], &[1, 10]]), day(2));
    assert_eq!(levels(&chain), [Ok(1_000_000_000), Ok(1_500_000_000), Ok(3_000_000_000)]);
    assert_eq!(chain.days.iter().map(|it| it.held).collect::<Vec<_>>(), [Some(0), Some(1), Some(1)]);
    assert_eq!(chain.links[1], Link { version: 1, day: day(1), level: Level(1_500_000_000) });
}

#[test]
fn a_gap_is_not_filled_and_does_not_affect_the_days_around_it() {
    let versions = [version(0, &[("a", 500_000), ("b", 500_000)])];
    let chain = chain(&versions, &prices(&["a", "b"], &[&[0, 1], &[1, 1], &[5, 0], &[], &[2, 2]]), day(5));
    let unread = Err(Gap::Unread);
    assert_eq!(levels(&chain), [unread, Ok(1_000_000_000), unread, unread, Ok(2_000_000_000), unread]);
    assert_eq!((chain.links[0].day, chain.days[0].held), (day(1), None), "the base date is the first complete day");
}

#[test]
fn a_version_is_linked_on_the_first_day_on_which_both_were_read() {
    let versions = [version(0, &[("a", 1_000_000)]), version(1, &[("b", 1_000_000)]), version(3, &[("c", 1_000_000)])];
    let read = prices(&["a", "b", "c"], &[&[10, 0, 0], &[20, 0, 0], &[0, 9, 0], &[40, 1, 0], &[30, 5, 2], &[0, 0, 3]]);
    let chain = chain(&versions, &read, day(5));
    let unread = Err(Gap::Unread);
    assert_eq!(levels(&chain), [Ok(1_000_000_000), unread, unread, unread, Ok(3_000_000_000), Ok(4_500_000_000)]);
    assert_eq!(chain.links.iter().map(|link| link.version).collect::<Vec<_>>(), [0, 2], "the second was never held");
}

#[test]
fn an_index_with_a_withheld_chain_has_gaps_until_the_chain_is_served_again() {
    let mut versions = [version(0, &[("a", 1_000_000)]), version(1, &[("b", 1_000_000)])];
    let read = prices(&["a", "b"], &[&[1, 1], &[1, 1], &[1, 1]]);
    let whole = levels(&chain(&versions, &read, day(2)));
    versions[1].is_withheld = true;
    let hidden = chain(&versions, &read, day(2));
    assert_eq!(levels(&hidden), [Ok(1_000_000_000), Err(Gap::Withheld), Err(Gap::Withheld)]);
    versions = [IndexVersion { is_withheld: true, ..versions[0].clone() }, version(1, &[("b", 1_000_000)])];
    assert_eq!(levels(&chain(&versions, &read, day(1))), [Err(Gap::Withheld), Ok(1_000_000_000)]);
    versions[0].is_withheld = false;
    assert_eq!(levels(&chain(&versions, &read, day(2))), whole);
}

#[test]
fn a_reading_outside_the_price_range_is_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-19, 1e9, 1e300] {
        assert_eq!(Price::read(bad), None, "{bad}");
    }
    assert_eq!(Price::read(1.025), Price::new(1_025_000_000_000_000_000));
    assert_eq!(Price::read(1e8), Price::new(Price::MAX));
}

#[test]
fn a_level_out_of_range_is_a_gap() {
    let versions = [version(0, &[("a", 1_000_000)])];
    let read = |units: [u128; 2]| {
        let one = |(at, units): (usize, u128)| {
            (day(i64::try_from(at).unwrap()), BTreeMap::from([("a".to_string(), Price::new(units).unwrap())]))
        };
        units.into_iter().enumerate().map(one).collect::<ClosingPrices>()
    };
    for units in [[1, Price::MAX], [Price::MAX, 1], [1, 10_u128.pow(7)]] {
        assert_eq!(chain(&versions, &read(units), day(1)).days[1].level, Err(Gap::OutOfRange), "{units:?}");
    }
}

const IDS: [&str; 4] = ["a", "b", "c", "d"];
const DAYS: usize = 12;

/// One row per day with one price for each of `IDS`: from 0.5 to 2 (as a multiple of 10⁻¹⁸), or 0 if the price was not read.
fn table() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let cell = prop_oneof![6 => 500_000_000_000_000_000_u64..2_000_000_000_000_000_000, 1 => Just(0)];
    prop::collection::vec(prop::collection::vec(cell, IDS.len()), DAYS)
}

fn weights() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(1_i64..1_000, IDS.len()).prop_map(|parts| {
        let sum: i64 = parts.iter().sum();
        let mut weights: Vec<i64> = parts.iter().map(|part| part * 1_000_000 / sum).collect();
        weights[0] += 1_000_000 - weights.iter().sum::<i64>();
        weights
    })
}

/// One to three versions of the same vaults with different weights, and the prices.
fn world() -> impl Strategy<Value = (Vec<IndexVersion>, Vec<Vec<u64>>)> {
    (prop::collection::vec((weights(), 1_i64..5), 1..4), table()).prop_map(|(drawn, table)| {
        let mut at = 0;
        let versions = drawn.iter().map(|(weights, later)| {
            let holdings: Vec<(&str, i64)> = IDS.iter().copied().zip(weights.iter().copied()).collect();
            let made = version(at, &holdings);
            at += later;
            made
        });
        (versions.collect(), table)
    })
}

fn chained(versions: &[IndexVersion], table: &[Vec<u64>]) -> Chain {
    let rows: Vec<&[u64]> = table.iter().map(Vec::as_slice).collect();
    chain(versions, &prices(&IDS, &rows), day(i64::try_from(DAYS).unwrap() - 1))
}

proptest! {
    #[test]
    fn every_day_appears_once_and_complete_days_have_levels((versions, table) in world()) {
        let chain = chained(&versions, &table);
        prop_assert_eq!(chain.days.len(), DAYS);
        for (row, it) in table.iter().zip(&chain.days) {
            // All versions have the same vaults, so a day is complete for all versions or for none.
            prop_assert_eq!(it.level.is_ok(), row.iter().all(|units| *units > 0));
        }
    }

    #[test]
    fn constant_prices_give_a_constant_level((versions, table) in world()) {
        let still: Vec<Vec<u64>> = table.iter().map(|_| table[0].iter().map(|units| (*units).max(1)).collect()).collect();
        prop_assert!(chained(&versions, &still).days.iter().all(|it| it.level == Ok(Level::BASE)));
    }

    #[test]
    fn the_level_does_not_depend_on_the_unit_of_a_vaults_price((versions, table) in world(), factor in 2_u64..9) {
        let scaled: Vec<Vec<u64>> =
            table.iter().map(|row| vec![row[0] * factor, row[1], row[2], row[3]]).collect();
        prop_assert_eq!(chained(&versions, &scaled), chained(&versions, &table));
    }

    #[test]
    fn the_order_of_the_names_does_not_matter((versions, table) in world()) {
        let turned: Vec<IndexVersion> = versions
            .iter()
            .map(|it| IndexVersion { holdings: it.holdings.iter().rev().cloned().collect(), ..it.clone() })
            .collect();
        prop_assert_eq!(chained(&turned, &table), chained(&versions, &table));
    }

    #[test]
    fn a_price_on_a_day_without_a_link_changes_that_day_only((versions, table) in world(), at in 0..DAYS, one in 0..IDS.len()) {
        let before = chained(&versions, &table);
        prop_assume!(before.links.iter().all(|link| link.day != day(i64::try_from(at).unwrap())));
        // On an incomplete day, the changed price could be the missing one, and a version could then be linked.
        prop_assume!(before.days[at].level.is_ok());
        for units in [0, 3_000_000_000_000_000_000] {
            let mut other = table.clone();
            other[at][one] = units;
            let after = chained(&versions, &other);
            for (number, (a, b)) in before.days.iter().zip(&after.days).enumerate() {
                prop_assert_eq!(a == b, number != at, "{}", number);
            }
        }
    }

    #[test]
    fn a_higher_price_never_lowers_the_level((versions, table) in world(), at in 0..DAYS, one in 0..IDS.len(), by in 1_u64..1_000_000_000_000_000_000) {
        let before = chained(&versions, &table);
        prop_assume!(before.days[at].level.is_ok() && before.links.first().is_some_and(|link| link.day < before.days[at].day));
        let mut other = table.clone();
        other[at][one] += by;
        prop_assert!(chained(&versions, &other).days[at].level >= before.days[at].level);
    }

    #[test]
    fn a_level_lies_between_the_price_ratios(weights in weights(), then in prop::collection::vec(1_u64..u64::MAX, 4), now in prop::collection::vec(1_u64..u64::MAX, 4)) {
        let holdings: Vec<(&str, i64)> = IDS.iter().copied().zip(weights.iter().copied()).collect();
        let chain = chain(&[version(0, &holdings)], &prices(&IDS, &[&then, &now]), day(1));
        let ratios: Vec<f64> = then.iter().zip(&now).map(|(then, now)| *now as f64 / *then as f64).collect();
        let (low, high) = ratios.iter().fold((f64::MAX, 0.0_f64), |(low, high), it| (low.min(*it), high.max(*it)));
        match chain.days[1].level {
            Ok(level) => {
                let moved = level.get() as f64 / Level::BASE.get() as f64;
                prop_assert!(moved >= low * 0.999_999 - 1e-8 && moved <= high * 1.000_001 + 1e-8, "{moved} of {low}..{high}");
            }
            Err(gap) => prop_assert!(gap == Gap::OutOfRange && (high > 1e5 || low < 1e-5)),
        }
    }
}
