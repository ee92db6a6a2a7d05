//! How an isolate asks for an update of its rows, and takes the answer.
//!
//! One question is out at a time. Its answer is plain data in the isolate, for which requests wait with timers of their own. After a
//! failed question the next ones are asked in the background, a second apart, and no request waits for them.

use super::documents::{Fault, Opened, OpenedStep, Segments};
use super::held::IsolateReplica;
use super::message::MAX_SEGMENTS;
use super::timing::Outcome;
use crate::pipeline::Isolate;
use crate::ports::Unreachable;
use crate::tag_versions::TagReply;
use core::time::Duration;
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{ReplicaAsk, put_part, read_parts};
use rds_shared::read_model;
use rds_shared::replica::{FORMAT, Manifest, SegmentName, StateId, Update};
use rds_shared::route::{ROUTES, TagVersions};
use rds_shared::wire::Timestamp;
use std::cell::RefCell;

/// Age of the last confirmation after which a new one is asked for in the background: a third of the shortest fresh time of a route.
pub const CONFIRM_AFTER_MILLIS: i64 = 5_000;
/// Age of a confirmation with which an answer counts as an update. An older one shows that the Durable Object does not reach the origin.
const RECENT_MILLIS: i64 = 2 * CONFIRM_AFTER_MILLIS;
/// Bytes of the instant that precedes a kept state in the data centre's cache.
const INSTANT_BYTES: usize = 8;

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
pub trait ReplicaSource {
    fn now(&self) -> Timestamp;

    /// Asks the Durable Object.
    async fn ask(&self, ask: &ReplicaAsk) -> Result<ReplicaAnswer, Unreachable>;

    /// At most [`MAX_SEGMENTS`] segments from the Durable Object, as [`read_parts`] reads them.
    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, Unreachable>;

    /// The state kept in the data centre's cache, if any.
    async fn load(&self) -> Option<Vec<u8>>;

    /// Keeps a state in the data centre's cache.
    async fn store(&self, bytes: Vec<u8>);

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
    let refreshing = Refresh { source, isolate, keys };
    let outcome = match refreshing.run().await {
        Ok(Ok(true)) => Outcome::Renewed,
        Ok(Ok(false)) => Outcome::Failed,
        Ok(Err(fault)) => {
            refreshing.refused(&format!("an update of the replica was refused: {fault}"));
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
}

impl<S: ReplicaSource> Refresh<'_, S> {
    /// Returns whether the rows then have every change that was known before, and were confirmed lately.
    async fn run(&self) -> Result<Result<bool, Fault>, Unreachable> {
        let segments = RefCell::default();
        let is_new = self.isolate.replica.borrow().held().is_none();
        if is_new
            && let Some(bytes) = self.source.load().await
            && let Err(fault) = self.take_kept(&bytes, &segments)
        {
            self.refused(&format!("the state in the data centre's cache was refused: {fault}"));
        }
        let known = self.isolate.tag_lease.borrow().known();
        let mut ask = ReplicaAsk { format: FORMAT, have: self.have(), covering: of_rows(&known), whole: false };
        let mut taken = self.ask(&ask, &segments).await?;
        if let Err(fault @ (Fault::OtherState | Fault::WrongResult | Fault::Malformed)) = taken {
            // The rows here or the deltas are not what the origin named; every row is fetched by its own name instead.
            self.refused(&format!("an update of the replica was refused: {fault}"));
            ask.whole = true;
            taken = self.ask(&ask, &segments).await?;
        }
        let is_renewed = || self.isolate.replica.borrow().is_current(self.source.now(), &ask.covering, RECENT_MILLIS);
        Ok(taken.map(|()| is_renewed()))
    }

    fn have(&self) -> Option<StateId> {
        self.isolate.replica.borrow().state()
    }

    async fn ask(&self, ask: &ReplicaAsk, segments: &RefCell<Segments>) -> Result<Result<(), Fault>, Unreachable> {
        let asked_at = self.source.now();
        let ReplicaAnswer { update: bytes, age } = self.source.ask(ask).await?;
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let confirmed_at = Timestamp::from_millis(asked_at.as_millis().saturating_sub(age));
        let Some(update) = Update::decode(&bytes) else { return Ok(Err(Fault::Malformed)) };
        let opened = match Opened::of(&update, self.keys) {
            Ok(opened) => opened,
            Err(fault) => return Ok(Err(fault)),
        };
        if self.isolate.replica.borrow().is_newer_than(&opened.stamp) {
            return Ok(Err(Fault::Older));
        }
        if let OpenedStep::Whole { manifest, .. } = &opened.step
            && self.have() != Some(opened.stamp.state)
        {
            if let Err(fault) = self.fetch(manifest, segments).await? {
                return Ok(Err(fault));
            }
            let taken = self.take(&opened, &segments.borrow(), confirmed_at);
            let kept = to_kept(&update, &segments.borrow(), manifest, confirmed_at).filter(|_| taken.is_ok());
            if let Some(kept) = kept {
                self.source.store(kept).await;
            }
            return Ok(taken);
        }
        Ok(self.take(&opened, &segments.borrow(), confirmed_at))
    }

    /// Fetches the segments that a manifest names and that are not there. Bytes that are not what their name says are fetched once more.
    async fn fetch(&self, manifest: &Manifest, segments: &RefCell<Segments>) -> Result<Result<(), Fault>, Unreachable> {
        let mut fault = Fault::SegmentMissing;
        for _ in 0..2 {
            let lacking = segments.borrow().lacking(manifest);
            for names in lacking.chunks(MAX_SEGMENTS) {
                let bytes = self.source.segments(names).await?;
                let mut segments = segments.borrow_mut();
                let parts = read_parts(&bytes).unwrap_or_default();
                // An empty part stands for a segment that is not there.
                for (name, part) in names.iter().zip(parts).filter(|(_, part)| !part.is_empty()) {
                    if let Err(refused) = segments.take(*name, part) {
                        fault = refused;
                        self.refused(&format!("the segment {name} was refused: {refused}"));
                    }
                }
                if segments.bytes() > self.isolate.replica.borrow().max_bytes {
                    return Ok(Err(Fault::TooLarge { bytes: segments.bytes() }));
                }
            }
            if segments.borrow().lacking(manifest).is_empty() {
                return Ok(Ok(()));
            }
        }
        Ok(Err(fault))
    }

    fn refused(&self, line: &str) {
        let mut replica = self.isolate.replica.borrow_mut();
        replica.refused = replica.refused.saturating_add(1);
        self.source.log(line);
    }

    fn take(&self, opened: &Opened, segments: &Segments, confirmed_at: Timestamp) -> Result<(), Fault> {
        self.isolate.replica.borrow_mut().take(opened, segments, confirmed_at)?;
        // The origin's stamp states versions as every answer of the origin does.
        self.isolate.tag_lease.borrow_mut().record_versions(&opened.stamp.tags);
        Ok(())
    }

    /// Takes a state that [`to_kept`] made.
    fn take_kept(&self, bytes: &[u8], segments: &RefCell<Segments>) -> Result<(), Fault> {
        let (instant, rest) = bytes.split_first_chunk::<INSTANT_BYTES>().ok_or(Fault::Malformed)?;
        let parts = read_parts(rest).ok_or(Fault::Malformed)?;
        let (first, packed) = parts.split_first().ok_or(Fault::Malformed)?;
        let opened = Opened::of(&Update::decode(first).ok_or(Fault::Malformed)?, self.keys)?;
        let OpenedStep::Whole { manifest, .. } = &opened.step else { return Err(Fault::Malformed) };
        let mut segments = segments.borrow_mut();
        for (name, part) in manifest.names().zip(packed) {
            segments.take(*name, part)?;
            if segments.bytes() > self.isolate.replica.borrow().max_bytes {
                return Err(Fault::TooLarge { bytes: segments.bytes() });
            }
        }
        self.take(&opened, &segments, Timestamp::from_millis(i64::from_le_bytes(*instant)))
    }
}

/// A whole state for the data centre's cache: when it was confirmed, the update, and the manifest's segments in order.
fn to_kept(update: &Update, segments: &Segments, manifest: &Manifest, confirmed_at: Timestamp) -> Option<Vec<u8>> {
    let packed = segments.packed(manifest)?;
    let mut out = confirmed_at.as_millis().to_le_bytes().to_vec();
    put_part(&update.encode(), &mut out);
    packed.into_iter().for_each(|segment| put_part(segment, &mut out));
    Some(out)
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
