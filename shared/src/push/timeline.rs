//! Choice of the first sequence number after a restore, so that two timelines of a database never share a number.
//!
//! # Problem
//! A restore sets a database back. Clients still hold numbers issued after the backup: stream cursors, cursors of the change feed, ids. The
//! restored database has no record of these numbers and would issue them again for other rows. Skipping a fixed number of values does not
//! help: two restores of one backup would start at the same number. A cursor of the first restore would then be resumed in the second
//! without a gap.
//!
//! # Solution
//! After each detected restore the database makes a *step*: it jumps to a new start number. A *timeline* consists of the writes between two
//! steps. The start number ([`Numbers::new_head`]) is derived from values that a restore cannot set back: random bits, and the second of
//! the step, by the later of the machine's and the database server's clock. The database records each step as a
//! [`Jump`](super::cursor::Jump). A number belongs to the current timeline exactly if it is not above the head and in none of the recorded
//! jumps ([`is_of_current_timeline`](super::cursor::is_of_current_timeline)). A client with any other number gets a gap.
//!
//! # Layout
//! A number consists of an epoch (31 bits, in seconds since 2020) and an offset. The offset has 32 bits for operations. It has 21 bits for
//! row ids and data versions, so that these stay below 2^52 and exact in JSON. A timeline starts at a random offset in the lower half of
//! its epoch. Two timelines share a number only if their steps were made in the same second *and* the distance of their random offsets is
//! smaller than the number of values issued. For 10 000 operations the probability is about 1 in 200 000.
//!
//! * If the clock was set back, so that its epoch is not above the last known number, the epoch is chosen at random from the 1 024
//!   epochs above that number.
//! * If the clock is far ahead, its epoch is capped at January 2054, so that half of all epochs remain for later steps.
//! * A timeline that uses up the numbers of its epoch continues into the next epochs. It could collide only with a step made in exactly
//!   that future second.
//! * Numbers of the former scheme (1, 2, 3, … and multiples of 2^40 after a step) are far below today's epochs. These numbers and their
//!   cursors stay valid.
//!
//! Limit: a restore that is not detected leads to reused numbers until a step is made. `rds_store::push::journal::step` in the origin
//! detects restores.

/// Unix seconds of the first epoch: 2020-01-01.
const BEGINNING: i64 = 1_577_836_800;
/// The last epoch accepted from a clock, in January 2054.
const LAST_OF_A_CLOCK: i64 = (1 << 30) - 1;
/// The last epoch: epochs have 31 bits.
const LAST: u64 = (1 << 31) - 1;
/// Number of epochs to choose from at random when the clock is not above the last known epoch.
const CHOICE: u64 = 1_024;

/// Values that a restore cannot set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepEntropy {
    /// Unix seconds, by the latest of the available clocks.
    pub seconds: i64,
    /// Unpredictable bits.
    pub random: u64,
}

/// A numbering scheme: the number of offset bits per epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    bits: u32,
}

/// Sequence numbers of operations in the journal, used in stream cursors.
pub const OPERATIONS: Numbers = Numbers { bits: 32 };
/// Data versions and row ids.
pub const ROWS: Numbers = Numbers { bits: 21 };

impl Numbers {
    /// The head of a new timeline, whose first number is one higher. The head is above `above` and, with high probability, distinct
    /// from the heads of other timelines. `None` when no epoch is left.
    pub fn new_head(self, above: u64, entropy: StepEntropy) -> Option<u64> {
        let clock = entropy.seconds.saturating_sub(BEGINNING).clamp(0, LAST_OF_A_CLOCK).unsigned_abs();
        let reached = above.checked_shr(self.bits)?;
        let epoch = match clock > reached {
            true => clock,
            // The choice uses the upper random bits; the offset below uses the lower ones.
            false => {
                let room = LAST.checked_sub(reached.checked_add(1)?)?;
                reached.checked_add(1)?.checked_add((entropy.random >> 32) % CHOICE.min(room.saturating_add(1)))?
            }
        };
        let half = 1_u64.checked_shl(self.bits.checked_sub(1)?)?;
        epoch.checked_shl(self.bits)?.checked_add(entropy.random % half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::cursor::{Cursor, Jump, Resume, Window, is_of_current_timeline};
    use crate::push::gap::GapReason;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};
    use std::collections::{BTreeMap, BTreeSet};

    const NOW: i64 = 1_795_219_200;
    const BOTH: [Numbers; 2] = [OPERATIONS, ROWS];

    #[test]
    fn two_restores_of_one_state_start_at_different_numbers() {
        for numbers in BOTH {
            let at = |seconds, random| numbers.new_head(338, StepEntropy { seconds, random }).unwrap();
            assert!(at(NOW + 1, 0) > at(NOW, u64::MAX), "a later second is above every number of an earlier one");
            assert_ne!(at(NOW, 1), at(NOW, 2));
        }
    }

    #[test]
    fn numbers_of_the_former_scheme_are_below_todays_epochs() {
        for steps in [0, 1, 2, 1_000] {
            assert!(
                OPERATIONS.new_head(steps << 40, StepEntropy { seconds: NOW, random: 0 }).unwrap() > (steps + 1) << 40
            );
        }
    }

    #[test]
    fn row_numbers_are_exact_in_json() {
        let last = ROWS.new_head((LAST - 1) << 21, StepEntropy { seconds: i64::MAX, random: u64::MAX }).unwrap();
        assert!(last < 1 << 52);
    }

    #[test]
    fn a_clock_that_is_far_ahead_leaves_room_for_the_steps_after_it() {
        let mut head = OPERATIONS.new_head(0, StepEntropy { seconds: i64::MAX, random: u64::MAX }).unwrap();
        for _ in 0..100_000 {
            let next = OPERATIONS.new_head(head, StepEntropy { seconds: NOW, random: u64::MAX }).unwrap();
            assert!(next > head);
            head = next;
        }
        assert_eq!(OPERATIONS.new_head(LAST << 32, StepEntropy { seconds: NOW, random: 0 }), None, "no epoch is left");
    }

    proptest! {
        #[test]
        fn a_step_goes_up_and_stays_a_positive_bigint(above in 0..(LAST << 32), seconds: i64, random: u64) {
            for numbers in BOTH {
                let above = above >> (32 - numbers.bits);
                let to = numbers.new_head(above, StepEntropy { seconds, random }).unwrap();
                prop_assert!(to > above && to <= i64::MAX.unsigned_abs());
            }
        }
    }

    /// Model of a database's numbering under writes, backups and restores. `given` maps each number to the item it was issued for.
    /// Items are never written twice, so a client's last item identifies everything the client has.
    #[derive(Clone, Default)]
    struct Database {
        head: u64,
        jumps: Vec<Jump>,
        given: BTreeMap<u64, u64>,
    }

    impl Database {
        fn write(&mut self, what: &mut u64) {
            self.head += 1;
            *what += 1;
            self.given.insert(self.head, *what);
        }

        fn step(&mut self, entropy: StepEntropy) {
            let to = OPERATIONS.new_head(self.head, entropy).unwrap();
            self.jumps.push(Jump { from: Cursor::new(self.head), to: Cursor::new(to) });
            self.head = to;
        }
    }

    #[derive(Debug, Clone)]
    enum Act {
        Write(u8),
        BackUp,
        /// Restores any backup, then moves the clock by this many seconds, forward or back.
        Restore {
            of: prop::sample::Index,
            seconds: i16,
        },
        /// A step without a restore: by an operator, or after the promotion of a complete replica.
        Step {
            seconds: i16,
        },
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let act = prop_oneof![
            4 => (1..12u8).prop_map(Act::Write),
            2 => Just(Act::BackUp),
            3 => (any::<prop::sample::Index>(), -200..200i16).prop_map(|(of, seconds)| Act::Restore { of, seconds }),
            1 => (-200..200i16).prop_map(|seconds| Act::Step { seconds }),
        ];
        proptest::collection::vec(act, 1..40)
    }

    /// Pseudo-random bits that stay distinct when proptest shrinks its input.
    fn bits(seed: u64, count: u64) -> u64 {
        let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(count.to_be_bytes()).finalize();
        digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }

    proptest! {
        /// For any sequence of restores and clock changes, and any cursor ever issued: a client is resumed only if it has exactly the items
        /// of this timeline up to its cursor. Otherwise it gets a gap.
        #[test]
        fn a_cursor_of_another_timeline_is_never_resumed(acts in acts(), seed: u64) {
            let (mut database, mut backups, mut what) = (Database::default(), Vec::new(), 0);
            let (mut clock, mut steps) = (NOW, 0);
            // Every cursor that any timeline issued, with the last item of each holder.
            let mut issued: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            backups.push(database.clone());
            for act in acts {
                let mut entropy = |seconds: i16| {
                    clock += i64::from(seconds);
                    steps += 1;
                    StepEntropy { seconds: clock, random: bits(seed, steps) }
                };
                match act {
                    Act::Write(count) => (0..count).for_each(|_| database.write(&mut what)),
                    Act::BackUp => backups.push(database.clone()),
                    Act::Restore { of, seconds } => {
                        database = of.get(&backups).clone();
                        database.step(entropy(seconds));
                    }
                    Act::Step { seconds } => database.step(entropy(seconds)),
                }
                let last = |cursor: u64| database.given.range(..=cursor).next_back().map_or(0, |(_, what)| *what);
                for cursor in database.given.keys().copied().chain([database.head]) {
                    issued.entry(cursor).or_default().insert(last(cursor));
                }
                let window = Window { floor: Cursor::new(1), tail: Cursor::new(database.head), jumps: &database.jumps };
                for (cursor, holders) in &issued {
                    let start = window.start(Resume::After(Cursor::new(*cursor)));
                    for held in holders {
                        match &start.gap {
                            None => prop_assert_eq!(*held, last(*cursor), "resumed at {} without a gap", cursor),
                            Some(gap) => prop_assert_eq!(gap.reason, GapReason::CursorUnknown),
                        }
                    }
                    let is_ours = database.given.contains_key(cursor) || *cursor == database.head || *cursor == 0;
                    prop_assert!(!is_ours || start.gap.is_none(), "{} is of this timeline, but was refused", cursor);
                    prop_assert_eq!(start.gap.is_none(), is_of_current_timeline(&database.jumps, window.tail, Cursor::new(*cursor)));
                }
            }
        }
    }
}
