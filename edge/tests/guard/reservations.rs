//! Limits with reservations: never exceeded, whatever messages are lost, and fully usable if none is lost.

use crate::disk::*;
use proptest::prelude::*;
use rds_edge::guard::keys::isolate_reservations::{RESERVABLE_CLASS, Reserved};
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::objects::message::{KeyAsk, Reservation, ReserveAsk, Settled, Take};
use rds_shared::access::budget::Verdict;
use rds_shared::access::link::{KeyLookupResult, UsageBatch};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::RouteId;
use rds_shared::wire::Timestamp;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(1);
const ROUTES: [RouteId; 2] = [RouteId::VaultList, RouteId::Chains];

#[derive(Debug, Clone)]
enum Event {
    /// Sequential requests to an isolate.
    Requests { isolate: usize, route: usize, count: u32 },
    /// Time passes, in milliseconds, or the clock is set back.
    Clock(i64),
    /// The Durable Object ends: evicted, crashed or replaced by a deployment.
    Replace,
    /// An isolate ends and loses its reservations.
    Forget(usize),
    /// The next message to the Durable Object is lost, or its answer.
    Lose { answer: bool },
    /// Latency of reservations in milliseconds, from now on.
    Latency(i64),
    /// The Durable Object sums up closed windows as usage batches and sends them.
    Fold,
}

fn harmless() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => (0usize..2, 0usize..2, 1u32..800).prop_map(|(isolate, route, count)| Event::Requests { isolate, route, count }),
        6 => (0i64..120).prop_map(Event::Clock),
        2 => (120i64..20_000).prop_map(Event::Clock),
        1 => Just(Event::Fold),
        1 => (0i64..300).prop_map(Event::Latency),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        20 => harmless(),
        1 => (-70_000i64..0).prop_map(Event::Clock),
        1 => Just(Event::Replace),
        1 => (0usize..2).prop_map(Event::Forget),
        2 => any::<bool>().prop_map(|answer| Event::Lose { answer }),
    ]
}

/// A key's Durable Object, two isolates with reservations, and the origin that receives the usage.
struct World {
    key: KeyDigest,
    record: KeyRecord,
    platter: Rc<Platter>,
    object: Instance,
    isolates: [Reserved; 2],
    /// Timers of isolates, by due time.
    timers: Vec<(i64, usize)>,
    now: i64,
    lose: Option<bool>,
    latency: i64,
    /// Requests that were counted but whose answers were lost.
    unanswered: u64,
    /// Admitted requests by window.
    admitted: BTreeMap<i64, u32>,
    reserved: u32,
    spent: u32,
    reservation_requests: i64,
    batches: BTreeMap<u64, UsageBatch>,
}

impl World {
    fn new(limit: u32) -> Self {
        let platter = Rc::<Platter>::default();
        let mut object = platter.instance();
        let record = record(limit, false);
        object.introduce(record);
        let mut world = World {
            key: KeyDigest::of("k"),
            record,
            platter,
            object,
            isolates: Default::default(),
            timers: Vec::new(),
            now: NOW * 1_000,
            lose: None,
            latency: 0,
            unanswered: 0,
            admitted: BTreeMap::new(),
            reserved: 0,
            spent: 0,
            reservation_requests: 0,
            batches: BTreeMap::new(),
        };
        world.renew();
        world
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// The origin confirms the record, because a reservation ends with the record's lease.
    fn renew(&mut self) {
        let (answer, at) = (KeyLookupResult::Known { record: self.record }.into(), (self.now, self.now));
        self.object.step(|machine, disk| machine.answered(disk, self.key, &answer, at, String::new())).unwrap();
    }

    /// Whether a message arrives, and whether its answer does.
    fn delivery(&mut self) -> (bool, bool) {
        match self.lose.take() {
            Some(answer) => (answer, false),
            None => (true, true),
        }
    }

    fn settle(&mut self, settled: &[Settled]) {
        let now = self.now.div_euclid(1_000);
        self.object.step(|machine, disk| machine.settle(disk, settled, now)).unwrap();
    }

    fn pass(&mut self, millis: i64) {
        self.now += millis;
        self.renew();
        let (due, later) = std::mem::take(&mut self.timers).into_iter().partition(|(at, _)| *at < self.now);
        self.timers = later;
        let due: Vec<_> = due;
        for (_, isolate) in due {
            let settled = self.isolates[isolate].over(&self.key, self.at());
            if !settled.is_empty() && self.delivery().0 {
                self.settle(&settled);
            }
        }
    }

    fn reserve(&mut self, isolate: usize) {
        let (key, at) = (self.key, self.at());
        let Some(request) = self.isolates[isolate].begin(&key, at, PATIENCE) else { return };
        let settled = self.isolates[isolate].over(&key, at);
        let (arrives, answered) = self.delivery();
        let mut answer: Option<(KeyRecord, Reservation)> = None;
        if arrives {
            self.settle(&settled);
            let ask =
                KeyAsk { digest: key, shown: String::new(), text: None, take: None, tally: vec![], settled: vec![] };
            let asked = ReserveAsk { ask, class: RESERVABLE_CLASS, want: request.want, lasts: request.lasts };
            self.reservation_requests += 1;
            let (record, instant) = (self.record, (self.now, self.reservation_requests));
            let reservation =
                self.object.step(|machine, disk| machine.reserve(disk, &record, &asked, instant)).unwrap();
            answer = reservation.filter(|_| answered).map(|reservation| (record, reservation));
        }
        self.pass(self.latency);
        self.reserved += answer.map_or(0, |(_, reservation)| reservation.size);
        if let Some(lasts) = self.isolates[isolate].end(&key, (at, self.at()), answer) {
            self.timers.push((self.now + i64::try_from(lasts.as_millis()).unwrap(), isolate));
        }
    }

    /// Charges the request at the Durable Object; repeats a refused charge while a reservation is unsettled.
    fn ask(&mut self, isolate: usize, route: RouteId) -> Option<Verdict> {
        let settled = self.isolates[isolate].over(&self.key, self.at());
        let (arrives, answered) = self.delivery();
        if !arrives {
            return None;
        }
        self.settle(&settled);
        let take = Take { class: RESERVABLE_CLASS, endpoint: route.route().endpoint(), client: Subclient::Pooled };
        loop {
            let verdict = self.object.take(self.record, &take, self.now.div_euclid(1_000)).unwrap();
            let now = self.now;
            let waits = self.object.step(|machine, _| Ok(machine.is_unsettled(Some(RESERVABLE_CLASS), now))).unwrap();
            if verdict.admitted || !waits {
                self.unanswered += u64::from(verdict.admitted && !answered);
                return Some(verdict).filter(|_| answered);
            }
            self.pass(5);
        }
    }

    /// Makes a request; `None` if the Durable Object did not answer.
    fn request(&mut self, isolate: usize, route: RouteId) -> Option<Verdict> {
        let verdict = match self.isolates[isolate].spend(&self.key, RESERVABLE_CLASS, route, self.at()) {
            Some(spent) => {
                self.spent += 1;
                if spent.is_low {
                    self.reserve(isolate);
                }
                spent.verdict
            }
            None => {
                let verdict = self.ask(isolate, route)?;
                let left = verdict.allowance.remaining;
                if verdict.admitted && self.isolates[isolate].asked(&self.key, left, self.at()) {
                    self.reserve(isolate);
                }
                verdict
            }
        };
        if verdict.admitted {
            *self.admitted.entry(verdict.allowance.reset / 60 - 1).or_default() += 1;
        }
        Some(verdict)
    }

    fn in_window(&self, verdict: &Verdict) -> u32 {
        self.admitted.get(&(verdict.allowance.reset / 60 - 1)).copied().unwrap_or(0)
    }

    fn fold(&mut self) -> bool {
        let now = self.now.div_euclid(1_000);
        let Some(batch) = self.object.step(|machine, disk| machine.next_batch(disk, now)).unwrap() else {
            return false;
        };
        self.object.step(|machine, disk| machine.acknowledged(disk, batch.sequence)).unwrap();
        self.batches.insert(batch.sequence, batch);
        true
    }

    /// Total usage received by the origin after everything was sent.
    fn reported(&mut self) -> u64 {
        self.pass(1_000);
        // Every window that was reached before the clock was set back must be closed.
        self.pass(20_000_000);
        while self.fold() {}
        assert_eq!(self.object.step(|machine, disk| machine.owes(disk)), Some(false));
        self.batches.values().flat_map(|batch| &batch.rows).map(|row| row.served).sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn without_losses_exactly_the_limit_is_admitted_and_reported(
        limit in 300u32..3_000, events in prop::collection::vec(harmless(), 1..90),
    ) {
        let mut world = World::new(limit);
        for event in events {
            match event {
                Event::Requests { isolate, route, count } => for _ in 0..count {
                    let begun = world.now;
                    let verdict = world.request(isolate, ROUTES[route]).unwrap();
                    let admitted = world.in_window(&verdict);
                    prop_assert!(verdict.allowance.reset * 1_000 > begun, "the verdict is of the current window");
                    prop_assert!(admitted <= limit);
                    prop_assert!(verdict.admitted || admitted == limit, "refused at {} of {}", admitted, limit);
                },
                Event::Clock(millis) => world.pass(millis),
                Event::Latency(millis) => world.latency = millis,
                _ => { world.fold(); }
            }
        }
        let admitted: u32 = world.admitted.values().sum();
        prop_assert_eq!(world.reported(), u64::from(admitted));
    }

    #[test]
    fn with_losses_never_more_than_the_limit_is_admitted(
        limit in 300u32..3_000, events in prop::collection::vec(event(), 1..90),
    ) {
        let mut world = World::new(limit);
        for event in events {
            match event {
                Event::Requests { isolate, route, count } => for _ in 0..count {
                    if let Some(verdict) = world.request(isolate, ROUTES[route]) {
                        prop_assert!(world.in_window(&verdict) <= limit);
                    }
                },
                Event::Clock(millis) => world.pass(millis),
                Event::Replace => world.object = world.platter.instance(),
                Event::Forget(isolate) => world.isolates[isolate] = Reserved::default(),
                Event::Lose { answer } => world.lose = Some(answer),
                Event::Latency(millis) => world.latency = millis,
                Event::Fold => { world.fold(); }
            }
        }
        world.lose = None;
        let admitted: u32 = world.admitted.values().sum();
        prop_assert!(world.reported() <= u64::from(admitted) + world.unanswered, "usage never exceeds the served requests");
    }
}

#[test]
fn few_requests_of_a_busy_key_reach_its_durable_object() {
    let mut world = World::new(1_000_000);
    for _ in 0..2_000 {
        for _ in 0..8 {
            assert!(world.request(0, ROUTES[0]).unwrap().admitted);
        }
        world.pass(1);
    }
    let asked = 16_000 - world.spent;
    assert!(asked < 100, "{asked} of 16000 asked");
    assert!(world.reserved < 20_000, "{} reserved", world.reserved);
    assert_eq!(world.reported(), 16_000);
}

#[test]
fn nothing_is_reserved_for_a_key_used_now_and_then() {
    let mut world = World::new(1_000_000);
    for _ in 0..1_000 {
        world.request(0, ROUTES[0]);
        world.pass(7);
    }
    assert_eq!((world.reserved, world.spent), (0, 0));
}

#[test]
fn one_isolate_counts_down_by_one() {
    let mut world = World::new(5_000);
    for left in (0..5_000).rev() {
        assert_eq!(world.request(0, ROUTES[0]).unwrap().allowance.remaining, left);
    }
    assert!(world.spent > 4_000, "{} from reservations", world.spent);
    assert!(!world.request(0, ROUTES[0]).unwrap().admitted);
}

#[test]
fn a_refusal_waits_for_reservations_of_another_isolate() {
    let mut world = World::new(600);
    while world.reserved == 0 {
        world.request(0, ROUTES[0]);
    }
    let begun = world.now;
    let verdicts: Vec<_> = (0..600).map(|_| world.request(1, ROUTES[0]).unwrap()).collect();
    assert_eq!(verdicts.iter().filter(|verdict| verdict.admitted).count(), 600 - 16);
    assert!((250..=500).contains(&(world.now - begun)), "after {} ms", world.now - begun);
}

#[test]
fn a_windows_usage_is_sent_after_its_last_reservations_are_settled() {
    let mut world = World::new(6_000);
    world.pass(54_900);
    while world.spent == 0 {
        world.request(0, ROUTES[0]);
    }
    // The minute ends before the reservation is settled.
    world.now += 1_000;
    assert!(!world.fold());
    world.pass(1);
    world.now += 1_100;
    assert!(world.fold());
    assert_eq!(world.batches[&1].rows.iter().map(|row| row.served).sum::<u64>(), 17);
}

#[test]
fn a_reservation_ends_with_the_lease_of_its_record() {
    let mut world = World::new(6_000);
    let (key, record, begun) = (world.key, world.record, world.now);
    let mut lasts = |after: i64| {
        let ask = KeyAsk { digest: key, shown: String::new(), text: None, take: None, tally: vec![], settled: vec![] };
        let asked = ReserveAsk { ask, class: RESERVABLE_CLASS, want: 64, lasts: 250 };
        let reservation =
            world.object.step(|machine, disk| machine.reserve(disk, &record, &asked, (begun + after, after)));
        reservation.unwrap().map(|reservation| reservation.lasts)
    };
    assert_eq!([lasts(29_700), lasts(29_900), lasts(29_990), lasts(31_000)], [Some(250), Some(100), None, None]);
}

#[test]
fn a_reservation_settled_twice_is_given_back_once() {
    let mut world = World::new(1_000);
    while world.reserved == 0 {
        world.request(0, ROUTES[0]);
    }
    world.now += 300;
    let settled = world.isolates[0].over(&world.key, world.at());
    assert!(!settled.is_empty());
    world.settle(&settled);
    world.settle(&settled);
    world.object = world.platter.instance();
    world.settle(&settled);
    let verdicts: Vec<_> = (0..1_100).filter_map(|_| world.request(1, ROUTES[0])).collect();
    assert!(verdicts.iter().any(|verdict| !verdict.admitted));
    assert_eq!(world.admitted.values().sum::<u32>(), 1_000);
}
