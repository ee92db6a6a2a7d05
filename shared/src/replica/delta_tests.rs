//! Deltas between states, and what breaks none of them.

use super::*;
use crate::wire::record;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use proptest::prelude::*;

fn rows(vaults: &BTreeMap<u8, String>, feeds: &BTreeMap<u8, String>) -> Rows {
    let list = |rows: &BTreeMap<u8, String>| {
        rows.iter().map(|(key, content)| Row::new(&[*key], content.as_bytes()).unwrap()).collect::<Vec<_>>()
    };
    let mut all = Rows::default();
    all.set(Family::Vaults, Arc::new(list(vaults))).unwrap();
    all.set(Family::Feeds, Arc::new(list(feeds))).unwrap();
    all
}

fn vault(tvl: u32) -> String {
    format!("{{\"id\":\"a\",\"name\":\"A, B\",\"tvl_usd\":{tvl},\"apr\":null,{}\"end\":1}}", "\"k\":1,".repeat(60))
}

fn one(tvl: u32) -> Rows {
    rows(&BTreeMap::from([(1, vault(tvl)), (2, vault(7))]), &BTreeMap::new())
}

#[test]
fn a_field_that_changed_travels_alone() {
    let (before, after) = (one(10), one(1_000));
    let delta = Delta::between((&before, StateId::of(&before)), (&after, StateId::of(&after)));
    let [Change::Patch(Family::Vaults, patch)] = delta.changes.as_slice() else { panic!("{delta:?}") };
    let kept = vault(10).find("10").unwrap() + 2;
    assert_eq!(patch.edits, [Edit { keep: kept, drop: 0, put: b"00".to_vec() }]);
    assert!(delta.encode().len() < 64 + 64, "{}", delta.encode().len());
    assert_eq!(Delta::decode(&delta.encode()).unwrap().apply(&before, delta.from), Ok(after));
}

#[test]
fn families_and_rows_that_did_not_change_stay_the_same_in_memory() {
    let before = one(10);
    let mut after = before.clone();
    after.set(Family::Feeds, Arc::new(vec![Row::new(b"f", b"{}").unwrap()])).unwrap();
    let delta = Delta::between((&before, StateId::of(&before)), (&after, StateId::of(&after)));
    let applied = delta.apply(&before, delta.from).unwrap();
    assert!(applied.shares(&before, Family::Vaults) && !applied.shares(&before, Family::Feeds));
    assert_eq!(applied, after);
}

#[test]
fn a_delta_of_another_state_or_with_a_change_too_few_is_refused() {
    let (before, after) = (one(10), one(1_000));
    let delta = Delta::between((&before, StateId::of(&before)), (&after, StateId::of(&after)));
    assert_eq!(delta.apply(&after, StateId::of(&after)), Err(DeltaFault::OtherState));
    assert_eq!(delta.apply(&after, delta.from), Err(DeltaFault::WrongResult), "the rows are not those of the state");
    let half = Delta { changes: Vec::new(), ..delta.clone() };
    assert_eq!(half.apply(&before, delta.from), Err(DeltaFault::WrongResult));
    let gone = Delta { changes: vec![Change::Remove(Family::Losses, vec![9])], ..delta };
    assert_eq!(gone.apply(&before, gone.from), Err(DeltaFault::WrongResult));
}

#[test]
fn a_holder_of_some_families_checks_what_it_can() {
    let names = |text: &str| BTreeMap::from([(1, String::from(text))]);
    let states = [("a", "a"), ("b", "a"), ("b", "b")].map(|(vaults, feeds)| rows(&names(vaults), &names(feeds)));
    let between = |from: &Rows, to: &Rows| Delta::between((from, StateId::of(from)), (to, StateId::of(to)));
    let vaults = Families::of(&[Family::Vaults]);
    let apply = |delta: &Delta, rows: &Rows, at| at_once(delta.apply_only(rows.clone(), at, vaults, &Pace::unbroken()));
    let held = states[0].only(vaults);
    assert_eq!(held.of(Family::Feeds).len(), 0);
    let of_vaults = between(&states[0], &states[1]);
    assert_eq!(apply(&of_vaults, &held, of_vaults.from), Ok(states[1].only(vaults)));
    let wrong = Delta { to: of_vaults.from, ..of_vaults.clone() };
    assert_eq!(apply(&wrong, &held, wrong.from), Err(DeltaFault::WrongResult), "every change was applied");
    let of_feeds = between(&states[1], &states[2]);
    assert_eq!(apply(&of_feeds, &states[1].only(vaults), of_feeds.from), Ok(states[2].only(vaults)));
    assert_eq!(apply(&of_feeds, &held, of_vaults.from), Err(DeltaFault::OtherState));
}

#[test]
fn of_several_changes_of_a_row_in_any_order_the_last_counts() {
    let (before, after) = (one(10), one(1_000));
    let mut delta = Delta::between((&before, StateId::of(&before)), (&after, StateId::of(&after)));
    let put = |tvl| Change::Put(Family::Vaults, one(tvl).of(Family::Vaults)[0].clone());
    let [patch] = delta.changes.as_slice() else { panic!("{delta:?}") };
    delta.changes =
        vec![put(7), Change::Put(Family::Vaults, before.of(Family::Vaults)[1].clone()), put(9), patch.clone()];
    assert_eq!(delta.apply(&before, delta.from), Ok(after));
}

#[test]
fn rows_that_nobody_else_holds_are_changed_where_they_are() {
    let (before, after) = (one(10), one(1_000));
    let delta = Delta::between((&before, StateId::of(&before)), (&after, StateId::of(&after)));
    let first = Arc::downgrade(before.of(Family::Vaults)[0].shared_bytes().unwrap());
    let applied = at_once(delta.apply_only(before, delta.from, Families::ALL, &Pace::unbroken())).unwrap();
    assert_eq!((&applied, first.strong_count()), (&after, 0), "the replaced row is freed");
}

#[test]
fn a_number_that_changes_in_every_row_takes_few_bytes_of_each() {
    // As in a vault: numbers in binary before the texts, of which some contain a comma by chance, and a digest.
    let content = |row: u64, run: u64| {
        let digest = (row * 31 + run).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        let tvl = (row * 7_919 + run) as f64;
        let text =
            format!("{{\"id\":\"vault-{row}\",\"name\":\"Vault {row}\",\"tvl_usd\":{tvl},\"apr\":0.04,\"run\":{run},");
        [tvl.to_le_bytes().as_slice(), &digest, text.as_bytes(), "\"k\":1,".repeat(60).as_bytes()].concat()
    };
    let state = |run: u64| {
        let row = |row: u64| Row::new(format!("vault-{row:05}").as_bytes(), &content(row, run)).unwrap();
        let mut rows = Rows::default();
        rows.set(Family::Vaults, Arc::new((0..2_000).map(row).collect())).unwrap();
        rows
    };
    let (before, after) = (state(1), state(2));
    let delta = Delta::between((&before, StateId::of(&before)), (&after, StateId::of(&after)));
    assert!(delta.changes.iter().all(|change| matches!(change, Change::Patch(..))), "no row travels whole");
    let bytes = delta.encode();
    assert!(bytes.len() < 2_000 * 16, "{} bytes, of which 8 a row are those of its digest", bytes.len());
    assert_eq!(Delta::decode(&bytes).unwrap().apply(&before, delta.from), Ok(after));
}

fn list() -> impl Strategy<Value = BTreeMap<u8, String>> {
    prop::collection::btree_map(0u8..12, "[ab,]{0,6}", 0..10)
}

proptest! {
    #[test]
    fn a_delta_leads_from_any_state_to_any_other(a in (list(), list()), b in (list(), list())) {
        let (before, after) = (rows(&a.0, &a.1), rows(&b.0, &b.1));
        let delta = Delta::between((&before, StateId::of(&before)), (&after, StateId::of(&after)));
        let read = Delta::decode(&delta.encode()).unwrap();
        prop_assert_eq!(&read, &delta);
        prop_assert_eq!(read.apply(&before, delta.from), Ok(after));
    }

    #[test]
    fn no_bytes_break_the_reading_or_applying(
        raw in prop::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..60),
        streams in prop::collection::vec(prop::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..6), 10),
        are_streams: bool, a in list(),
    ) {
        let before = rows(&a, &a);
        let at = StateId::of(&before);
        let mut parts = Vec::new();
        streams.iter().for_each(|stream| record::put_bytes(stream, &mut parts));
        let raw = if are_streams { parts } else { raw };
        let bytes = [at.bytes().as_slice(), &[0; 32], &compress_to_vec(&raw, 1)].concat();
        if let Some(delta) = Delta::decode(&bytes) {
            let _ = delta.apply(&before, at);
        }
        prop_assert!(Delta::decode(&raw).is_none() || raw.len() >= 64);
    }
}
