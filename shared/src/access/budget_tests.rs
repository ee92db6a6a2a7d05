//! Tests of the request budgets.

use super::*;
use crate::access::Plan;
use proptest::prelude::*;

const NOW: i64 = 1_795_219_205;

fn key(rpm: u32, shared: bool) -> KeyRecord {
    KeyRecord { id: 1, org_id: 1, plan: Plan::Decisioning, rpm, shared, active: true, version: 1 }
}

#[test]
fn the_remaining_requests_count_down_and_the_full_limit_returns_with_the_next_window() {
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
fn one_address_has_a_thousand_anonymous_requests_a_day_until_midnight_utc() {
    let midnight = NOW - NOW.rem_euclid(86_400);
    let mut count = AddressCount::default();
    let admitted = (0..86_400).filter(|s| count.take(AddressBudget::Anonymous, midnight + s).admitted).count();
    assert_eq!(admitted, 1_000);
    let refused = count.take(AddressBudget::Anonymous, midnight + 86_399);
    assert_eq!((refused.daily, refused.allowance.reset), (true, midnight + 86_400));
    assert!(count.take(AddressBudget::Anonymous, midnight + 86_400).admitted);
}

#[test]
fn one_address_has_twenty_thousand_first_party_requests_a_day() {
    let midnight = NOW - NOW.rem_euclid(86_400);
    let mut pages = AddressCount::default();
    let admitted = (0..86_400).filter(|s| pages.take(AddressBudget::FirstParty, midnight + s).admitted).count();
    assert_eq!(admitted, 20_000);
    assert!(pages.take(AddressBudget::FirstParty, midnight + 86_399).daily);
}

#[test]
fn the_remaining_requests_never_exceed_what_is_left_today() {
    let midnight = NOW - NOW.rem_euclid(86_400);
    let mut count = AddressCount::default();
    for second in 0..997 {
        // One request every ten seconds: six a minute.
        assert!(count.take(AddressBudget::Anonymous, midnight + second * 10).admitted);
    }
    let left = [0, 1, 2].map(|_| count.take(AddressBudget::Anonymous, midnight + 20_000).allowance.remaining);
    assert_eq!(left, [2, 1, 0]);
}

/// Charges a request to an address and to a neighbourhood of `ratio` times its limits.
fn near(own: &mut AddressCount, shared: &mut AddressCount, ratio: u32, now: i64) -> Verdict {
    let shared = NeighbourhoodCount { count: shared, ratio };
    take_address(AddressCounters::Both(own, shared), AddressBudget::Anonymous, now)
}

#[test]
fn a_request_refused_by_the_address_or_by_the_neighbourhood_is_charged_to_neither() {
    let (mut shared, mut one, mut other) = Default::default();
    assert!((0..10).all(|_| near(&mut one, &mut shared, 2, NOW).admitted));
    let before = shared;
    let refused = near(&mut one, &mut shared, 2, NOW);
    assert!(!refused.admitted && !refused.of_neighbourhood && refused.allowance.limit == 10 && shared == before);
    assert!((0..7).all(|_| near(&mut other, &mut shared, 2, NOW).admitted));
    let mut third = AddressCount::default();
    for left in (0..3).rev() {
        let verdict = near(&mut third, &mut shared, 2, NOW);
        assert!(verdict.admitted && verdict.of_neighbourhood, "the budget that has less left is reported");
        assert_eq!((verdict.allowance.limit, verdict.allowance.remaining), (20, left));
    }
    let before = other;
    let refused = near(&mut other, &mut shared, 2, NOW);
    assert_eq!((refused.admitted, refused.of_neighbourhood, refused.allowance.remaining), (false, true, 0));
    assert_eq!(other, before);
    assert!(near(&mut other, &mut shared, 2, NOW + 60).admitted);
}

#[test]
fn of_two_refusals_the_one_with_the_longer_wait_is_reported() {
    let today = NOW.div_euclid(86_400);
    let (mut own, mut shared) = (AddressCount::default(), AddressCount::default());
    own.minute = Count { window: window_of(NOW), used: 10 };
    shared.day = Count { window: today, used: 2_000 };
    let verdict = near(&mut own, &mut shared, 2, NOW);
    assert_eq!((verdict.admitted, verdict.daily, verdict.of_neighbourhood), (false, true, true));
    assert_eq!(verdict.allowance.reset, (today + 1) * 86_400);
}

#[test]
fn a_graph_read_gets_the_greater_limit_and_a_graph_check_always_its_cap() {
    assert_eq!(key_limit(RateLimitClass::GraphRead, 300), Some(600));
    assert_eq!(key_limit(RateLimitClass::GraphRead, 5_000), Some(5_000));
    assert_eq!(key_limit(RateLimitClass::GraphCheck, 5_000), Some(60));
    assert_eq!(key_limit(RateLimitClass::BasketWebhooks, 5_000), Some(30));
    assert_eq!(key_limit(RateLimitClass::Public, 7), Some(7));
    assert_eq!(key_limit(RateLimitClass::Health, 7), None);
}

#[test]
fn one_client_of_a_shared_key_cannot_use_up_the_limit_of_the_others() {
    let (record, mut total) = (key(40, true), Count::default());
    let (mut one, mut other) = (Count::default(), Count::default());
    let take = |total: &mut Count, client: &mut Count| {
        take_key(&record, RateLimitClass::Public, total, Some(client), NOW).unwrap()
    };
    let served = (0..40).filter(|_| take(&mut total, &mut one).admitted).count();
    assert_eq!(served, 10);
    let refused = take(&mut total, &mut one);
    assert_eq!((refused.allowance.remaining, refused.subclient.unwrap().remaining), (30, 0));
    let verdict = take(&mut total, &mut other);
    let share = Allowance { limit: 10, remaining: 9, reset: 1_795_219_260 };
    assert_eq!((verdict.admitted, verdict.subclient), (true, Some(share)));
}

#[test]
fn a_key_that_is_not_shared_has_no_client_limits() {
    let mut client = Count::default();
    let verdict =
        take_key(&key(4, false), RateLimitClass::Public, &mut Count::default(), Some(&mut client), NOW).unwrap();
    assert_eq!((verdict.subclient, client.used), (None, 0));
}

#[test]
fn a_clients_share_is_a_quarter_rounded_down_and_at_least_one() {
    assert_eq!([1, 3, 4, 7, 8, 1_200].map(subclient_limit), [1, 1, 1, 1, 2, 300]);
}

#[test]
fn a_request_is_refused_only_when_key_and_address_both_refuse_it() {
    let verdict = |admitted, remaining| Verdict {
        admitted,
        allowance: Allowance { limit: 60, remaining, reset: 0 },
        subclient: None,
        daily: false,
        of_neighbourhood: false,
    };
    assert!(either(verdict(true, 3), verdict(false, 0)).admitted);
    assert!(either(verdict(false, 0), verdict(true, 7)).admitted);
    assert!(!either(verdict(false, 0), verdict(false, 0)).admitted);
    assert_eq!(either(verdict(true, 3), verdict(true, 7)).allowance.remaining, 7);
}

#[test]
fn a_rejected_key_is_charged_to_its_address_on_every_route() {
    for class in [RateLimitClass::Public, RateLimitClass::Health, RateLimitClass::GraphCheck, RateLimitClass::Unmetered]
    {
        assert_eq!(charge(class, Payer::Rejected), Charge::Address(AddressBudget::Anonymous));
    }
    assert_eq!(charge(RateLimitClass::Health, Payer::Key), Charge::Address(AddressBudget::Health));
    assert_eq!(charge(RateLimitClass::Public, Payer::Key), Charge::Key);
    assert_eq!(charge(RateLimitClass::Unmetered, Payer::Key), Charge::Nothing);
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
            if take_key(&record, RateLimitClass::Public, &mut total, Some(count), now).unwrap().admitted {
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
    fn a_verdict_reads_back_as_written(admitted: bool, limit: u32, used: u32, reset: i64, daily: bool) {
        let allowance = Allowance { limit, remaining: limit.saturating_sub(used), reset };
        let verdict = Verdict { admitted, allowance, subclient: admitted.then_some(allowance), daily, of_neighbourhood: daily };
        let text = serde_json::to_string(&verdict).unwrap();
        prop_assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }
}

proptest! {
    /// In any order of requests, the limits of address, neighbourhood and day hold, and a request within all of them is admitted.
    #[test]
    fn no_interleaving_admits_more_than_address_neighbourhood_and_day_allow(
        ratio in 1u32..4,
        steps in proptest::collection::vec((0u8..5, 0i64..20, prop::bool::weighted(0.02)), 1..1_500),
    ) {
        let budget = AddressBudget::Anonymous;
        let (mut own, mut shared) = ([AddressCount::default(); 5], AddressCount::default());
        let mut counted = std::collections::BTreeMap::<(i64, bool, Option<u8>), u32>::new();
        let mut now = NOW;
        for (who, wait, night) in steps {
            now += wait + if night { 40_000 } else { 0 };
            let count = &mut own[usize::from(who)];
            let keys = [
                (window_of(now), false, Some(who)), (window_of(now), false, None),
                (day_of(now), true, Some(who)), (day_of(now), true, None),
            ];
            let limits = [10, 10 * ratio, 1_000, 1_000 * ratio];
            let room = keys.iter().zip(limits).all(|(key, limit)| counted.get(key).copied().unwrap_or(0) < limit);
            let verdict = take_address(
                AddressCounters::Both(count, NeighbourhoodCount { count: &mut shared, ratio }), budget, now,
            );
            prop_assert_eq!(verdict.admitted, room);
            if room {
                keys.iter().for_each(|key| *counted.entry(*key).or_default() += 1);
            }
            let left = keys.iter().zip(limits).map(|(key, limit)| limit - counted.get(key).copied().unwrap_or(0));
            prop_assert_eq!(verdict.allowance.remaining, left.min().unwrap());
            prop_assert!(verdict.admitted || verdict.allowance.reset > now);
        }
    }
}
