//! A key's limits are exact, whatever happens to its Durable Object.

use crate::disk::*;
use proptest::prelude::*;
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::objects::message::{Take, Tally};
use rds_shared::access::budget::{subclient_limit, window_of};
use rds_shared::route::RateLimitClass;
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Debug, Clone)]
enum Event {
    /// Requests of clients reach the Durable Object together.
    Requests { clients: Vec<u8> },
    /// A request reaches an instance that was replaced without its knowledge.
    StaleRequest,
    /// An isolate reports refusals that the Durable Object did not see.
    Report,
    /// The instance ends: evicted, crashed or replaced by a deployment.
    Replace,
    /// Another instance starts while this one continues.
    Double,
    /// Time passes, or the clock is set back.
    Clock(i64),
    /// Writes fail, or succeed again.
    Fail(bool),
    /// The Durable Object sums up closed windows as usage batches.
    Fold,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => prop::collection::vec(0u8..4, 1..8).prop_map(|clients| Event::Requests { clients }),
        2 => Just(Event::StaleRequest),
        1 => Just(Event::Report),
        2 => Just(Event::Replace),
        1 => Just(Event::Double),
        3 => (-70i64..40).prop_map(Event::Clock),
        1 => any::<bool>().prop_map(Event::Fail),
        1 => Just(Event::Fold),
    ]
}

fn take(client: u8) -> Take {
    let name = (client > 0).then(|| client.to_string());
    let client = Subclient::read(name.as_deref()).unwrap();
    Take { class: RateLimitClass::Public, endpoint: "GET /v1/vaults".to_owned(), client }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn exactly_the_limit_is_admitted(limit in 1u32..30, shared: bool, events in prop::collection::vec(event(), 1..250)) {
        let platter = Rc::<Platter>::default();
        let record = record(limit, shared);
        let mut live = platter.instance();
        live.introduce(record);
        let mut stale = None;
        let (mut now, mut failing) = (NOW, false);
        // The oracle: admitted requests by window, and by window and client.
        let (mut totals, mut clients) = (BTreeMap::<i64, u32>::new(), BTreeMap::<(i64, u8), u32>::new());
        let mut latest = 0;
        for event in events {
            match event {
                Event::Requests { clients: asking } => {
                    let takes: Vec<_> = asking.iter().map(|client| (record, take(*client))).collect();
                    let requests: Vec<_> = takes.iter().map(|(record, take)| (*record, take)).collect();
                    let Some(verdicts) = live.step(|machine, disk| machine.take(disk, &requests, now)) else {
                        prop_assert!(failing, "only a storage fault leaves requests without a verdict");
                        continue;
                    };
                    prop_assert_eq!(verdicts.len(), asking.len());
                    for (client, verdict) in asking.into_iter().zip(verdicts.into_iter().flatten()) {
                        // With the clock set back, requests count in the latest window in which any was admitted.
                        let window = verdict.allowance.reset / 60 - 1;
                        prop_assert!(window >= window_of(now).max(latest));
                        let total = totals.entry(window).or_default();
                        let own = clients.entry((window, client)).or_default();
                        let room = *total < limit && (!shared || *own < subclient_limit(limit));
                        prop_assert_eq!(verdict.admitted, room);
                        if verdict.admitted {
                            prop_assert!(!failing);
                            *total += 1;
                            *own += 1;
                            latest = window;
                        }
                        prop_assert_eq!(verdict.allowance.remaining, limit - *total);
                    }
                }
                Event::StaleRequest => {
                    if let Some(stale) = &mut stale {
                        let stale: &mut Instance = stale;
                        let verdict = stale.take(record, &take(0), now);
                        prop_assert!(!verdict.is_some_and(|verdict| verdict.admitted), "a replaced instance can admit nothing");
                    }
                }
                Event::Report => {
                    let tally = [Tally { endpoint: "GET /v1/vaults".to_owned(), served: 0, throttled: 1 }];
                    live.step(|machine, disk| machine.report(disk, &tally, now));
                }
                Event::Replace => live = platter.instance(),
                Event::Double => stale = Some(std::mem::replace(&mut live, platter.instance())),
                Event::Clock(seconds) => now += seconds,
                Event::Fail(fails) => {
                    failing = fails;
                    platter.fail(fails);
                }
                Event::Fold => {
                    live.step(|machine, disk| machine.next_batch(disk, now));
                }
            }
        }
    }
}
