//! The frames after a position as chunks of HTTP/1.1, encoded once for all streams at the same position with the same filter.

use crate::journal::ring::{Batch, Ring};
use crate::stream::delivery::BATCH_FRAMES;
use axum::body::Bytes;
use rds_engine::clock::Stopwatch;
use std::collections::HashMap;
use std::sync::Arc;

/// What a stream at a position gets next.
#[derive(Debug, Clone)]
pub struct Chunks {
    /// The frames, each as a chunk; empty if there is none.
    pub bytes: Bytes,
    /// Number of frames.
    pub frames: u64,
    /// Sequence number of the last frame.
    pub last: u64,
    /// The position after these frames and after skipped operations.
    pub upto: u64,
    /// Whether more frames follow.
    pub more: bool,
    /// Age of the first frame in the ring; `None` without frames.
    pub age: Option<Stopwatch>,
    /// That age in microseconds when the latest stream had taken the frames.
    pub taken: u64,
}

impl Chunks {
    /// The times in microseconds that the frames waited for a stream which has just taken them, and that it took to write them; `None` without
    /// frames. One reading of the clock serves both the end of this write and the start of the next.
    pub fn lag(&mut self) -> Option<[u64; 2]> {
        let (waited, now) = (self.taken, self.age?.micros());
        self.taken = now;
        Some([waited, now.saturating_sub(waited)])
    }
}

/// The filters of a thread's streams, each with a number and with how many streams have it.
#[derive(Debug, Default)]
pub struct Filters {
    numbers: HashMap<Arc<str>, u32>,
    streams: slab::Slab<usize>,
}

/// The number of the empty filter.
pub const ALL: u32 = u32::MAX;

impl Filters {
    /// The number of a filter, which one more stream has.
    pub fn add(&mut self, vault: Option<&Arc<str>>) -> u32 {
        let Some(vault) = vault else { return ALL };
        if let Some(number) = self.numbers.get(vault) {
            if let Some(streams) = self.streams.get_mut(*number as usize) {
                *streams += 1;
            }
            return *number;
        }
        let number = u32::try_from(self.streams.insert(1)).unwrap_or(ALL - 1);
        self.numbers.insert(vault.clone(), number);
        number
    }

    /// One stream fewer has this filter.
    pub fn remove(&mut self, vault: Option<&Arc<str>>) {
        let Some(vault) = vault else { return };
        let Some(number) = self.numbers.get(vault).copied() else { return };
        if let Some(streams) = self.streams.get_mut(number as usize) {
            *streams -= 1;
            if *streams == 0 {
                self.streams.remove(number as usize);
                self.numbers.remove(vault);
            }
        }
    }
}

/// The chunks after each position that was asked for in one round.
#[derive(Debug, Default)]
pub struct Batches(HashMap<(u32, u64), Option<Chunks>>);

impl Batches {
    /// Forgets all chunks: the ring has grown.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The chunks after `at` for this filter; `None` if the ring no longer contains them.
    pub fn after(&mut self, ring: &Ring, filter: u32, vault: Option<&str>, at: u64) -> Option<&mut Chunks> {
        self.0.entry((filter, at)).or_insert_with(|| chunks(ring, vault, at)).as_mut()
    }
}

fn chunks(ring: &Ring, vault: Option<&str>, at: u64) -> Option<Chunks> {
    let batch = ring.after(at, vault, BATCH_FRAMES)?;
    let bytes = match &batch.frames[..] {
        // A single frame is shared with the ring.
        [(_, only)] => only.chunk().clone(),
        frames => frames.iter().map(|(_, frame)| &frame.chunk()[..]).collect::<Vec<_>>().concat().into(),
    };
    let last = batch.frames.last().map_or(at, |(seq, _)| *seq);
    let Batch { upto, more, age, .. } = batch;
    let taken = age.map_or(0, |age| age.micros());
    Some(Chunks { bytes, frames: batch.frames.len() as u64, last, upto, more, age, taken })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::frame::Frame;
    use crate::journal::ring::Slot;

    #[test]
    fn streams_at_one_position_share_their_chunks() {
        let (ring, mut filters, mut batches) = (Ring::default(), Filters::default(), Batches::default());
        let vaults = ["a", "b"].map(Arc::<str>::from);
        let slot = |seq: u64| Slot {
            seq,
            frame: Some(Frame::new(format!("f{seq}").as_bytes())),
            vaults: [vaults[(seq % 2) as usize].to_string()].into(),
            age: Stopwatch::start(),
        };
        ring.append((1..=40).map(slot));
        let (a, b) = (filters.add(Some(&vaults[0])), filters.add(Some(&vaults[1])));
        assert!(a != b && filters.add(Some(&vaults[0])) == a && filters.add(None) == ALL);
        let first = batches.after(&ring, ALL, None, 0).unwrap().clone();
        assert_eq!((first.frames, first.last, first.upto, first.more), (32, 32, 32, true));
        assert!(first.bytes.starts_with(b"2\r\nf1\r\n2\r\nf2\r\n"));
        let again = batches.after(&ring, ALL, None, 0).unwrap();
        assert_eq!(again.bytes.as_ptr(), first.bytes.as_ptr());
        let of_a = batches.after(&ring, a, Some("a"), 36).unwrap();
        assert_eq!(
            (&of_a.bytes[..], of_a.frames, of_a.last, of_a.upto, of_a.more),
            (&b"3\r\nf38\r\n3\r\nf40\r\n"[..], 2, 40, 40, false)
        );
        let none = batches.after(&ring, b, Some("b"), 39).unwrap();
        assert_eq!((none.frames, none.last, none.upto), (0, 39, 40));
        ring.restart_after(50);
        batches.clear();
        assert!(batches.after(&ring, ALL, None, 40).is_none());
        filters.remove(Some(&vaults[0]));
        assert_eq!(filters.add(Some(&vaults[0])), a);
        for vault in [&vaults[0], &vaults[0], &vaults[1]] {
            filters.remove(Some(vault));
        }
        assert_eq!((filters.numbers.len(), filters.streams.len()), (0, 0));
    }
}
