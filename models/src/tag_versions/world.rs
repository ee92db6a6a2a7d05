//! The origin's tag row, the Durable Object on its storage, isolates, and messages on their way.

use super::LIFETIME;
use rds_edge::cache::Entry;
use rds_edge::cache::policy::Condition;
use rds_edge::guard::DiskFault;
use rds_edge::tag_versions::lease::{LEASE_MILLIS, Lease, State};
use rds_edge::tag_versions::register::{EpochDisk, Register};
use rds_edge::tag_versions::withheld::TAG;
use rds_edge::tag_versions::{TagMessage, TagReply, Withheld};
use rds_shared::model::ids::ChainId;
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::Timestamp;
use std::cell::{Cell, RefCell};

/// A message on its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Message {
    Renew {
        isolate: usize,
        begun: i64,
        seen: TagVersions,
    },
    Renewed {
        isolate: usize,
        begun: i64,
        reply: TagReply,
    },
    Push {
        versions: TagVersions,
        commit: u8,
        withheld: Vec<ChainId>,
    },
    /// The isolate that received the push waits until every earlier lease has expired.
    Wait {
        ready_at: i64,
        commit: u8,
        versions: TagVersions,
        known: TagVersions,
    },
    Answer {
        isolate: usize,
        response: Cached,
    },
}

/// A cached response: the commit it was made from, and what [`Entry`] needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cached {
    pub commit: u8,
    pub tags: TagVersions,
    pub confirmed_at: i64,
}

impl Cached {
    fn condition(&self, now: Timestamp, known: &TagVersions) -> Condition {
        let confirmed_at = Timestamp::from_millis(self.confirmed_at);
        Entry::new(Default::default(), Vec::new(), LIFETIME, self.tags, confirmed_at).condition(now, known)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Isolate {
    pub lease: Lease,
    pub cached: Option<Cached>,
}

/// The world. Commits are numbered in the order of real time, over all timelines of the database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub now: i64,
    /// The origin's version of the tag and its list of withheld chains.
    pub version: i64,
    pub withheld: Vec<ChainId>,
    pub commit: u8,
    /// The newest commit that the edge has acknowledged, and the newest version.
    pub acknowledged: (u8, i64),
    /// How far the database's clock is behind, in milliseconds.
    pub clock_behind: i64,
    pub stored: (TagVersions, Withheld),
    pub object: Option<Register>,
    pub isolates: Vec<Isolate>,
    pub shared: Option<Cached>,
    pub messages: Vec<Message>,
    pub commits: u8,
    pub mishaps: u8,
    pub steps: u8,
    /// The version of the newest withholding that the edge has acknowledged.
    pub withholding: i64,
    pub has_decreased: bool,
    pub has_unstored_reply: bool,
    pub has_stepped: bool,
}

/// Storage of the Durable Object that fails after some writes.
struct Disk<'a> {
    pub stored: &'a RefCell<(TagVersions, Withheld)>,
    writes: Cell<u8>,
}

impl Disk<'_> {
    fn write(&self) -> Result<(), DiskFault> {
        let left = self.writes.get().checked_sub(1).ok_or_else(|| DiskFault("full".to_owned()))?;
        self.writes.set(left);
        Ok(())
    }
}

impl EpochDisk for Disk<'_> {
    fn read(&self) -> Result<TagVersions, DiskFault> {
        Ok(self.stored.borrow().0)
    }

    fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault> {
        self.write()?;
        let mut stored = self.stored.borrow_mut();
        // Replaces the row, also by an older version.
        let others: TagVersions = stored.0.iter().filter(|(other, _)| *other != tag).collect();
        stored.0 = others.with(tag, version);
        Ok(())
    }

    fn read_withheld(&self) -> Result<Withheld, DiskFault> {
        Ok(self.stored.borrow().1.clone())
    }

    fn write_withheld(&self, withheld: &Withheld) -> Result<(), DiskFault> {
        self.write()?;
        self.stored.borrow_mut().1 = withheld.clone();
        Ok(())
    }
}

pub fn of(version: i64) -> TagVersions {
    TagVersions::default().with(TAG, version)
}

impl World {
    pub fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Raises the tag as `touch_tags` does.
    pub fn touch(&mut self) {
        self.commit += 1;
        self.version = (self.version + 1).max(self.now - self.clock_behind);
    }

    /// The Durable Object's answer; `None` if its storage failed.
    fn exchange(&mut self, message: &TagMessage, writes: u8) -> Option<TagReply> {
        let before = self.stored.0;
        let stored = RefCell::new(std::mem::take(&mut self.stored));
        let disk = Disk { stored: &stored, writes: Cell::new(writes) };
        let register = self.object.take().map_or_else(|| Register::load(&disk), Ok);
        let reply = register.and_then(|mut register| {
            let reply = register.exchange(&disk, message)?;
            // After a failure of storage the instance in memory is discarded.
            self.object = Some(register);
            Ok(reply)
        });
        self.stored = stored.into_inner();
        self.has_decreased |= !self.stored.0.covers(&before);
        let reply = reply.ok()?;
        self.has_unstored_reply |= !self.stored.0.covers(&reply.versions);
        Some(reply)
    }

    pub fn send(&mut self, message: Message) {
        self.messages.push(message);
        let place = |message: &Message| match message {
            Message::Renew { isolate, begun, .. } => (0, *isolate, *begun),
            Message::Renewed { isolate, begun, .. } => (1, *isolate, *begun),
            Message::Push { commit, .. } => (2, usize::from(*commit), 0),
            Message::Wait { commit, ready_at, .. } => (3, usize::from(*commit), *ready_at),
            Message::Answer { isolate, response } => (4, *isolate, i64::from(response.commit)),
        };
        self.messages.sort_by_key(place);
    }

    pub fn deliver(&mut self, message: usize, writes: u8) {
        let now = self.at();
        match self.messages.remove(message) {
            Message::Renew { isolate, begun, seen } => match self.exchange(&TagMessage::seen(seen), writes) {
                Some(reply) => self.send(Message::Renewed { isolate, begun, reply }),
                None => self.isolates[isolate].lease.end(Timestamp::from_millis(begun), now, None),
            },
            Message::Renewed { isolate, begun, reply } => {
                let lease = &mut self.isolates[isolate].lease;
                let before = lease.known();
                lease.record_withheld(&reply.withheld);
                lease.end(Timestamp::from_millis(begun), now, Some(reply.versions));
                self.has_decreased |= !lease.known().covers(&before);
            }
            Message::Push { versions, commit, withheld } => {
                let withheld = Some(Withheld::new(versions.of(TAG), withheld));
                let message = TagMessage { withheld, ..TagMessage::seen(versions) };
                let Some(known) = self.exchange(&message, writes) else { return };
                if !known.versions.covers(&versions) {
                    return;
                }
                self.isolates[0].lease.record_withheld(&known.withheld);
                self.isolates[0].lease.record_versions(&versions);
                let ready_at = self.now + LEASE_MILLIS;
                self.send(Message::Wait { ready_at, commit, versions, known: known.versions });
            }
            Message::Wait { commit, versions, known, .. } => {
                if !of(self.version).covers(&known) {
                    // The edge knows a later version: the database was restored, and the step raises its versions above.
                    self.version = self.version.max(known.of(TAG));
                    self.touch();
                    self.has_stepped = true;
                    return;
                }
                self.acknowledged = (self.acknowledged.0.max(commit), self.acknowledged.1.max(versions.of(TAG)));
                self.withholding = self.withholding.max(versions.of(TAG));
            }
            Message::Answer { isolate, response } => {
                let response = Cached { confirmed_at: self.now, ..response };
                self.isolates[isolate].lease.record_versions(&response.tags);
                self.isolates[isolate].cached = Some(response);
                self.shared = Some(response);
            }
        }
    }

    /// Whether an isolate serves the response without asking anybody: under a lease, and fresh by the versions it knows.
    fn serves(&self, isolate: &Isolate, cached: &Cached) -> bool {
        isolate.lease.state(self.at()) == State::Held
            && cached.condition(self.at(), &isolate.lease.known()) == Condition::Fresh
    }

    pub fn served(&self) -> impl Iterator<Item = (&Isolate, &Cached)> {
        let pairs = self.isolates.iter().flat_map(|isolate| isolate.cached.iter().map(move |cached| (isolate, cached)));
        pairs.filter(|(isolate, cached)| self.serves(isolate, cached))
    }
}
