//! Sealed documents opened and applied: a holder's rows, one update further.

use super::choice::Sizes;
use super::segments::Segments;
use rds_shared::access::AssertionKey;
use rds_shared::pace::Pace;
use rds_shared::replica::{
    Delta, DeltaFault, Families, Kind, Manifest, Row, Rows, SealFault, SegmentFault, Stamp, StateId, Step, Update,
    open, open_slowly,
};
use std::fmt;

/// Why an update is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is no update.
    Malformed,
    Seal(SealFault),
    /// Its stamp lacks a change that the holder's stamp includes.
    Older,
    /// It does not begin at the holder's state.
    OtherState,
    /// It does not lead to the state that its stamp names.
    WrongResult,
    /// A segment of it cannot be had.
    SegmentMissing,
    Segment(SegmentFault),
    /// The rows cannot be read as a model.
    NoModel,
    /// The rows take more memory than an isolate may give them.
    TooLarge {
        /// Estimated bytes in memory.
        bytes: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Malformed => f.write_str("it is malformed"),
            Fault::Seal(fault) => write!(f, "a document {fault}"),
            Fault::Older => f.write_str("it is older than the state held"),
            Fault::OtherState => f.write_str("it does not begin at the state held"),
            Fault::WrongResult => f.write_str("it does not lead to the state that its stamp names"),
            Fault::SegmentMissing => f.write_str("a segment of it is missing"),
            Fault::Segment(SegmentFault::OtherName) => f.write_str("a segment is not what its name says"),
            Fault::Segment(SegmentFault::Malformed) => f.write_str("a segment has no rows"),
            Fault::NoModel => f.write_str("its rows cannot be read"),
            Fault::TooLarge { bytes } => write!(f, "its rows take {bytes} bytes, more than an isolate has for them"),
        }
    }
}

impl From<SealFault> for Fault {
    fn from(fault: SealFault) -> Self {
        Fault::Seal(fault)
    }
}

impl From<DeltaFault> for Fault {
    fn from(fault: DeltaFault) -> Self {
        match fault {
            DeltaFault::OtherState => Fault::OtherState,
            DeltaFault::WrongResult => Fault::WrongResult,
        }
    }
}

/// An update whose documents were opened.
#[derive(Debug)]
pub struct Opened {
    pub stamp: Stamp,
    pub step: OpenedStep,
}

/// What leads to the stamp's state.
#[derive(Debug)]
pub enum OpenedStep {
    Current,
    Deltas(Vec<PackedDelta>),
    Whole { manifest: Box<Manifest>, deltas: Vec<PackedDelta> },
}

/// A delta that was opened and not unpacked.
#[derive(Debug)]
pub struct PackedDelta {
    pub from: StateId,
    pub to: StateId,
    bytes: Vec<u8>,
}

impl PackedDelta {
    async fn open(sealed: &[u8], keys: &[AssertionKey], pace: &Pace<'_>) -> Result<Self, Fault> {
        let bytes = open_slowly(Kind::Delta, sealed, keys, pace).await?;
        let (from, to) = Delta::ends(bytes).ok_or(Fault::Malformed)?;
        Ok(PackedDelta { from, to, bytes: bytes.to_vec() })
    }

    /// The delta itself, which takes several times the memory.
    pub async fn unpack(&self, pace: &Pace<'_>) -> Result<Delta, Fault> {
        Delta::read(&self.bytes, pace).await.ok_or(Fault::Malformed)
    }
}

/// The stamp in a sealed document.
pub fn stamp(sealed: &[u8], keys: &[AssertionKey]) -> Result<Stamp, Fault> {
    Stamp::decode(open(Kind::Stamp, sealed, keys)?).ok_or(Fault::Malformed)
}

/// The manifest in a sealed document.
pub fn manifest(sealed: &[u8], keys: &[AssertionKey]) -> Result<Manifest, Fault> {
    Manifest::decode(open(Kind::Manifest, sealed, keys)?).ok_or(Fault::Malformed)
}

/// The states between which the delta in a sealed document leads.
pub fn ends_of_delta(sealed: &[u8], keys: &[AssertionKey]) -> Result<(StateId, StateId), Fault> {
    Delta::ends(open(Kind::Delta, sealed, keys)?).ok_or(Fault::Malformed)
}

impl Opened {
    /// Opens every document of an update.
    pub async fn of(update: &Update, keys: &[AssertionKey], pace: &Pace<'_>) -> Result<Self, Fault> {
        let mut deltas = Vec::new();
        if let Step::Deltas(sealed) | Step::Whole { deltas: sealed, .. } = &update.step {
            for sealed in sealed {
                deltas.push(PackedDelta::open(sealed, keys, pace).await?);
            }
        }
        let step = match &update.step {
            Step::Current => OpenedStep::Current,
            Step::Deltas(_) => OpenedStep::Deltas(deltas),
            Step::Whole { manifest: sealed, .. } => {
                OpenedStep::Whole { manifest: Box::new(manifest(sealed, keys)?), deltas }
            }
        };
        Ok(Opened { stamp: stamp(&update.stamp, keys)?, step })
    }

    /// The families of a holder that need no segments: the deltas after a manifest lead its rows on.
    pub fn carried(&self, held: Option<&Content>) -> Families {
        let OpenedStep::Whole { manifest, deltas } = &self.step else { return Families::NONE };
        let is_on_the_way =
            |held: &&Content| held.state == manifest.state || deltas.iter().any(|delta| delta.to == held.state);
        held.filter(is_on_the_way).map_or(Families::NONE, |held| held.families)
    }

    /// Bytes of the deltas.
    pub fn delta_bytes(&self) -> usize {
        let (OpenedStep::Deltas(deltas) | OpenedStep::Whole { deltas, .. }) = &self.step else { return 0 };
        deltas.iter().map(|delta| delta.bytes.len()).fold(0, usize::saturating_add)
    }

    /// The rows of the `wanted` families in the stamp's state, from what the holder has and from segments of the manifest.
    pub async fn content(
        &self,
        held: Option<Content>,
        wanted: Families,
        segments: &Segments,
        pace: &Pace<'_>,
    ) -> Result<Content, Fault> {
        // Rows of one state have one name: whatever the update brings, it brings nothing new.
        let held = match held {
            Some(held) if held.state == self.stamp.state && held.families.has_all(wanted) => {
                return Ok(held.only(wanted));
            }
            held => held,
        };
        let (mut content, deltas, mut joining) = match &self.step {
            OpenedStep::Current => (held.ok_or(Fault::OtherState)?.only(wanted), &[][..], None),
            OpenedStep::Deltas(deltas) => (held.ok_or(Fault::OtherState)?.only(wanted), deltas.as_slice(), None),
            OpenedStep::Whole { manifest, deltas } => {
                let families = wanted.without(self.carried(held.as_ref()));
                let rows = manifest.assemble_only(families, |name| segments.rows(name).cloned(), pace).await;
                let rows = rows.ok_or(Fault::SegmentMissing)?;
                let carried = held.map(|held| held.only(wanted)).filter(|_| families != wanted);
                (Content { state: manifest.state, families, rows }, deltas.as_slice(), carried)
            }
        };
        content.join(&mut joining);
        for packed in deltas {
            let delta = packed.unpack(pace).await?;
            let (rows, at) = (core::mem::take(&mut content.rows), content.state);
            content.rows = delta.apply_only(rows, at, content.families, pace).await?;
            content.state = delta.to;
            content.join(&mut joining);
        }
        match content.state == self.stamp.state && content.families.has_all(wanted) {
            true => Ok(content),
            false => Err(Fault::WrongResult),
        }
    }
}

/// The rows of some families in one state.
#[derive(Debug, Clone)]
pub struct Content {
    /// The name of the rows of all families in this state.
    pub state: StateId,
    pub families: Families,
    pub rows: Rows,
}

impl Content {
    /// Without the rows of other families.
    pub fn only(self, families: Families) -> Self {
        let families = self.families.shared_with(families);
        Content { state: self.state, families, rows: self.rows.only(families) }
    }

    /// Takes over the families of `other` once both are of one state.
    fn join(&mut self, other: &mut Option<Content>) {
        if let Some(other) = other.take_if(|other| other.state == self.state) {
            self.rows.take_from(&other.rows, other.families);
            self.families = self.families.and(other.families);
        }
    }

    /// Estimated bytes in memory of each family, with its part of the model.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        for family in self.families.iter() {
            sizes.set(family, weight(self.rows.of(family)));
        }
        sizes
    }
}

/// Handles of a row in its family and in the model, the header of its memory, and its places in indexes.
pub const PER_ROW: usize = 400;

/// Estimated bytes in memory of these rows of a family, with their part of the model.
pub fn weight(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.stored_len().saturating_add(PER_ROW)).fold(0, usize::saturating_add)
}
