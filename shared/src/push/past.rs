//! Which numbers a database gives after a restore, so that no two of its pasts share one.
//!
//! # What goes wrong without this
//! A restore takes a database back. Numbers that it gave since the backup stay with clients: stream cursors, cursors of the change
//! feed, ids. The restored database knows nothing of them and would give them again, to other things. A step over "enough" numbers
//! does not help when its length follows from the restored state alone: two restores from one backup then land on the same number,
//! and a cursor of the first is resumed in the second without a gap.
//!
//! # What is done
//! A past is what a database wrote between two steps. Every past begins at a number ([`Numbers::landing`]) that follows from
//! something no restore takes back: the second at which the step is made, by the machine's and the server's own clock (the later of
//! the two), and random bits. The database records each step as a [`Jump`](super::cursor::Jump). A number then proves its past by
//! itself: it was given by this past exactly if it is not above the head and in none of the recorded jumps
//! ([`is_of_this_past`](super::cursor::is_of_this_past)). Everything else is unknown, and its holder is told so.
//!
//! # The layout
//! A number is an epoch and a place in it: 31 bits of epoch (seconds since 2020) over 32 bits for operations, and over 21 bits for
//! everything else, so that those stay below 2^52 and are exact in JSON. A past begins at a random place in the lower half of its
//! epoch. Two pasts share a number only if their steps were made in one second *and* their random places lie closer together than the
//! count of numbers that the first one gave: for 10 000 operations about 1 in 200 000.
//!
//! * A clock that was set back, so that its epoch is not above the last number known: up to 1 024 epochs above that, at random.
//! * A clock that is far ahead, or wrong: no epoch after January 2054 is taken from a clock, so that half of all epochs are left
//!   for steps after it.
//! * A past that gives more numbers than an epoch holds goes on into the next ones. That is harmless: only a step made in exactly
//!   that second of the future could meet it.
//! * Numbers from before this rule (1, 2, 3, … and multiples of 2^40 after a step) are far below the epochs of today. They stay as they
//!   are, and so do the cursors that name them.
//!
//! What it cannot do: a database that is set back *unnoticed* gives numbers again until somebody notices. That is the business of
//! whoever decides to step: see the origin's `store::journal::step`.

/// Unix seconds of the first epoch: 2020-01-01.
const BEGINNING: i64 = 1_577_836_800;
/// The last epoch that is taken from a clock, in January 2054.
const LAST_OF_A_CLOCK: i64 = (1 << 30) - 1;
/// The last epoch of all.
const LAST: u64 = (1 << 31) - 1;
/// How many epochs above the last known one may be chosen from where the clock does not say.
const CHOICE: u64 = 1_024;

/// What no restore takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Unix seconds, by the latest of the clocks that were asked.
    pub seconds: i64,
    /// Unpredictable bits.
    pub random: u64,
}

/// A kind of numbers: how many of them an epoch holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    bits: u32,
}

/// The places of operations in the journal, which stream cursors name.
pub const OPERATIONS: Numbers = Numbers { bits: 32 };
/// Data versions, and the ids that the database gives to rows.
pub const ROWS: Numbers = Numbers { bits: 21 };

impl Numbers {
    /// The number that a new past begins behind: above `above`, and not one that another past of this database begins at. None where
    /// there is no epoch left.
    pub fn landing(self, above: u64, draw: Draw) -> Option<u64> {
        let clock = draw.seconds.saturating_sub(BEGINNING).clamp(0, LAST_OF_A_CLOCK).unsigned_abs();
        let reached = above.checked_shr(self.bits)?;
        let epoch = match clock > reached {
            true => clock,
            // Other bits than those of the place below.
            false => {
                let room = LAST.checked_sub(reached.checked_add(1)?)?;
                reached.checked_add(1)?.checked_add((draw.random >> 32) % CHOICE.min(room.saturating_add(1)))?
            }
        };
        let half = 1_u64.checked_shl(self.bits.checked_sub(1)?)?;
        epoch.checked_shl(self.bits)?.checked_add(draw.random % half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::cursor::{Cursor, Jump, Resume, Window, is_of_this_past};
    use crate::push::gap::GapReason;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};
    use std::collections::{BTreeMap, BTreeSet};

    const NOW: i64 = 1_795_219_200;
    const BOTH: [Numbers; 2] = [OPERATIONS, ROWS];

    #[test]
    fn two_restores_of_one_state_land_apart_at_other_seconds_or_by_chance() {
        for numbers in BOTH {
            let at = |seconds, random| numbers.landing(338, Draw { seconds, random }).unwrap();
            assert!(at(NOW + 1, 0) > at(NOW, u64::MAX), "a later second is above all of an earlier one");
            assert_ne!(at(NOW, 1), at(NOW, 2));
        }
    }

    #[test]
    fn numbers_of_before_are_below_every_epoch_of_today() {
        for steps in [0, 1, 2, 1_000] {
            assert!(OPERATIONS.landing(steps << 40, Draw { seconds: NOW, random: 0 }).unwrap() > (steps + 1) << 40);
        }
    }

    #[test]
    fn what_rows_are_given_is_exact_in_json() {
        let last = ROWS.landing((LAST - 1) << 21, Draw { seconds: i64::MAX, random: u64::MAX }).unwrap();
        assert!(last < 1 << 52);
    }

    #[test]
    fn a_clock_that_is_far_ahead_leaves_room_for_the_steps_after_it() {
        let mut head = OPERATIONS.landing(0, Draw { seconds: i64::MAX, random: u64::MAX }).unwrap();
        for _ in 0..100_000 {
            let next = OPERATIONS.landing(head, Draw { seconds: NOW, random: u64::MAX }).unwrap();
            assert!(next > head);
            head = next;
        }
        assert_eq!(OPERATIONS.landing(LAST << 32, Draw { seconds: NOW, random: 0 }), None, "and in the end it is said");
    }

    proptest! {
        #[test]
        fn a_step_goes_up_and_stays_a_positive_bigint(above in 0..(LAST << 32), seconds: i64, random: u64) {
            for numbers in BOTH {
                let above = above >> (32 - numbers.bits);
                let to = numbers.landing(above, Draw { seconds, random }).unwrap();
                prop_assert!(to > above && to <= i64::MAX.unsigned_abs());
            }
        }
    }

    /// A database that is backed up, restored and written to, as far as its numbers go. `given` is what each number was given to: nothing is
    /// ever written twice, so the last thing that somebody has tells all that they have.
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

        fn step(&mut self, draw: Draw) {
            let to = OPERATIONS.landing(self.head, draw).unwrap();
            self.jumps.push(Jump { from: Cursor::new(self.head), to: Cursor::new(to) });
            self.head = to;
        }
    }

    #[derive(Debug, Clone)]
    enum Act {
        Write(u8),
        BackUp,
        /// Any backup, as often as one likes; then the clock has moved on by so many seconds, or back.
        Restore {
            of: prop::sample::Index,
            seconds: i16,
        },
        /// An operator, or a promotion of what had everything.
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

    /// Bits that no shrinking makes alike.
    fn bits(seed: u64, count: u64) -> u64 {
        let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(count.to_be_bytes()).finalize();
        digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }

    proptest! {
        /// Whatever is restored in whatever order, by clocks that go forth and back: a client with any cursor ever issued is resumed
        /// only where it holds exactly what this past has up to there, and is told of a gap everywhere else.
        #[test]
        fn no_chain_of_restores_resumes_a_cursor_of_another_past(acts in acts(), seed: u64) {
            let (mut database, mut backups, mut what) = (Database::default(), Vec::new(), 0);
            let (mut clock, mut draws) = (NOW, 0);
            // Every cursor that any past ever issued, with the last thing that its holders have.
            let mut issued: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            backups.push(database.clone());
            for act in acts {
                let mut draw = |seconds: i16| {
                    clock += i64::from(seconds);
                    draws += 1;
                    Draw { seconds: clock, random: bits(seed, draws) }
                };
                match act {
                    Act::Write(count) => (0..count).for_each(|_| database.write(&mut what)),
                    Act::BackUp => backups.push(database.clone()),
                    Act::Restore { of, seconds } => {
                        database = of.get(&backups).clone();
                        database.step(draw(seconds));
                    }
                    Act::Step { seconds } => database.step(draw(seconds)),
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
                            None => prop_assert_eq!(*held, last(*cursor), "resumed at {} without a word", cursor),
                            Some(gap) => prop_assert_eq!(gap.reason, GapReason::CursorUnknown),
                        }
                    }
                    let is_ours = database.given.contains_key(cursor) || *cursor == database.head || *cursor == 0;
                    prop_assert!(!is_ours || start.gap.is_none(), "{} is of this past, and was refused", cursor);
                    prop_assert_eq!(start.gap.is_none(), is_of_this_past(&database.jumps, window.tail, Cursor::new(*cursor)));
                }
            }
        }
    }
}
