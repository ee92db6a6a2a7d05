//! Changes of a key on their way to the edge: look-ups, updates pushed by the origin, reservations and refusals that an isolate remembers.
//!
//! Real: [`KeyGuard`] with the key's record, [`Reserved`] and [`Denials`]. Modelled: the origin's record, answers and updates that arrive late or not at
//! all, evictions, and the edge's wait before it acknowledges an update, of the length that the edge uses.

use crate::key_object::{Disk, Rows, step};
use rds_edge::guard::DiskFault;
use rds_edge::guard::addresses::denials::{Denials, KEY_LEASE_MILLIS, SpentKey};
use rds_edge::guard::keys::isolate_reservations::{RESERVABLE_CLASS, Reserved};
use rds_edge::guard::keys::record::KeyStatus;
use rds_edge::guard::keys::state::KeyGuard;
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::objects::message::{KeyAsk, Reservation, ReserveAsk, Take};
use rds_shared::access::link::{KeyLookupResponse, KeyLookupResult};
use rds_shared::access::{KeyDigest, KeyRecord, Plan};
use rds_shared::route::RouteId;
use rds_shared::wire::Timestamp;
use stateright::{Model, Property};
use std::time::Duration;

const START: i64 = 1_795_219_200_000;
const PATIENCE: Duration = Duration::from_secs(1);
const ROUTE: RouteId = RouteId::VaultList;
/// Requests that make a key busy.
const BURST: u32 = 16;
/// Requests per minute, before and after a change of the limit.
const LIMITS: [u32; 2] = [592, 560];

/// Bounds of the exploration.
#[derive(Debug, Clone, Copy)]
pub struct KeyRecordModel {
    /// Changes of the key: of its limit, and its revocation.
    pub changes: u8,
    pub look_ups: u8,
    pub bursts: u8,
    pub mishaps: u8,
    pub steps: u8,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// An isolate makes requests, as long as they are admitted.
    Requests,
    /// Other isolates use up the limit, and this one is refused.
    Exhaust,
    /// The Durable Object asks the origin for the record.
    LookUp,
    /// The origin changes the limit, or revokes the key.
    Change {
        revokes: bool,
    },
    /// The origin sends the record, until it is acknowledged.
    Push,
    Deliver(usize),
    Lose(usize),
    Pass(i64),
    Evict,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Message {
    Found {
        asked_at: i64,
        record: KeyRecord,
    },
    Update(KeyRecord),
    /// The edge waits before it acknowledges.
    Wait {
        ready_at: i64,
        record: KeyRecord,
    },
    Reserved {
        asked_at: i64,
        record: KeyRecord,
        reservation: Option<Reservation>,
    },
}

/// The world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    now: i64,
    /// The record at the origin, and the newest that the edge has acknowledged.
    record: KeyRecord,
    acknowledged: KeyRecord,
    rows: Rows,
    object: Option<KeyGuard>,
    reserved: Reserved,
    denials: Denials,
    messages: Vec<Message>,
    next_id: i64,
    changes: u8,
    look_ups: u8,
    bursts: u8,
    mishaps: u8,
    steps: u8,
    was_revoked_at_edge: bool,
    has_spent: bool,
    has_ignored: bool,
}

fn digest() -> KeyDigest {
    KeyDigest::from_bytes([7; 32])
}

fn take() -> Take {
    Take { class: RESERVABLE_CLASS, endpoint: String::new(), client: Subclient::Pooled }
}

impl World {
    fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    fn step<T>(&mut self, change: impl FnOnce(&mut KeyGuard, &Disk<'_>) -> Result<T, DiskFault>) -> Option<T> {
        step(&mut self.object, &mut self.rows, change)
    }

    /// How the Durable Object treats a request now.
    fn status(&self) -> KeyStatus {
        self.clone().step(|object, _| Ok(object.status(self.now, false))).unwrap_or(KeyStatus::Unable)
    }

    fn requests(&mut self) {
        let (now, seconds) = (self.at(), self.now.div_euclid(1_000));
        for _ in 0..BURST {
            if let Some(spent) = self.reserved.spend(&digest(), RESERVABLE_CLASS, ROUTE, now) {
                self.has_spent = true;
                if spent.is_low {
                    self.reserve();
                }
                continue;
            }
            let KeyStatus::Live { record, .. } = self.status() else { return };
            let settled = self.reserved.over(&digest(), now);
            self.step(|object, disk| object.settle(disk, &settled, seconds));
            let verdicts = self.step(|object, disk| object.take(disk, &[(record, &take())], seconds));
            let Some(verdict) = verdicts.and_then(|mut verdicts| verdicts.pop()).flatten() else { return };
            if !verdict.admitted {
                return;
            }
            if self.reserved.asked(&digest(), verdict.allowance.remaining, now) {
                self.reserve();
            }
        }
    }

    fn reserve(&mut self) {
        let (now, asked_at) = (self.at(), self.now);
        let Some(request) = self.reserved.begin(&digest(), now, PATIENCE) else { return };
        let KeyStatus::Live { record, .. } = self.status() else { return };
        let (shown, tally, settled) = (String::new(), Vec::new(), Vec::new());
        let ask = KeyAsk { digest: digest(), shown, text: None, take: None, tally, settled };
        let asked = ReserveAsk { ask, class: RESERVABLE_CLASS, want: request.want, lasts: request.lasts };
        self.next_id += 1;
        let id = self.next_id;
        let reservation = self.step(|object, disk| object.reserve(disk, &record, &asked, (asked_at, id))).flatten();
        self.messages.push(Message::Reserved { asked_at, record, reservation });
    }

    fn exhaust(&mut self) {
        let (now, seconds) = (self.at(), self.now.div_euclid(1_000));
        let KeyStatus::Live { record, .. } = self.status() else { return };
        let take = take();
        let group = vec![(record, &take); LIMITS[0] as usize + 1];
        let verdicts = self.step(|object, disk| object.take(disk, &group, seconds)).unwrap_or_default();
        if let Some(verdict) = verdicts.into_iter().flatten().find(|verdict| !verdict.admitted) {
            let spent = SpentKey { record, verdict };
            self.denials.remember_key(digest(), RESERVABLE_CLASS, &Subclient::Pooled, spent, now);
        }
    }

    fn deliver(&mut self, message: usize) {
        let now = self.now;
        match self.messages.remove(message) {
            Message::Found { asked_at, record } => {
                let answer = KeyLookupResult::Known { record };
                let found = KeyLookupResponse { answer, told: true };
                self.step(|object, disk| object.answered(disk, digest(), &found, (asked_at, now), "s".to_owned()));
                self.has_ignored |= record.version < self.known_version();
                self.was_revoked_at_edge |= !record.active;
            }
            Message::Update(record) => {
                self.step(|object, disk| object.record_update(disk, digest(), record, (now, "s".to_owned())));
                self.was_revoked_at_edge |= !record.active;
                self.messages.push(Message::Wait { ready_at: now + KEY_LEASE_MILLIS, record });
            }
            Message::Wait { record, .. } => {
                if record.version > self.acknowledged.version {
                    self.acknowledged = record;
                }
            }
            Message::Reserved { asked_at, record, reservation } => {
                let times = (Timestamp::from_millis(asked_at), self.at());
                self.reserved.end(&digest(), times, reservation.map(|reservation| (record, reservation)));
            }
        }
    }

    fn known_version(&self) -> i64 {
        let lease = self.rows.key.as_ref().and_then(|key| key.lease);
        lease.map_or(0, |lease| lease.record.version)
    }

    /// The record by which a request that begins now would be admitted from a reservation, or be refused by memory.
    fn remembered(&self) -> Vec<KeyRecord> {
        let mut reserved = self.reserved.clone();
        let spent = reserved.spend(&digest(), RESERVABLE_CLASS, ROUTE, self.at());
        let denied = self.denials.key(digest(), RESERVABLE_CLASS, &Subclient::Pooled, self.at());
        spent.map(|spent| spent.record).into_iter().chain(denied.map(|denied| denied.record)).collect()
    }
}

impl Model for KeyRecordModel {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let record =
            KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: LIMITS[0], shared: false, active: true, version: 1 };
        let mut world = World {
            now: START,
            record,
            acknowledged: record,
            rows: Rows::default(),
            object: None,
            reserved: Reserved::default(),
            denials: Denials::default(),
            messages: vec![Message::Found { asked_at: START, record }],
            next_id: 0,
            changes: 0,
            look_ups: 0,
            bursts: 0,
            mishaps: 0,
            steps: 0,
            was_revoked_at_edge: false,
            has_spent: false,
            has_ignored: false,
        };
        world.deliver(0);
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.bursts < self.bursts {
            actions.extend([Action::Requests, Action::Exhaust]);
        }
        if world.look_ups < self.look_ups {
            actions.push(Action::LookUp);
        }
        if world.changes < self.changes && world.record.active {
            actions.extend([false, true].map(|revokes| Action::Change { revokes }));
        }
        let is_push = |message: &Message| matches!(message, Message::Update(_) | Message::Wait { .. });
        if world.acknowledged != world.record && world.messages.iter().filter(|message| is_push(message)).count() < 2 {
            actions.push(Action::Push);
        }
        let may_fail = world.mishaps < self.mishaps;
        for (message, sent) in world.messages.iter().enumerate() {
            if !matches!(sent, Message::Wait { ready_at, .. } if *ready_at > world.now) {
                actions.push(Action::Deliver(message));
            }
            if may_fail {
                actions.push(Action::Lose(message));
            }
        }
        if world.steps < self.steps {
            actions.extend([200, 1_000, 21_000, 31_000].map(Action::Pass));
        }
        if may_fail {
            actions.push(Action::Evict);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Requests => {
                next.bursts += 1;
                next.requests();
            }
            Action::Exhaust => {
                next.bursts += 1;
                next.exhaust();
            }
            Action::LookUp => {
                next.look_ups += 1;
                next.messages.push(Message::Found { asked_at: next.now, record: next.record });
            }
            Action::Change { revokes } => {
                next.changes += 1;
                next.record.version += 1;
                next.record.active = !revokes;
                next.record.rpm = LIMITS[usize::from(next.record.rpm == LIMITS[0])];
            }
            Action::Push => next.messages.push(Message::Update(next.record)),
            Action::Deliver(message) => next.deliver(message),
            Action::Lose(message) => {
                next.mishaps += 1;
                match next.messages.remove(message) {
                    Message::Found { .. } => {
                        let now = next.now;
                        next.step(|object, _| {
                            object.unanswered(now);
                            Ok(())
                        });
                    }
                    Message::Reserved { asked_at, .. } => {
                        let times = (Timestamp::from_millis(asked_at), next.at());
                        next.reserved.end(&digest(), times, None);
                    }
                    Message::Update(_) | Message::Wait { .. } => {}
                }
            }
            Action::Pass(millis) => {
                next.steps += 1;
                next.now += millis;
            }
            Action::Evict => {
                next.mishaps += 1;
                next.object = None;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a revocation is permanent", |_, world: &World| {
                !world.was_revoked_at_edge || world.status() == KeyStatus::Rejected
            }),
            Property::always(
                "after the acknowledgement every remembered refusal and reservation has expired",
                |_, world: &World| world.remembered().iter().all(|record| record.version >= world.acknowledged.version),
            ),
            Property::always(
                "after the acknowledgement no request is judged by an older record",
                |_, world: &World| !matches!(world.status(), KeyStatus::Live { record, .. } if record.version < world.acknowledged.version),
            ),
            Property::sometimes("a revocation is acknowledged", |_, world: &World| !world.acknowledged.active),
            Property::sometimes("a reservation is spent", |_, world: &World| world.has_spent),
            Property::sometimes("an answer older than an update is ignored", |_, world: &World| world.has_ignored),
        ]
    }
}
