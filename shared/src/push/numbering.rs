//! The numbers of the journal as a reader sees them: consecutive, except at recorded jumps.

use super::cursor::{Cursor, Jump};

/// The number that follows `last`: `last` + 1, or the first number after the recorded jumps that begin at `last`.
pub fn successor(jumps: &[Jump], last: u64) -> u64 {
    let mut last = Cursor::new(last);
    while let Some(jump) = jumps.iter().find(|jump| jump.from == last && jump.to > last) {
        last = jump.to;
    }
    last.get().saturating_add(1)
}

/// Whether `numbers` follow `last` and each other without gaps, except for recorded jumps.
pub fn is_dense(jumps: &[Jump], last: u64, numbers: impl IntoIterator<Item = u64>) -> bool {
    let mut last = last;
    numbers.into_iter().all(|number| {
        let follows = number == successor(jumps, last);
        last = number;
        follows
    })
}

/// A gap that a reader has found in the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberGap {
    /// The last number before which something is missing: reading continues after it.
    pub place: u64,
    /// Whether a recorded jump explains the gap. Otherwise numbers are missing that should be there.
    pub is_recorded: bool,
}

/// The gap of a reader that has read up to `tail`, and then found `numbers` above it and before them the newest number `head`.
pub fn gap(jumps: &[Jump], tail: u64, head: u64, numbers: &[u64]) -> NumberGap {
    let before = core::iter::once(tail).chain(numbers.iter().copied());
    let behind = numbers.iter().zip(before).filter(|(number, before)| **number != before.saturating_add(1)).last();
    // Without numbers, no operation has a number between the tail and the head; the next operation gets a number above the head.
    let place = behind.map_or(head, |(number, _)| number.saturating_sub(1));
    let is_dense = match numbers {
        [] => successor(jumps, tail) == head.saturating_add(1),
        numbers => is_dense(jumps, tail, numbers.iter().copied()),
    };
    NumberGap { place, is_recorded: is_dense || jumps.iter().any(|jump| jump.lost(Cursor::new(tail))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump(from: u64, to: u64) -> Jump {
        Jump { from: Cursor::new(from), to: Cursor::new(to) }
    }

    #[test]
    fn numbers_are_consecutive_except_at_jumps() {
        let jumps = [jump(7, 100), jump(100, 200), jump(205, 300)];
        assert_eq!(successor(&jumps, 6), 7);
        assert_eq!(successor(&jumps, 7), 201, "two steps with nothing in between");
        assert_eq!(successor(&jumps, 100), 201);
        assert_eq!(successor(&jumps, 204), 205);
        assert_eq!(successor(&jumps, 205), 301);
        assert!(is_dense(&jumps, 6, [7, 201, 202]) && !is_dense(&jumps, 6, [7, 101]) && !is_dense(&[], 6, [7, 9]));
    }

    #[test]
    fn reading_continues_after_the_last_gap_and_says_whether_a_jump_explains_it() {
        let place = |place, is_recorded| NumberGap { place, is_recorded };
        assert_eq!(gap(&[jump(7, 100)], 6, 101, &[7, 101]), place(100, true));
        assert_eq!(gap(&[jump(7, 100)], 7, 100, &[]), place(100, true), "nothing is numbered after the jump yet");
        assert_eq!(gap(&[jump(7, 100)], 9, 101, &[101]), place(100, true), "the reader had numbers that were lost");
        assert_eq!(gap(&[], 6, 12, &[7, 9, 10, 12]), place(11, false));
        assert_eq!(gap(&[], 6, 12, &[]), place(12, false));
    }
}
