//! Usage is reported completely and once, however often it is sent.

use crate::disk::*;
use proptest::prelude::*;
use rds_edge::guard::keys::record::KeyStatus;
use rds_edge::guard::keys::state::KeyGuard;
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::objects::message::{Take, Tally};
use rds_shared::access::KeyDigest;
use rds_shared::access::link::{KeyLookupResult, UsageBatch};
use rds_shared::route::RateLimitClass;
use std::collections::BTreeMap;
use std::rc::Rc;

const ENDPOINTS: [&str; 3] = ["GET /v1/vaults", "GET /v1/chains", "GET /v1/me"];

/// The origin: it applies each sequence number once, in order.
#[derive(Default)]
struct Ledger {
    last: u64,
    seen: BTreeMap<u64, UsageBatch>,
    served: u64,
    throttled: u64,
}

impl Ledger {
    fn apply(&mut self, batch: &UsageBatch) {
        let first = self.seen.entry(batch.sequence).or_insert_with(|| batch.clone());
        assert_eq!(first, batch, "a repeated batch is identical");
        if batch.sequence > self.last {
            assert_eq!(batch.sequence, self.last + 1, "sequence numbers have no gaps");
            self.last = batch.sequence;
            self.served += batch.rows.iter().map(|row| row.served).sum::<u64>();
            self.throttled += batch.rows.iter().map(|row| row.throttled).sum::<u64>();
        }
    }
}

#[derive(Debug, Clone)]
enum Event {
    Request(u8),
    Report(u8, bool),
    Replace,
    Clock(i64),
    /// Usage is sent; the batch or its acknowledgement may be lost.
    Send {
        arrives: bool,
        acknowledged: bool,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0u8..3).prop_map(Event::Request),
        2 => (0u8..3, any::<bool>()).prop_map(|(endpoint, served)| Event::Report(endpoint, served)),
        1 => Just(Event::Replace),
        3 => (-30i64..90).prop_map(Event::Clock),
        1 => Just(Event::Clock(50_000)),
        3 => any::<(bool, bool)>().prop_map(|(arrives, acknowledged)| Event::Send { arrives, acknowledged }),
    ]
}

fn send(instance: &mut Instance, origin: &mut Ledger, now: i64, arrives: bool, acknowledged: bool) -> bool {
    let Some(batch) = instance.step(|machine, disk| machine.next_batch(disk, now)).unwrap() else { return false };
    assert!(batch.through % 60 == 0 && batch.rows.len() <= ENDPOINTS.len());
    if arrives {
        origin.apply(&batch);
        if acknowledged {
            instance.step(|machine, disk| machine.acknowledged(disk, batch.sequence)).unwrap();
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn usage_counts_survive_restarts_and_resends_exactly_once(events in prop::collection::vec(event(), 1..200)) {
        let platter = Rc::<Platter>::default();
        let record = record(5, false);
        let mut instance = platter.instance();
        instance.introduce(record);
        let mut origin = Ledger::default();
        let (mut now, mut served, mut throttled) = (NOW, 0, 0);
        for event in events {
            match event {
                Event::Request(endpoint) => {
                    let endpoint = ENDPOINTS[usize::from(endpoint)].to_owned();
                    let take = Take { class: RateLimitClass::Public, endpoint, client: Subclient::Pooled };
                    let verdict = instance.take(record, &take, now).unwrap();
                    served += u64::from(verdict.admitted);
                }
                Event::Report(endpoint, was_served) => {
                    let (s, t) = if was_served { (1, 0) } else { (0, 1) };
                    let endpoint = ENDPOINTS[usize::from(endpoint)].to_owned();
                    let tally = [Tally { endpoint, served: s, throttled: t }];
                    instance.step(|machine, disk| machine.report(disk, &tally, now)).unwrap();
                    served += u64::from(s);
                    throttled += u64::from(t);
                }
                Event::Replace => instance = platter.instance(),
                Event::Clock(seconds) => now += seconds,
                Event::Send { arrives, acknowledged } => {
                    send(&mut instance, &mut origin, now, arrives, acknowledged);
                }
            }
        }
        now += 200_000;
        while send(&mut instance, &mut origin, now, true, true) {}
        prop_assert_eq!((origin.served, origin.throttled), (served, throttled));
        prop_assert_eq!(instance.step(|machine, disk| machine.owes(disk)), Some(false));
    }
}

#[test]
fn a_record_of_a_newer_release_loses_neither_the_counts_nor_the_key() {
    let platter = Rc::<Platter>::default();
    let (mut instance, record) = (platter.instance(), record(10, false));
    instance.introduce(record);
    let take = Take { class: RateLimitClass::Public, endpoint: ENDPOINTS[0].to_owned(), client: Subclient::Pooled };
    let charge = |instance: &mut Instance| instance.step(|machine, disk| machine.take(disk, &[(record, &take)], NOW));
    charge(&mut instance).unwrap();
    platter.forget_record();

    let mut instance = platter.instance();
    let standing =
        |instance: &mut Instance| instance.step(|machine, _| Ok(machine.status(NOW * 1_000, false))).unwrap();
    assert_eq!(standing(&mut instance), KeyStatus::Ask, "the origin is asked");
    let batch = instance.step(|machine, disk| machine.next_batch(disk, NOW + 60)).unwrap().unwrap();
    assert_eq!(batch.rows.iter().map(|row| row.served).sum::<u64>(), 1, "usage is still reported");
    let (answer, at) = (KeyLookupResult::Known { record }.into(), NOW * 1_000);
    let take_in = |machine: &mut KeyGuard, disk: &Disk| {
        machine.answered(disk, KeyDigest::of("k"), &answer, (at, at), String::new())
    };
    instance.step(take_in).unwrap();
    assert!(matches!(standing(&mut instance), KeyStatus::Live { .. }));
    assert!(matches!(standing(&mut platter.instance()), KeyStatus::Live { .. }), "the record is stored");
}

#[test]
fn nothing_is_stored_for_a_key_that_never_existed() {
    let platter = Rc::<Platter>::default();
    let mut instance = platter.instance();
    let tally = [Tally { endpoint: ENDPOINTS[0].to_owned(), served: 1, throttled: 0 }];
    assert_eq!(instance.step(|machine, disk| machine.report(disk, &tally, NOW)), Some(false));
    assert_eq!(instance.step(|machine, disk| machine.next_batch(disk, NOW + 60)), Some(None));
    assert_eq!(instance.step(|machine, disk| machine.owes(disk)), Some(false));
}
