//! The isolate's cached responses: bounded in bytes and entries, with CLOCK eviction.

use super::Entry;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes that an isolate has for what it keeps between requests: the cached responses and the replica's rows. The platform ends an isolate at
/// 128 MB, of which the rest is for requests in progress and the runtime.
pub const ISOLATE_BYTES: usize = 96_000_000;
/// Bytes of these that the cached responses may take if the rows leave them.
pub const MAX_RESPONSE_BYTES: usize = 24 << 20;
/// Bytes of these that the cached responses may take in any case.
pub const MIN_RESPONSE_BYTES: usize = 8 << 20;

/// Upper bounds of [`Memory`].
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Bytes of all entries together.
    bytes: usize,
    /// Number of entries.
    entries: usize,
    /// Bytes of one entry.
    entry_bytes: usize,
}

impl Default for Bounds {
    /// An entry has at most 512 KB (two bodies of 256 KB).
    fn default() -> Self {
        Bounds { bytes: MAX_RESPONSE_BYTES, entries: 4_096, entry_bytes: 512 << 10 }
    }
}

/// The isolate's entries. The map is ordered, because wasm has no random hash seed: callers choose parts of the keys, and could make them
/// collide in a hash map.
#[derive(Debug, Default)]
pub struct Memory {
    bounds: Bounds,
    slots: Vec<Option<Slot>>,
    by_key: BTreeMap<Rc<str>, usize>,
    free: Vec<usize>,
    bytes: usize,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    key: Rc<str>,
    entry: Rc<Entry>,
    weight: usize,
    /// Requested since the clock hand last passed.
    used: bool,
}

impl Memory {
    /// The entry under `key`.
    pub fn get(&mut self, key: &str) -> Option<Rc<Entry>> {
        let place = *self.by_key.get(key)?;
        let slot = self.slots.get_mut(place)?.as_mut()?;
        slot.used = true;
        Some(Rc::clone(&slot.entry))
    }

    /// Leaves `bytes` of the isolate's memory to the replica's rows, and evicts what no longer fits.
    pub fn leave(&mut self, bytes: usize) {
        self.bounds.bytes = ISOLATE_BYTES.saturating_sub(bytes).clamp(MIN_RESPONSE_BYTES, MAX_RESPONSE_BYTES);
        while self.bytes > self.bounds.bytes {
            self.evict();
        }
    }

    /// Stores an entry, replacing one under the same key and evicting others as needed. An oversized entry is not stored.
    pub fn insert(&mut self, key: &str, entry: Rc<Entry>) {
        self.remove(key);
        let weight = entry.weight().saturating_add(key.len().saturating_mul(2));
        if weight > self.bounds.entry_bytes || weight > self.bounds.bytes || self.bounds.entries == 0 {
            return;
        }
        while self.bytes.saturating_add(weight) > self.bounds.bytes || self.by_key.len() >= self.bounds.entries {
            self.evict();
        }
        let key: Rc<str> = key.into();
        // A new entry starts as unused, so a sweep over many keys evicts the sweep's own entries first.
        let slot = Some(Slot { key: Rc::clone(&key), entry, weight, used: false });
        let place = match self.free.pop() {
            Some(place) => {
                if let Some(vacant) = self.slots.get_mut(place) {
                    *vacant = slot;
                }
                place
            }
            None => {
                self.slots.push(slot);
                self.slots.len().saturating_sub(1)
            }
        };
        self.by_key.insert(key, place);
        self.bytes = self.bytes.saturating_add(weight);
    }

    /// Removes the entry under `key`.
    pub fn remove(&mut self, key: &str) {
        if let Some(place) = self.by_key.remove(key) {
            self.vacate(place);
        }
    }

    /// Advances the clock hand to the next unused entry and removes it. Does nothing if empty.
    fn evict(&mut self) {
        // Two rounds: the first may only clear the `used` marks.
        for _ in 0..self.slots.len().saturating_mul(2) {
            let place = self.hand;
            self.hand = self.hand.saturating_add(1).checked_rem(self.slots.len()).unwrap_or(0);
            match self.slots.get_mut(place) {
                Some(Some(slot)) if slot.used => slot.used = false,
                Some(Some(slot)) => {
                    let key = Rc::clone(&slot.key);
                    return self.remove(&key);
                }
                Some(None) | None => {}
            }
        }
    }

    fn vacate(&mut self, place: usize) {
        if let Some(slot) = self.slots.get_mut(place).and_then(Option::take) {
            self.bytes = self.bytes.saturating_sub(slot.weight);
            self.free.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::policy::Lifetime;
    use crate::origin_link::signed_call::ReadHeaders;
    use proptest::prelude::*;
    use rds_shared::route::TagVersions;
    use rds_shared::wire::Timestamp;

    const SMALL: Bounds = Bounds { bytes: 10_000, entries: 4, entry_bytes: 4_000 };

    fn small() -> Memory {
        Memory { bounds: SMALL, ..Memory::default() }
    }

    fn copy(bytes: usize) -> Rc<Entry> {
        let lifetime = Lifetime { fresh: 15, ..Lifetime::default() };
        Rc::new(Entry::new(
            ReadHeaders::default(),
            vec![b'x'; bytes],
            lifetime,
            TagVersions::default(),
            Timestamp::default(),
        ))
    }

    #[test]
    fn a_popular_response_survives_a_sweep_over_many_keys() {
        let mut memory = small();
        memory.insert("popular", copy(10));
        for number in 0..100 {
            assert!(memory.get("popular").is_some(), "after {number} others");
            memory.insert(&format!("crawled-{number}"), copy(10));
        }
        assert_eq!(memory.by_key.len(), 4);
    }

    #[test]
    fn an_oversized_response_is_not_cached_and_evicts_nothing() {
        let mut memory = small();
        memory.insert("a", copy(10));
        memory.insert("huge", copy(5_000));
        assert!(memory.get("huge").is_none());
        assert!(memory.get("a").is_some());
    }

    #[test]
    fn a_newer_response_replaces_the_older() {
        let mut memory = small();
        memory.insert("a", copy(2_000));
        let bytes = memory.bytes;
        memory.insert("a", copy(1_000));
        assert_eq!((memory.by_key.len(), memory.bytes), (1, bytes - 1_000));
        memory.remove("a");
        assert_eq!((memory.by_key.len(), memory.bytes), (0, 0));
    }

    #[test]
    fn responses_make_room_for_rows_down_to_a_minimum() {
        let mut memory = Memory::default();
        for number in 0..120 {
            memory.insert(&number.to_string(), copy(250_000));
        }
        let filled = |memory: &Memory| (memory.bytes + 250_000) / 1_000_000;
        assert!((23..=26).contains(&filled(&memory)), "{} bytes", memory.bytes);
        for (rows, most) in [(80_000_000, 16_000_000), (96_000_000, MIN_RESPONSE_BYTES), (0, MIN_RESPONSE_BYTES)] {
            memory.leave(rows);
            assert!((most - 400_000..=most).contains(&memory.bytes), "{} bytes", memory.bytes);
        }
        assert_eq!(memory.bounds.bytes, MAX_RESPONSE_BYTES);
    }

    proptest! {
        #[test]
        fn the_bounds_hold_after_any_sequence_of_calls(steps in prop::collection::vec((0u8..3, 0u8..12, 0usize..5_000), 0..200)) {
            let mut memory = small();
            for (step, key, size) in steps {
                let key = format!("key-{key}");
                match step {
                    0 => memory.insert(&key, copy(size)),
                    1 => { memory.get(&key); }
                    _ => memory.remove(&key),
                }
                prop_assert!(memory.bytes <= SMALL.bytes && memory.by_key.len() <= SMALL.entries);
                prop_assert!(memory.slots.len() <= SMALL.entries);
                prop_assert_eq!(memory.bytes, memory.slots.iter().flatten().map(|slot| slot.weight).sum::<usize>());
            }
        }
    }
}
