//! Sealed documents opened and applied: a holder's rows, one update further.

use rds_shared::access::AssertionKey;
use rds_shared::replica::{
    Delta, DeltaFault, Family, Kind, Manifest, Row, Rows, SealFault, SegmentFault, SegmentName, Stamp, StateId, Step,
    Update, open,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

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
    Deltas(Vec<Delta>),
    Whole { manifest: Box<Manifest>, deltas: Vec<Delta> },
}

/// The stamp in a sealed document.
pub fn stamp(sealed: &[u8], keys: &[AssertionKey]) -> Result<Stamp, Fault> {
    Stamp::decode(open(Kind::Stamp, sealed, keys)?).ok_or(Fault::Malformed)
}

/// The manifest in a sealed document.
pub fn manifest(sealed: &[u8], keys: &[AssertionKey]) -> Result<Manifest, Fault> {
    Manifest::decode(open(Kind::Manifest, sealed, keys)?).ok_or(Fault::Malformed)
}

/// The delta in a sealed document.
pub fn delta(sealed: &[u8], keys: &[AssertionKey]) -> Result<Delta, Fault> {
    Delta::decode(open(Kind::Delta, sealed, keys)?).ok_or(Fault::Malformed)
}

fn deltas(sealed: &[Vec<u8>], keys: &[AssertionKey]) -> Result<Vec<Delta>, Fault> {
    sealed.iter().map(|sealed| delta(sealed, keys)).collect()
}

impl Opened {
    /// Opens every document of an update.
    pub fn of(update: &Update, keys: &[AssertionKey]) -> Result<Self, Fault> {
        let step = match &update.step {
            Step::Current => OpenedStep::Current,
            Step::Deltas(sealed) => OpenedStep::Deltas(deltas(sealed, keys)?),
            Step::Whole { manifest: sealed, deltas: others } => {
                OpenedStep::Whole { manifest: Box::new(manifest(sealed, keys)?), deltas: deltas(others, keys)? }
            }
        };
        Ok(Opened { stamp: stamp(&update.stamp, keys)?, step })
    }

    /// The rows of the stamp's state, for a holder of `rows`, which have the name `state`, and of the segments in `packed`.
    pub fn rows(&self, held: Option<(&Rows, StateId)>, segments: &Segments) -> Result<Rows, Fault> {
        let (mut rows, mut state, deltas) = match &self.step {
            OpenedStep::Current => {
                let (rows, state) = held.ok_or(Fault::OtherState)?;
                (rows.clone(), state, &[][..])
            }
            OpenedStep::Deltas(deltas) => {
                let (rows, state) = held.ok_or(Fault::OtherState)?;
                (rows.clone(), state, deltas.as_slice())
            }
            OpenedStep::Whole { manifest, deltas } => {
                let rows = manifest.assemble(|name| segments.unpacked.get(name).cloned());
                (rows.ok_or(Fault::SegmentMissing)?, manifest.state, deltas.as_slice())
            }
        };
        for delta in deltas {
            rows = delta.apply(&rows, state)?;
            state = delta.to;
        }
        if state == self.stamp.state { Ok(rows) } else { Err(Fault::WrongResult) }
    }
}

/// Segments that an isolate has fetched, as they travel and unpacked.
#[derive(Debug, Default)]
pub struct Segments {
    packed: BTreeMap<SegmentName, Vec<u8>>,
    unpacked: BTreeMap<SegmentName, Arc<Vec<Row>>>,
    /// Bytes of the unpacked rows.
    bytes: usize,
}

impl Segments {
    /// Takes a segment; an error if the bytes are not what the name says.
    pub fn take(&mut self, name: SegmentName, bytes: &[u8]) -> Result<(), Fault> {
        let rows = rds_shared::replica::Segment::decode(&name, bytes).map_err(Fault::Segment)?;
        let length: usize = rows.iter().map(|row| row.bytes().len()).sum();
        if self.unpacked.insert(name, Arc::new(rows)).is_none() {
            self.bytes = self.bytes.saturating_add(length);
        }
        self.packed.insert(name, bytes.to_vec());
        Ok(())
    }

    /// The segments of `manifest` that are not here.
    pub fn lacking(&self, manifest: &Manifest) -> Vec<SegmentName> {
        let mut lacking: Vec<SegmentName> =
            manifest.names().filter(|name| !self.unpacked.contains_key(name)).copied().collect();
        lacking.sort_unstable();
        lacking.dedup();
        lacking
    }

    /// Bytes of the unpacked rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The segments of `manifest` as they travel, in the manifest's order; `None` if one is missing.
    pub fn packed(&self, manifest: &Manifest) -> Option<Vec<&[u8]>> {
        manifest.names().map(|name| self.packed.get(name).map(Vec::as_slice)).collect()
    }
}

/// Estimated bytes in memory of `rows` and of the model made from them.
pub fn weight(rows: &Rows) -> usize {
    /// Handles of a row in its family and in the model, the header of its memory, and its places in indexes.
    const PER_ROW: usize = 512;
    let of =
        |family: Family| rows.of(family).iter().map(|row| row.bytes().len().saturating_add(PER_ROW)).sum::<usize>();
    Family::ALL.into_iter().map(of).fold(0, usize::saturating_add)
}
