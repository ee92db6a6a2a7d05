//! The newest frames, encoded once and shared by every stream. A stream holds a place in it, never a queue.
//!
//! It is a copy: whatever it does not hold any more is read from the journal.

use axum::body::Bytes;
use std::collections::VecDeque;
use std::sync::{PoisonError, RwLock};

/// Operations held, at most.
const MOST: usize = 8_192;
/// Bytes of frames held, at most.
const MOST_BYTES: usize = 32 << 20;

/// An operation as streams see it.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its number.
    pub seq: u64,
    /// Its frame; none where it is for nobody's stream.
    pub frame: Option<Bytes>,
    /// The vaults that it concerns.
    pub vaults: Box<[String]>,
}

impl Slot {
    /// The frame, if a stream with this filter gets it.
    fn shown(&self, vault: Option<&str>) -> Option<&Bytes> {
        let concerns = vault.is_none_or(|vault| self.vaults.iter().any(|own| own == vault));
        self.frame.as_ref().filter(|_| concerns)
    }

    fn bytes(&self) -> usize {
        self.frame.as_ref().map_or(0, Bytes::len) + self.vaults.iter().map(String::len).sum::<usize>()
    }
}

/// Some frames that follow a place.
#[derive(Debug, Default)]
pub struct Batch {
    /// Each with its number, in order.
    pub frames: Vec<(u64, Bytes)>,
    /// The place behind them and behind whatever was passed over.
    pub upto: u64,
    /// Whether more is known to follow.
    pub more: bool,
    /// Operations that were fetched from the journal for it, shown or not.
    pub fetched: u32,
}

#[derive(Debug, Default)]
struct Held {
    slots: VecDeque<Slot>,
    /// Everything after this place is held.
    floor: u64,
    tail: u64,
    bytes: usize,
}

/// The shared ring.
#[derive(Debug, Default)]
pub struct Ring(RwLock<Held>);

impl Ring {
    /// Appends operations that follow the last ones, and lets the oldest go. What lies behind the tail is not taken any more.
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
        while held.slots.len() > MOST || held.bytes > MOST_BYTES {
            let Some(oldest) = held.slots.pop_front() else { break };
            held.bytes -= oldest.bytes();
            held.floor = oldest.seq;
        }
    }

    /// Forgets everything and begins after `place`.
    pub fn begin_after(&self, place: u64) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *held = Held { floor: place, tail: place, ..Held::default() };
    }

    /// The last number held.
    pub fn tail(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).tail
    }

    /// Operations held, and the bytes of their frames.
    pub fn size(&self) -> (usize, usize) {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (held.slots.len(), held.bytes)
    }

    /// At most `most` frames after `place`; `None` when it reaches back further than the ring.
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
                batch.frames.push((slot.seq, frame.clone()));
            }
            batch.upto = slot.seq;
        }
        Some(batch)
    }

    /// Whether more than `most` frames after `place` wait in the ring.
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
        let frame = (!vault.is_empty()).then(|| Bytes::from(seq.to_string()));
        Slot { seq, frame, vaults: [vault.to_owned()].into() }
    }

    fn numbers(batch: &Batch) -> Vec<u64> {
        batch.frames.iter().map(|(seq, _)| *seq).collect()
    }

    #[test]
    fn what_a_filter_hides_is_passed_over_and_counted_as_read() {
        let ring = Ring::default();
        ring.begin_after(10);
        ring.append([slot(11, "a"), slot(12, "b"), slot(13, ""), slot(14, "a"), slot(15, "b")]);
        let batch = ring.after(10, Some("a"), 8).unwrap();
        assert_eq!((numbers(&batch), batch.upto, batch.more), (vec![11, 14], 15, false));
        let batch = ring.after(10, Some("a"), 1).unwrap();
        assert_eq!((numbers(&batch), batch.upto, batch.more), (vec![11], 13, true));
        assert_eq!(numbers(&ring.after(12, None, 8).unwrap()), [14, 15]);
        assert_eq!(ring.after(99, None, 8).unwrap().upto, 99, "a place the ring has yet to reach");
        assert!(ring.after(9, None, 8).is_none(), "a place it has left behind");
    }

    #[test]
    fn it_is_bounded_in_number_and_in_bytes() {
        let ring = Ring::default();
        ring.append((1..=3 * MOST as u64).map(|seq| slot(seq, "v")));
        assert_eq!(ring.size().0, MOST);
        assert!(ring.after(0, None, 1).is_none());
        assert_eq!(numbers(&ring.after(2 * MOST as u64, None, 1).unwrap()), [2 * MOST as u64 + 1]);
        let large = |seq| Slot { frame: Some(Bytes::from(vec![b' '; 1 << 20])), ..slot(seq, "v") };
        ring.append((0..200).map(|more| large(3 * MOST as u64 + 1 + more)));
        assert!(ring.size().1 <= MOST_BYTES);
        ring.begin_after(7);
        ring.append([slot(6, "read before it began anew"), slot(7, "v")]);
        assert_eq!((ring.size(), ring.tail()), ((0, 0), 7));
    }

    #[test]
    fn a_jump_of_the_numbers_is_only_a_jump() {
        let ring = Ring::default();
        ring.append([slot(1, "v"), slot(2, "v"), slot(1 << 40, "v")]);
        assert_eq!(numbers(&ring.after(2, None, 8).unwrap()), [1 << 40]);
        assert!(ring.is_behind(0, None, 2) && !ring.is_behind(0, None, 3));
    }

    proptest! {
        /// However a stream is fed, it gets every frame of its filter once, in order.
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
