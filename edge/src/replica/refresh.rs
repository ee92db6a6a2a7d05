//! How an isolate asks for an update of its rows, and takes the answer.
//!
//! One question is out at a time. Its answer is plain data in the isolate, for which requests wait with timers of their own. After a
//! failed question the next ones are asked in the background, a second apart, and no request waits for them. A new isolate takes the
//! families that requests wait for before it fetches the others (`edge/tests/pipeline/replica_pieces.rs`).

use super::documents::{Fault, Opened, OpenedStep};
use super::held::{Held, IsolateReplica};
use super::kept;
use super::message::{Holder, MAX_SEGMENTS};
use super::segments::{Segments, Unpacked, probes};
use super::timing::Outcome;
use crate::pipeline::Isolate;
use crate::ports::Unreachable;
use crate::tag_versions::TagReply;
use core::time::Duration;
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{ReplicaAsk, read_parts};
use rds_shared::pace::{Pace, Pause};
use rds_shared::read_model;
use rds_shared::replica::{FORMAT, Families, Family, Manifest, SegmentName, StateId, Update};
use rds_shared::route::{ROUTES, TagVersions};
use rds_shared::wire::Timestamp;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Age of the last confirmation after which a new one is asked for in the background: a third of the shortest fresh time of a route.
pub const CONFIRM_AFTER_MILLIS: i64 = 5_000;
/// Age of a confirmation with which an answer counts as an update. An older one shows that the Durable Object does not reach the origin.
const RECENT_MILLIS: i64 = 2 * CONFIRM_AFTER_MILLIS;
/// Most parts that are loaded from the data centre's cache: more than the segments of a state that fits have.
const MAX_PARTS: u32 = 256;

impl IsolateReplica {
    /// Whether an update should be asked for at `now`, given the tag versions known: the rows lack a change, or their confirmation is old.
    pub fn is_due(&self, now: Timestamp, known: &TagVersions) -> bool {
        !self.is_current(now, &of_rows(known), CONFIRM_AFTER_MILLIS)
    }

    /// Whether the rows cover these versions and were confirmed less than `millis` ago.
    fn is_current(&self, now: Timestamp, covering: &TagVersions, millis: i64) -> bool {
        self.held().is_some_and(|held| {
            let age = now.as_millis().saturating_sub(held.confirmed_at.as_millis());
            held.stamp.tags.covers(covering) && age < millis
        })
    }
}

/// The versions of the tags of the routes that rows answer.
fn of_rows(known: &TagVersions) -> TagVersions {
    let mut versions = TagVersions::default();
    for route in ROUTES.iter().filter(|route| read_model::serves(route.id)) {
        versions.raise_to(&known.only(route.tags));
    }
    versions
}

/// An answer to [`ReplicaAsk`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaAnswer {
    /// The bytes of an update.
    pub update: Vec<u8>,
    /// Time since the origin confirmed it, when the answer was sent.
    pub age: Duration,
}

/// Where an isolate gets rows from.
#[expect(async_fn_in_trait, reason = "an isolate has a single thread")]
pub trait ReplicaSource: Pause {
    fn now(&self) -> Timestamp;

    /// Asks the Durable Object on behalf of `holder`.
    async fn ask(&self, ask: &ReplicaAsk, holder: Holder) -> Result<ReplicaAnswer, Unreachable>;

    /// At most [`MAX_SEGMENTS`] segments from the Durable Object, as [`read_parts`] reads them.
    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, Unreachable>;

    /// A part of the state in the data centre's cache, if it is there.
    async fn load(&self, part: u32) -> Option<Vec<u8>>;

    /// Keeps a part of a state in the data centre's cache.
    async fn store(&self, part: u32, bytes: Vec<u8>);

    fn log(&self, line: &str);
}

/// Ends the lease renewal begun and ended at `span`, with the reply of the tag versions' Durable Object or without one.
pub fn take_lease(isolate: &Isolate, span: (Timestamp, Timestamp), reply: Option<TagReply>) {
    let mut lease = isolate.tag_lease.borrow_mut();
    if let Some(reply) = &reply {
        lease.record_withheld(&reply.withheld);
    }
    lease.end(span.0, span.1, reply.map(|reply| reply.versions));
}

/// Begins a question at `now` if the rows need an update and it may be asked.
pub fn begin_due(isolate: &Isolate, now: Timestamp) -> bool {
    let known = isolate.tag_lease.borrow().known();
    let mut replica = isolate.replica.borrow_mut();
    replica.is_due(now, &known) && replica.timing.begin(now)
}

/// Asks the question begun at `begun` and takes the answer. A new isolate first takes the state kept in the data centre's cache, so that it
/// asks for the difference only.
pub async fn refresh<S: ReplicaSource>(source: &S, isolate: &Isolate, keys: &[AssertionKey], begun: Timestamp) {
    let (segments, parts) = (RefCell::default(), Cell::default());
    let refreshing = Refresh { source, isolate, keys, pace: Pace::of(source), segments, parts };
    let outcome = match refreshing.run().await {
        Ok(Ok(true)) => Outcome::Renewed,
        Ok(Ok(false)) => Outcome::Failed,
        Ok(Err(fault)) => {
            refreshing.refused(&format!("an update of the replica was refused: {fault}"));
            if let Fault::TooLarge { .. } = fault {
                isolate.replica.borrow_mut().nothing_fits();
            }
            if fault == Fault::Older { Outcome::Failed } else { Outcome::Unusable }
        }
        Err(Unreachable(why)) => {
            // Questions are repeated every second; one line says as much.
            if !isolate.replica.borrow().timing.has_failed() {
                source.log(&format!("the replica could not be asked for an update: {why}"));
            }
            Outcome::Failed
        }
    };
    isolate.replica.borrow_mut().timing.end(begun, source.now(), outcome);
}

struct Refresh<'a, S> {
    source: &'a S,
    isolate: &'a Isolate,
    keys: &'a [AssertionKey],
    pace: Pace<'a>,
    /// The segments that were fetched.
    segments: RefCell<Segments>,
    /// Number of parts with segments that were stored in the data centre's cache.
    parts: Cell<u32>,
}

impl<S: ReplicaSource> Refresh<'_, S> {
    /// Returns whether the rows then have every change that was known before, and were confirmed lately.
    async fn run(&self) -> Result<Result<bool, Fault>, Unreachable> {
        let is_new = self.isolate.replica.borrow().held().is_none();
        if is_new
            && let Some(head) = self.source.load(kept::HEAD).await
            && let Err(fault) = self.take_kept(&head).await
        {
            self.refused(&format!("the state in the data centre's cache was refused: {fault}"));
        }
        let known = self.isolate.tag_lease.borrow().known();
        let mut ask =
            ReplicaAsk { format: FORMAT, have: self.have(), covering: of_rows(&known), whole: false, holders: None };
        let mut taken = self.ask(&ask).await?;
        if let Err(fault @ (Fault::OtherState | Fault::WrongResult | Fault::Malformed)) = taken {
            // The rows here or the deltas are not what the origin named; every row is fetched by its own name instead.
            self.refused(&format!("an update of the replica was refused: {fault}"));
            ask.whole = true;
            taken = self.ask(&ask).await?;
        }
        let is_renewed = || self.isolate.replica.borrow().is_current(self.source.now(), &ask.covering, RECENT_MILLIS);
        let renewed = taken.map(|()| is_renewed());
        if renewed == Ok(true) {
            self.admit(&ask).await?;
        }
        Ok(renewed)
    }

    /// Fetches a family that is not held and should be. A failure changes nothing: the family is considered again later.
    async fn admit(&self, ask: &ReplicaAsk) -> Result<(), Unreachable> {
        if !self.isolate.replica.borrow_mut().review(self.source.now()) {
            return Ok(());
        }
        let whole = ReplicaAsk { have: self.have(), whole: true, ..ask.clone() };
        if let Err(fault) = self.ask(&whole).await? {
            self.refused(&format!("a family of rows could not be taken: {fault}"));
        }
        Ok(())
    }

    fn have(&self) -> Option<StateId> {
        self.isolate.replica.borrow().state()
    }

    async fn ask(&self, ask: &ReplicaAsk) -> Result<Result<(), Fault>, Unreachable> {
        let (asked_at, holder) = (self.source.now(), self.isolate.replica.borrow().holder());
        let ReplicaAnswer { update: bytes, age } = self.source.ask(ask, holder).await?;
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let confirmed_at = Timestamp::from_millis(asked_at.as_millis().saturating_sub(age));
        let Some(update) = Update::decode(&bytes) else { return Ok(Err(Fault::Malformed)) };
        let opened = match Opened::of(&update, self.keys, &self.pace).await {
            Ok(opened) => opened,
            Err(fault) => return Ok(Err(fault)),
        };
        if self.isolate.replica.borrow().is_newer_than(&opened.stamp) {
            return Ok(Err(Fault::Older));
        }
        let OpenedStep::Whole { manifest, .. } = &opened.step else {
            let held = self.isolate.replica.borrow().content().map_or(Families::NONE, |held| held.families);
            return Ok(self.take(&opened, held, confirmed_at).await);
        };
        let carried = opened.carried(self.isolate.replica.borrow().content());
        self.segments.borrow_mut().expect(manifest);
        if self.segments.borrow().needs_dictionary(manifest) {
            let probes = probes(manifest, Families::ALL.without(carried));
            if let Err(fault) = self.fetch(probes, carried.is_empty()).await? {
                return Ok(Err(fault));
            }
            self.pack(manifest).await;
        }
        let estimate = |family| self.segments.borrow().estimate(manifest, family);
        let wanted = match self.isolate.replica.borrow_mut().wanted(estimate, carried) {
            Ok(wanted) => wanted,
            Err(fault) => return Ok(Err(fault)),
        };
        if carried.is_empty() {
            self.isolate.replica.borrow_mut().make_room(wanted);
        }
        let taken = self.take_whole(&opened, manifest, (wanted, carried), confirmed_at).await;
        self.isolate.replica.borrow_mut().end_coming();
        let taken = taken?;
        if taken.is_ok() && carried.is_empty() {
            let sizes = self.isolate.replica.borrow().sizes();
            let head = kept::Head { confirmed_at, sizes, parts: self.parts.get(), update: bytes };
            self.source.store(kept::HEAD, head.encode()).await;
        }
        Ok(taken)
    }

    /// Fetches the segments of the `wanted` families, except the `carried` ones, and takes them. An isolate without rows first takes the families
    /// that requests wait for.
    async fn take_whole(
        &self,
        opened: &Opened,
        manifest: &Manifest,
        (wanted, carried): (Families, Families),
        confirmed_at: Timestamp,
    ) -> Result<Result<(), Fault>, Unreachable> {
        let first = self.isolate.replica.borrow().wanted_first(wanted);
        if first != wanted {
            let names = first.iter().flat_map(|family| manifest.of(family));
            if let Err(fault) = self.fetch(names, true).await? {
                return Ok(Err(fault));
            }
            self.isolate.replica.borrow_mut().begin_coming(wanted.without(first));
            if let Err(fault) = self.take(opened, first, confirmed_at).await {
                return Ok(Err(fault));
            }
        }
        let names = wanted.without(carried).iter().flat_map(|family| manifest.of(family));
        if let Err(fault) = self.fetch(names, carried.is_empty()).await? {
            return Ok(Err(fault));
        }
        Ok(self.take(opened, wanted, confirmed_at).await)
    }

    /// Fetches segments that are not there, and with `is_kept` stores them in the data centre's cache. Bytes that are not what their name says are
    /// fetched once more.
    async fn fetch<'n>(
        &self,
        names: impl Iterator<Item = &'n SegmentName> + Clone,
        is_kept: bool,
    ) -> Result<Result<(), Fault>, Unreachable> {
        let mut fault = Fault::SegmentMissing;
        for _ in 0..2 {
            let lacking = self.segments.borrow().lacking(names.clone());
            for names in lacking.chunks(MAX_SEGMENTS) {
                let bytes = self.source.segments(names).await?;
                let parts = read_parts(&bytes).unwrap_or_default();
                // An empty part stands for a segment that is not there.
                let sent = names.iter().zip(parts).filter(|(_, part)| !part.is_empty());
                for (name, part) in sent.clone() {
                    if let Err(refused) = self.unpack(*name, part).await {
                        fault = refused;
                        self.refused(&format!("the segment {name} was refused: {refused}"));
                    }
                }
                if is_kept {
                    self.parts.set(self.parts.get().saturating_add(1));
                    self.source.store(self.parts.get(), kept::encode_segments(sent)).await;
                }
                if let Err(fault) = self.check_size() {
                    return Ok(Err(fault));
                }
            }
            if self.segments.borrow().lacking(names.clone()).is_empty() {
                return Ok(Ok(()));
            }
        }
        Ok(Err(fault))
    }

    /// Packs the rows of segments that are here, from which the sizes of families are estimated, if those of `manifest` are many.
    async fn pack(&self, manifest: &Manifest) {
        let mut segments = self.segments.take();
        segments.pack(manifest, &self.pace).await;
        self.segments.replace(segments);
    }

    async fn unpack(&self, name: SegmentName, bytes: &[u8]) -> Result<(), Fault> {
        let dictionary = self.segments.borrow().dictionary_of(&name);
        let unpacked = Unpacked::of(name, bytes, dictionary.as_ref(), &self.pace).await?;
        self.segments.borrow_mut().take(unpacked);
        Ok(())
    }

    fn check_size(&self) -> Result<(), Fault> {
        let bytes = self.segments.borrow().bytes();
        if bytes > self.isolate.replica.borrow().max_bytes { Err(Fault::TooLarge { bytes }) } else { Ok(()) }
    }

    fn refused(&self, line: &str) {
        let mut replica = self.isolate.replica.borrow_mut();
        replica.refused = replica.refused.saturating_add(1);
        self.source.log(line);
    }

    /// Takes the `wanted` families of an update as far as they fit. Until it has them, the isolate has what it had,
    /// unless memory has no room for both.
    async fn take(&self, opened: &Opened, wanted: Families, confirmed_at: Timestamp) -> Result<(), Fault> {
        let held = self.isolate.replica.borrow_mut().changing(opened.delta_bytes());
        let before = self.isolate.replica.borrow().held().map(Rc::clone);
        let segments = self.segments.take();
        let content = opened.content(held, wanted, &segments, &self.pace).await;
        self.segments.replace(segments);
        let fitting = self.isolate.replica.borrow_mut().fitting(content?)?;
        let next = Held::of(opened.stamp.clone(), confirmed_at, fitting, before.as_deref(), &self.pace).await?;
        let mut replica = self.isolate.replica.borrow_mut();
        let left_out = replica.left_out();
        replica.replace(before.as_ref(), next)?;
        if replica.left_out() != left_out {
            let names: Vec<&str> = replica.left_out().iter().map(Family::name).collect();
            self.source.log(&format!("families of rows for which this isolate has no room: {names:?}"));
        }
        self.isolate.memory.borrow_mut().leave(replica.held().map_or(0, |held| held.bytes()));
        // The origin's stamp states versions as every answer of the origin does.
        self.isolate.tag_lease.borrow_mut().record_versions(&opened.stamp.tags);
        Ok(())
    }

    /// Takes the state that is kept in the data centre's cache: the families that fit, as far as their segments are there.
    async fn take_kept(&self, head: &[u8]) -> Result<(), Fault> {
        let head = kept::Head::decode(head).ok_or(Fault::Malformed)?;
        let update = Update::decode(&head.update).ok_or(Fault::Malformed)?;
        let opened = Opened::of(&update, self.keys, &self.pace).await?;
        let OpenedStep::Whole { manifest, .. } = &opened.step else { return Err(Fault::Malformed) };
        let estimate = |family| head.sizes.of(family);
        let wanted = self.isolate.replica.borrow_mut().wanted(estimate, Families::NONE)?;
        let names: BTreeSet<&SegmentName> = wanted.iter().flat_map(|family| manifest.of(family)).collect();
        self.segments.borrow_mut().expect(manifest);
        for part in 1..=head.parts.min(MAX_PARTS) {
            let Some(bytes) = self.source.load(part).await else { continue };
            let segments = kept::decode_segments(&bytes).ok_or(Fault::Malformed)?;
            for (name, bytes) in segments.into_iter().filter(|(name, _)| names.contains(name)) {
                self.unpack(name, bytes).await?;
            }
            // The first part has segments of the families whose rows are packed.
            self.pack(manifest).await;
            self.check_size()?;
        }
        let is_whole = |family: &Family| self.segments.borrow().lacking(manifest.of(*family).iter()).is_empty();
        let whole = wanted.iter().filter(is_whole).collect();
        self.take(&opened, whole, head.confirmed_at).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_of_tags_that_rows_are_made_of_ask_for_news() {
        let known = TagVersions::parse("vaults=3;events=9;signals=2;fail_safe=4");
        assert_eq!(of_rows(&known).to_text(), "vaults=3");
    }
}
