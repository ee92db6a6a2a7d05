//! How the Durable Object of the replica pulls from the origin.

use super::documents::{Fault, Opened, OpenedStep};
use super::store::{ReplicaDisk, Store};
use crate::guard::DiskFault;
use rds_shared::access::link::{ReplicaAsk, read_parts};
use rds_shared::pace::{Pace, Pause};
use rds_shared::replica::{FORMAT, SegmentName, Update};
use rds_shared::route::TagVersions;
use std::fmt;

/// Age of a confirmation, in milliseconds, after which the origin is asked for a new one before an answer.
pub const CONFIRM_AFTER_MILLIS: i64 = 5_000;
/// Segments in one request: of 32 KiB each, they fit in the 8 MiB of an answer.
const SEGMENTS_PER_CALL: usize = 250;
/// Attempts to get the segments of a manifest. Each asks only for those that are missing still.
const FETCHES: usize = 4;

/// The origin, as the Durable Object calls it.
#[expect(async_fn_in_trait, reason = "a Durable Object has a single thread")]
pub trait ReplicaOrigin: Pause {
    /// The Durable Object's clock, in milliseconds since the Unix epoch.
    fn now(&self) -> i64;

    /// The bytes of an update.
    async fn replica(&self, ask: &ReplicaAsk) -> Result<Vec<u8>, PullFault>;

    /// Segments as [`read_parts`] reads them, in the order of `names`; an empty one stands for one that was not sent.
    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, PullFault>;

    fn log(&self, line: &str);
}

/// Why a pull failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullFault {
    /// No answer, for this reason.
    Unreachable(String),
    /// An answer with this status: the origin has no replica, or one of another format, or failed.
    Status(u16),
    Refused(Fault),
    Disk(DiskFault),
}

impl fmt::Display for PullFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PullFault::Unreachable(cause) => f.write_str(cause),
            PullFault::Status(status) => write!(f, "the origin answered {status}"),
            PullFault::Refused(fault) => write!(f, "the origin's update was refused: {fault}"),
            PullFault::Disk(fault) => write!(f, "storage: {}", fault.0),
        }
    }
}

impl PullFault {
    /// The pause before the next question, in milliseconds. What the origin answered it will probably answer again.
    pub fn pause(&self) -> i64 {
        match self {
            // An older state comes from a process of the origin that is about to catch up.
            PullFault::Unreachable(_)
            | PullFault::Disk(_)
            | PullFault::Refused(Fault::Older)
            | PullFault::Status(500..) => 1_000,
            PullFault::Status(_) | PullFault::Refused(_) => 30_000,
        }
    }
}

impl From<DiskFault> for PullFault {
    fn from(fault: DiskFault) -> Self {
        PullFault::Disk(fault)
    }
}

impl From<Fault> for PullFault {
    fn from(fault: Fault) -> Self {
        PullFault::Refused(fault)
    }
}

/// Whether the origin should be asked before an answer that must include `covering`.
pub fn is_due<D: ReplicaDisk>(store: &Store<D>, covering: &TagVersions, now: i64) -> Result<bool, DiskFault> {
    Ok(store.kept()?.is_none_or(|kept| {
        let age = now.saturating_sub(kept.confirmed_at);
        !kept.stamp.tags.covers(covering) || !(0..CONFIRM_AFTER_MILLIS).contains(&age)
    }))
}

/// Asks the origin for the current state and stores it.
///
/// Once the deltas since the manifest are long, a new manifest is fetched, with those of its segments that are not stored.
pub async fn pull<D: ReplicaDisk>(
    store: &Store<D>,
    origin: &impl ReplicaOrigin,
    covering: TagVersions,
) -> Result<(), PullFault> {
    let have = store.kept()?.map(|kept| kept.stamp.state);
    let ask = ReplicaAsk { format: FORMAT, have, covering, whole: have.is_none(), holders: None };
    match step(store, origin, &ask).await {
        Err(PullFault::Refused(Fault::OtherState | Fault::WrongResult | Fault::Malformed)) if !ask.whole => {
            step(store, origin, &ReplicaAsk { whole: true, ..ask.clone() }).await?;
        }
        outcome => outcome?,
    }
    if let Some(kept) = store.kept()?.filter(|kept| kept.wants_whole()) {
        let ask = ReplicaAsk { have: Some(kept.stamp.state), whole: true, ..ask };
        step(store, origin, &ask).await?;
    }
    Ok(())
}

async fn step<D: ReplicaDisk>(
    store: &Store<D>,
    origin: &impl ReplicaOrigin,
    ask: &ReplicaAsk,
) -> Result<(), PullFault> {
    let (asked_at, pace) = (origin.now(), Pace::of(origin));
    let bytes = origin.replica(ask).await?;
    let update = Update::decode(&bytes).ok_or(Fault::Malformed)?;
    let opened = Opened::of(&update, store.keys(), &pace).await?;
    if store.kept()?.is_some_and(|kept| !opened.stamp.tags.covers(&kept.stamp.tags)) {
        return Err(Fault::Older.into());
    }
    // No isolate gets what it could not read.
    if let OpenedStep::Deltas(deltas) | OpenedStep::Whole { deltas, .. } = &opened.step {
        for delta in deltas {
            delta.unpack(&pace).await?;
        }
    }
    if let OpenedStep::Whole { manifest, .. } = &opened.step {
        let names: Vec<SegmentName> = manifest.names().copied().collect();
        fetch(store, origin, &names).await?;
    }
    Ok(store.take(&update, &opened, asked_at)??)
}

/// Fetches those of `names` that are not stored. Bytes that are not what their name says are refused, logged and fetched again.
pub async fn fetch<D: ReplicaDisk>(
    store: &Store<D>,
    origin: &impl ReplicaOrigin,
    names: &[SegmentName],
) -> Result<(), PullFault> {
    for _ in 0..FETCHES {
        let lacking = store.disk.lacking(names)?;
        if lacking.is_empty() {
            return Ok(());
        }
        for names in lacking.chunks(SEGMENTS_PER_CALL) {
            let bytes = origin.segments(names).await?;
            let parts = read_parts(&bytes).unwrap_or_default();
            // An empty part stands for a segment that was not sent.
            let sent = names.iter().copied().zip(parts).filter(|(_, part)| !part.is_empty());
            let (named, refused): (Vec<_>, Vec<_>) = sent.partition(|(name, part)| SegmentName::of(part) == *name);
            for (name, _) in refused {
                origin.log(&format!("the segment {name} of the origin was refused: it is not what its name says"));
            }
            store.disk.put_segments(&named)?;
        }
    }
    match store.disk.lacking(names)?.is_empty() {
        true => Ok(()),
        false => Err(Fault::SegmentMissing.into()),
    }
}
