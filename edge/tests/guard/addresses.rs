//! The rate limits of addresses are exact, whatever happens to their Durable Object.

use crate::disk::NOW;
use proptest::prelude::*;
use rds_edge::guard::DiskFault;
use rds_edge::guard::addresses::state::{AddressDisk, AddressGuard, Key};
use rds_edge::guard::objects::message::{AddressTake, Around};
use rds_shared::access::budget::{AddressBudget, AddressCount, day_of, window_of};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;

type Counts = BTreeMap<(String, AddressBudget), AddressCount>;

/// Rows that only the latest instance can read or write.
#[derive(Default)]
struct Rows {
    counts: RefCell<Counts>,
    latest: Cell<u32>,
    failing: Cell<bool>,
}

struct Disk<'a> {
    rows: &'a Rows,
    instance: u32,
}

impl Disk<'_> {
    fn open(&self) -> Result<RefMut<'_, Counts>, DiskFault> {
        match self.instance == self.rows.latest.get() {
            true => Ok(self.rows.counts.borrow_mut()),
            false => Err(DiskFault("another instance has taken over".to_owned())),
        }
    }
}

impl AddressDisk for Disk<'_> {
    fn stored(&self) -> Result<usize, DiskFault> {
        Ok(self.open()?.len())
    }
    fn latest(&self) -> Result<i64, DiskFault> {
        Ok(self.open()?.values().map(|count| count.minute.window).max().unwrap_or(0))
    }
    fn read(&self, address: &str, budget: AddressBudget) -> Result<Option<AddressCount>, DiskFault> {
        Ok(self.open()?.get(&(address.to_owned(), budget)).copied())
    }
    fn write(&self, rows: &[(Key, AddressCount)]) -> Result<(), DiskFault> {
        let mut counts = self.open()?;
        if self.rows.failing.get() {
            return Err(DiskFault("the disk is full".to_owned()));
        }
        counts.extend(rows.iter().cloned());
        Ok(())
    }
    fn delete_idle(&self, _: i64, _: usize) -> Result<(), DiskFault> {
        Err(DiskFault("there is room".to_owned()))
    }
    fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault> {
        self.open()?.retain(|(_, budget), count| match budget.per_day() {
            Some(_) => count.day.window >= day,
            None => count.minute.window >= window,
        });
        Ok(())
    }
}

struct Instance<'a> {
    disk: Disk<'a>,
    machine: Option<AddressGuard>,
}

impl<'a> Instance<'a> {
    fn start(rows: &'a Rows) -> Self {
        rows.latest.set(rows.latest.get() + 1);
        Instance { disk: Disk { rows, instance: rows.latest.get() }, machine: None }
    }

    fn take(&mut self, take: &AddressTake, now: i64) -> Option<rds_shared::access::budget::Verdict> {
        let mut machine = match self.machine.take() {
            Some(machine) => machine,
            None => AddressGuard::load(&self.disk).ok()?,
        };
        let verdict = machine.take(&self.disk, take, now).ok()?;
        self.machine = Some(machine);
        Some(verdict)
    }
}

#[derive(Debug, Clone)]
enum Event {
    Requests { address: u8, anonymous: bool, times: u8 },
    StaleRequest,
    Replace,
    Double,
    Clock(i64),
    Fail(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0u8..4, any::<bool>(), 1u8..30)
            .prop_map(|(address, anonymous, times)| Event::Requests { address, anonymous, times }),
        2 => Just(Event::StaleRequest),
        2 => Just(Event::Replace),
        1 => Just(Event::Double),
        4 => (-40i64..100).prop_map(Event::Clock),
        1 => Just(Event::Clock(40_000)),
        1 => any::<bool>().prop_map(Event::Fail),
    ]
}

fn take(address: u8, anonymous: bool) -> AddressTake {
    let budget = if anonymous { AddressBudget::Anonymous } else { AddressBudget::Health };
    // The neighbourhood of all four addresses has twice the limit of one.
    let neighbourhood = Some(Around { name: "nx".to_owned(), times: TIMES, charged: anonymous });
    AddressTake { address: address.to_string(), budget, neighbourhood }
}

const TIMES: u32 = 2;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn exactly_the_limits_are_admitted(events in prop::collection::vec(event(), 1..200)) {
        let rows = Rows::default();
        let mut live = Instance::start(&rows);
        let mut stale: Option<Instance<'_>> = None;
        let mut now = NOW;
        let mut minutes = BTreeMap::<(i64, u8, bool), u32>::new();
        let mut days = BTreeMap::<(i64, u8), u32>::new();
        let mut around = (BTreeMap::<i64, u32>::new(), BTreeMap::<i64, u32>::new());
        let mut latest = 0;
        for event in events {
            match event {
                Event::Requests { address, anonymous, times } => for _ in 0..times {
                    let take = take(address, anonymous);
                    let Some(verdict) = live.take(&take, now) else {
                        prop_assert!(rows.failing.get(), "only a storage fault leaves a request without a verdict");
                        continue;
                    };
                    if verdict.daily {
                        let day = verdict.allowance.reset / 86_400 - 1;
                        let (used, most) = match verdict.of_neighbourhood {
                            true => (around.1.get(&day), 1_000 * TIMES),
                            false => (days.get(&(day, address)), 1_000),
                        };
                        prop_assert_eq!(used, Some(&most));
                        continue;
                    }
                    let window = verdict.allowance.reset / 60 - 1;
                    prop_assert!(window >= window_of(now).max(latest), "no earlier window comes back");
                    let used = minutes.entry((window, address, anonymous)).or_default();
                    let shared = around.0.entry(window).or_default();
                    let room = !anonymous || *shared < TIMES * take.budget.limit();
                    prop_assert_eq!(verdict.admitted, *used < take.budget.limit() && room);
                    if verdict.admitted {
                        *used += 1;
                        latest = window;
                        if anonymous {
                            let day = days.entry((day_of(window * 60), address)).or_default();
                            *day += 1;
                            *shared += 1;
                            let all = around.1.entry(day_of(window * 60)).or_default();
                            *all += 1;
                            prop_assert!(*all <= 1_000 * TIMES);
                            prop_assert!(*day <= 1_000);
                        }
                    }
                },
                Event::StaleRequest => {
                    let verdict = stale.as_mut().and_then(|stale| stale.take(&take(0, true), now));
                    prop_assert!(!verdict.is_some_and(|verdict| verdict.admitted), "a replaced instance can admit nothing");
                }
                Event::Replace => live = Instance::start(&rows),
                Event::Double => stale = Some(std::mem::replace(&mut live, Instance::start(&rows))),
                Event::Clock(seconds) => now += seconds,
                Event::Fail(failing) => rows.failing.set(failing),
            }
        }
    }
}
