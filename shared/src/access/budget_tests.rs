//! Tests of the budgets.

use super::*;
use crate::access::Plan;
use proptest::prelude::*;

const NOW: i64 = 1_795_219_205;

fn key(rpm: u32, shared: bool) -> KeyRecord {
    KeyRecord { id: 1, org_id: 1, plan: Plan::Decisioning, rpm, shared, active: true, version: 1 }
}

#[test]
fn the_allowance_counts_down_and_returns_whole_when_the_window_ends() {
    let mut count = AddressCount::default();
    for left in (0..10).rev() {
        let verdict = count.take(AddressBudget::Anonymous, NOW);
        let allowance = Allowance { limit: 10, remaining: left, reset: 1_795_219_260 };
        assert_eq!((verdict.admitted, verdict.allowance), (true, allowance));
    }
    let before = count;
    assert!(!count.take(AddressBudget::Anonymous, 1_795_219_259).admitted);
    assert_eq!(count, before, "a refusal costs nothing");
    let next = count.take(AddressBudget::Anonymous, 1_795_219_260);
    assert_eq!((next.admitted, next.allowance.remaining), (true, 9));
}

#[test]
fn a_day_of_anonymous_requests_ends_at_a_thousand_and_at_midnight() {
    let midnight = NOW - NOW.rem_euclid(86_400);
    let mut count = AddressCount::default();
    let admitted = (0..86_400).filter(|s| count.take(AddressBudget::Anonymous, midnight + s).admitted).count();
    assert_eq!(admitted, 1_000);
    let refused = count.take(AddressBudget::Anonymous, midnight + 86_399);
    assert_eq!((refused.daily, refused.allowance.reset), (true, midnight + 86_400));
    assert!(count.take(AddressBudget::Anonymous, midnight + 86_400).admitted);
    let mut pages = AddressCount::default();
    assert!((0..86_400).all(|s| pages.take(AddressBudget::FirstParty, midnight + s).admitted));
}

#[test]
fn a_family_read_has_the_greater_of_both_limits_and_a_check_always_its_cap() {
    assert_eq!(key_limit(Family::GraphRead, 300), Some(600));
    assert_eq!(key_limit(Family::GraphRead, 5_000), Some(5_000));
    assert_eq!(key_limit(Family::GraphCheck, 5_000), Some(60));
    assert_eq!(key_limit(Family::BasketWebhooks, 5_000), Some(30));
    assert_eq!(key_limit(Family::Public, 7), Some(7));
    assert_eq!(key_limit(Family::Health, 7), None);
}

#[test]
fn one_client_of_a_shared_key_cannot_use_up_the_others() {
    let (record, mut total) = (key(40, true), Count::default());
    let (mut one, mut other) = (Count::default(), Count::default());
    let take =
        |total: &mut Count, client: &mut Count| take_key(&record, Family::Public, total, Some(client), NOW).unwrap();
    let served = (0..40).filter(|_| take(&mut total, &mut one).admitted).count();
    assert_eq!(served, 10);
    let refused = take(&mut total, &mut one);
    assert_eq!((refused.allowance.remaining, refused.subclient.unwrap().remaining), (30, 0));
    let verdict = take(&mut total, &mut other);
    let share = Allowance { limit: 10, remaining: 9, reset: 1_795_219_260 };
    assert_eq!((verdict.admitted, verdict.subclient), (true, Some(share)));
}

#[test]
fn an_ordinary_key_has_no_clients() {
    let mut client = Count::default();
    let verdict = take_key(&key(4, false), Family::Public, &mut Count::default(), Some(&mut client), NOW).unwrap();
    assert_eq!((verdict.subclient, client.used), (None, 0));
}

#[test]
fn a_quarter_is_rounded_down_and_never_nothing() {
    assert_eq!([1, 3, 4, 7, 8, 1_200].map(subclient_limit), [1, 1, 1, 1, 2, 300]);
}

#[test]
fn a_family_refuses_only_when_key_and_address_both_do() {
    let verdict = |admitted, remaining| Verdict {
        admitted,
        allowance: Allowance { limit: 60, remaining, reset: 0 },
        subclient: None,
        daily: false,
    };
    assert!(either(verdict(true, 3), verdict(false, 0)).admitted);
    assert!(either(verdict(false, 0), verdict(true, 7)).admitted);
    assert!(!either(verdict(false, 0), verdict(false, 0)).admitted);
    assert_eq!(either(verdict(true, 3), verdict(true, 7)).allowance.remaining, 7);
}

#[test]
fn a_rejected_key_is_charged_to_its_address_on_every_route() {
    for family in [Family::Public, Family::Health, Family::GraphCheck, Family::Unmetered] {
        assert_eq!(charge(family, Payer::Rejected), Charge::Address(AddressBudget::Anonymous));
    }
    assert_eq!(charge(Family::Health, Payer::Key), Charge::Address(AddressBudget::Health));
    assert_eq!(charge(Family::Public, Payer::Key), Charge::Key);
    assert_eq!(charge(Family::Unmetered, Payer::Key), Charge::Nothing);
}

proptest! {
    #[test]
    fn no_window_ever_admits_more_than_its_limit(
        limit in 1u32..40, steps in proptest::collection::vec((0i64..90, 0u8..3), 1..400),
    ) {
        let record = key(limit, true);
        let (mut total, mut clients) = (Count::default(), [Count::default(); 3]);
        let mut admitted = std::collections::BTreeMap::<(i64, Option<u8>), u32>::new();
        let mut now = NOW;
        for (wait, client) in steps {
            now += wait / 10;
            let count = &mut clients[usize::from(client)];
            if take_key(&record, Family::Public, &mut total, Some(count), now).unwrap().admitted {
                *admitted.entry((window_of(now), None)).or_default() += 1;
                *admitted.entry((window_of(now), Some(client))).or_default() += 1;
            }
        }
        for ((_, client), count) in admitted {
            let bound = if client.is_some() { subclient_limit(limit) } else { limit };
            prop_assert!(count <= bound);
        }
    }
}

proptest! {
    #[test]
    fn a_verdict_travels_between_hosts_unchanged(admitted: bool, limit: u32, used: u32, reset: i64, daily: bool) {
        let allowance = Allowance { limit, remaining: limit.saturating_sub(used), reset };
        let verdict = Verdict { admitted, allowance, subclient: admitted.then_some(allowance), daily };
        let text = serde_json::to_string(&verdict).unwrap();
        prop_assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }
}
