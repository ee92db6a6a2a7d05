//! The newest frames, encoded once and shared by every stream. A stream has a position in the ring, never a queue of its own.
//!
//! The ring is a cache: operations that it no longer contains are read from the journal.

use super::frame::Frame;
use rds_engine::clock::Stopwatch;
use rds_shared::push::{Cursor, frames};
use rds_store::push::journal::read::{Entry, StreamContent};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

/// Maximum number of operations.
const MAX_OPERATIONS: usize = 8_192;
/// Maximum size of the frames and vault ids in bytes.
const MAX_BYTES: usize = 32 << 20;

/// An operation with its frame.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Sequence number.
    pub seq: u64,
    /// The frame; `None` if streams do not get the operation.
    pub frame: Option<Frame>,
    /// The vaults that the operation concerns.
    pub vaults: Arc<[String]>,
    /// Started when the slot was made.
    pub age: Stopwatch,
}

impl From<Entry> for Slot {
    fn from(Entry { seq, told, .. }: Entry) -> Self {
        let frame = |told: &StreamContent| Frame::new(&frames::operation(told.operation, Cursor::new(seq), &told.row));
        Slot {
            seq,
            frame: told.as_ref().map(frame),
            vaults: told.map_or_else(Arc::default, |told| told.vaults.into()),
            age: Stopwatch::start(),
        }
    }
}

impl Slot {
    /// The frame, if a stream with this vault filter gets it.
    fn shown(&self, vault: Option<&str>) -> Option<&Frame> {
        let concerns = vault.is_none_or(|vault| self.vaults.iter().any(|own| own == vault));
        self.frame.as_ref().filter(|_| concerns)
    }

    fn bytes(&self) -> usize {
        self.frame.as_ref().map_or(0, Frame::size) + self.vaults.iter().map(String::len).sum::<usize>()
    }
}

/// Frames after a position.
#[derive(Debug, Default)]
pub struct Batch {
    /// Frames with their sequence numbers, in order.
    pub frames: Vec<(u64, Frame)>,
    /// The position after these frames and after skipped operations.
    pub upto: u64,
    /// Whether more frames are known to follow.
    pub more: bool,
    /// Age of the first frame in the ring; `None` without frames from the ring.
    pub age: Option<Stopwatch>,
    /// Number of operations fetched from the journal, including those without a frame for the stream.
    pub fetched: u32,
}

#[derive(Debug, Default)]
struct RingState {
    slots: VecDeque<Slot>,
    /// The ring contains every operation after this position.
    floor: u64,
    tail: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
pub struct Ring(RwLock<RingState>);

impl Ring {
    /// Appends operations after the tail and drops the oldest ones beyond the limits. Operations at or below the tail are ignored.
    pub fn append(&self, slots: impl IntoIterator<Item = Slot>) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for slot in slots {
            if slot.seq <= held.tail {
                continue;
            }
            held.tail = slot.seq;
            held.bytes += slot.bytes();
            held.slots.push_back(slot);
        }
        while held.slots.len() > MAX_OPERATIONS || held.bytes > MAX_BYTES {
            let Some(oldest) = held.slots.pop_front() else { break };
            held.bytes -= oldest.bytes();
            held.floor = oldest.seq;
        }
    }

    /// Clears the ring and restarts it after `place`.
    pub fn restart_after(&self, place: u64) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *held = RingState { floor: place, tail: place, ..RingState::default() };
    }

    /// The newest sequence number.
    pub fn tail(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).tail
    }

    /// Number of operations, and the size of their frames and vault ids in bytes.
    pub fn size(&self) -> (usize, usize) {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (held.slots.len(), held.bytes)
    }

    /// At most `most` frames after `place`; `None` if the ring no longer contains everything after `place`.
    pub fn after(&self, place: u64, vault: Option<&str>, most: usize) -> Option<Batch> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if place < held.floor {
            return None;
        }
        let from = held.slots.partition_point(|slot| slot.seq <= place);
        let mut batch = Batch { upto: place, ..Batch::default() };
        for slot in held.slots.range(from..) {
            if let Some(frame) = slot.shown(vault) {
                if batch.frames.len() == most {
                    batch.more = true;
                    break;
                }
                batch.age.get_or_insert(slot.age);
                batch.frames.push((slot.seq, frame.clone()));
            }
            batch.upto = slot.seq;
        }
        Some(batch)
    }

    /// Whether the ring contains more than `most` frames after `place`.
    pub fn is_behind(&self, place: u64, vault: Option<&str>, most: usize) -> bool {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let from = held.slots.partition_point(|slot| slot.seq <= place);
        held.slots.range(from..).filter(|slot| slot.shown(vault).is_some()).nth(most).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slot(seq: u64, vault: &str) -> Slot {
        let frame = (!vault.is_empty()).then(|| Frame::new(seq.to_string().as_bytes()));
        Slot { seq, frame, vaults: [vault.to_owned()].into(), age: Stopwatch::start() }
    }

    fn numbers(batch: &Batch) -> Vec<u64> {
        batch.frames.iter().map(|(seq, _)| *seq).collect()
    }

    #[test]
    fn filtered_operations_are_skipped_and_advance_the_position() {
        let ring = Ring::default();
        ring.restart_after(10);
        ring.append([slot(11, "a"), slot(12, "b"), slot(13, ""), slot(14, "a"), slot(15, "b")]);
        let batch = ring.after(10, Some("a"), 8).unwrap();
        assert_eq!((numbers(&batch), batch.upto, batch.more), (vec![11, 14], 15, false));
        let batch = ring.after(10, Some("a"), 1).unwrap();
        assert_eq!((numbers(&batch), batch.upto, batch.more), (vec![11], 13, true));
        assert_eq!(numbers(&ring.after(12, None, 8).unwrap()), [14, 15]);
        assert_eq!(ring.after(99, None, 8).unwrap().upto, 99, "a position above the tail");
        assert!(ring.after(9, None, 8).is_none(), "a position below the floor");
    }

    #[test]
    fn the_ring_is_bounded_in_operations_and_bytes() {
        let ring = Ring::default();
        ring.append((1..=3 * MAX_OPERATIONS as u64).map(|seq| slot(seq, "v")));
        assert_eq!(ring.size().0, MAX_OPERATIONS);
        assert!(ring.after(0, None, 1).is_none());
        assert_eq!(numbers(&ring.after(2 * MAX_OPERATIONS as u64, None, 1).unwrap()), [2 * MAX_OPERATIONS as u64 + 1]);
        let large = |seq| Slot { frame: Some(Frame::new(&[b' '; 1 << 20])), ..slot(seq, "v") };
        ring.append((0..200).map(|more| large(3 * MAX_OPERATIONS as u64 + 1 + more)));
        assert!(ring.size().1 <= MAX_BYTES);
        ring.restart_after(7);
        ring.append([slot(6, "read before the restart"), slot(7, "v")]);
        assert_eq!((ring.size(), ring.tail()), ((0, 0), 7));
    }

    #[test]
    fn a_jump_of_the_numbers_hides_no_frame() {
        let ring = Ring::default();
        ring.append([slot(1, "v"), slot(2, "v"), slot(1 << 40, "v")]);
        assert_eq!(numbers(&ring.after(2, None, 8).unwrap()), [1 << 40]);
        assert!(ring.is_behind(0, None, 2) && !ring.is_behind(0, None, 3));
    }

    proptest! {
        /// Whatever the batch size, a stream gets every frame of its filter once and in order.
        #[test]
        fn batches_of_any_size_add_up_to_the_whole(kinds in proptest::collection::vec(0..3u8, 0..60), most in 1..7usize) {
            let names = ["", "a", "b"];
            let ring = Ring::default();
            ring.append(kinds.iter().zip(1..).map(|(kind, seq)| slot(seq, names[usize::from(*kind)])));
            let (mut place, mut got) = (0, Vec::new());
            loop {
                let batch = ring.after(place, Some("a"), most).unwrap();
                got.extend(numbers(&batch));
                prop_assert!(batch.upto >= place);
                place = batch.upto;
                if !batch.more {
                    break;
                }
            }
            let wanted: Vec<u64> = kinds.iter().zip(1..).filter(|(kind, _)| **kind == 1).map(|(_, seq)| seq).collect();
            prop_assert_eq!(got, wanted);
            prop_assert_eq!(place, kinds.len() as u64);
        }
    }
}
