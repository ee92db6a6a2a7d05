//! Usage of a key on its way to the origin: closed windows are folded into batches, each of one UTC day, and a
//! batch is sent until it is acknowledged.
//!
//! Nothing is added to a batch after it was first sent. So every repetition is identical, and the origin applies each sequence
//! number once.

use rds_shared::access::budget::WINDOW_SECONDS;

/// Windows per UTC day; a window never spans two days.
pub const WINDOWS_PER_DAY: i64 = 86_400 / WINDOW_SECONDS;

/// A stored batch, without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Batch {
    /// Sequence number, from 1.
    pub sequence: u64,
    pub day: i64,
    /// End of its last window, Unix seconds.
    pub through: i64,
    /// Whether the batch may have been sent, so that nothing may be added to it.
    pub sealed: bool,
}

/// Windows of one day to fold into a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// The batch after the fold.
    pub into: Batch,
    /// Rows of windows before this one are deleted.
    pub before: i64,
}

/// The usage batches of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// The highest acknowledged sequence number.
    pub acknowledged: u64,
    /// Stored batches in order.
    pub batches: Vec<Batch>,
}

impl Usage {
    /// The folds for the closed windows of `days` (ascending); `present` is the first window still open.
    pub fn folds(&self, days: &[i64], present: i64) -> Vec<Fold> {
        let mut last = self.batches.last().copied();
        let mut folds = Vec::with_capacity(days.len());
        for &day in days {
            let before = present.min(day.saturating_add(1).saturating_mul(WINDOWS_PER_DAY));
            let through = before.saturating_mul(WINDOW_SECONDS);
            let into = match last {
                Some(open) if !open.sealed && open.day == day => Batch { through, ..open },
                previous => {
                    let number = previous.map_or(self.acknowledged, |batch| batch.sequence).saturating_add(1);
                    Batch { sequence: number, day, through, sealed: false }
                }
            };
            last = Some(into);
            folds.push(Fold { into, before });
        }
        folds
    }

    /// Records a stored fold.
    pub fn folded(&mut self, fold: &Fold) {
        self.batches.retain(|batch| batch.sequence != fold.into.sequence);
        self.batches.push(fold.into);
    }

    pub fn first(&self) -> Option<Batch> {
        self.batches.first().copied()
    }

    /// Records that a batch is sealed in storage.
    pub fn sealed(&mut self, sequence: u64) {
        for batch in self.batches.iter_mut().filter(|batch| batch.sequence == sequence) {
            batch.sealed = true;
        }
    }

    /// Records that a batch is acknowledged and deleted.
    pub fn acknowledged(&mut self, sequence: u64) {
        self.acknowledged = self.acknowledged.max(sequence);
        self.batches.retain(|batch| batch.sequence > sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of the UTC day 2026-11-21.
    const DAY: i64 = 20_778;
    /// The first window of [`DAY`].
    const FIRST: i64 = DAY * WINDOWS_PER_DAY;

    fn fold(usage: &mut Usage, days: &[i64], present: i64) -> Vec<Batch> {
        for fold in usage.folds(days, present) {
            usage.folded(&fold);
        }
        usage.batches.clone()
    }

    #[test]
    fn windows_are_folded_into_one_batch_until_it_is_sent() {
        let mut usage = Usage::default();
        fold(&mut usage, &[DAY], FIRST + 1);
        let grown = fold(&mut usage, &[DAY], FIRST + 2);
        assert_eq!(grown, [Batch { sequence: 1, day: DAY, through: (FIRST + 2) * 60, sealed: false }]);
        usage.sealed(1);
        let two = fold(&mut usage, &[DAY], FIRST + 3);
        assert_eq!(two.iter().map(|batch| batch.sequence).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((two[0].through, two[1].through), ((FIRST + 2) * 60, (FIRST + 3) * 60));
    }

    #[test]
    fn a_batch_covers_one_day_and_ends_at_midnight() {
        let mut usage = Usage { acknowledged: 6, batches: Vec::new() };
        let batches = fold(&mut usage, &[DAY, DAY + 1], FIRST + WINDOWS_PER_DAY + 5);
        assert_eq!(
            batches.iter().map(|batch| (batch.sequence, batch.day)).collect::<Vec<_>>(),
            [(7, DAY), (8, DAY + 1)]
        );
        assert_eq!(batches[0].through, (DAY + 1) * 86_400);
    }

    #[test]
    fn a_sequence_number_is_never_reused() {
        let mut usage = Usage::default();
        fold(&mut usage, &[DAY], FIRST + 1);
        usage.sealed(1);
        usage.acknowledged(1);
        assert_eq!(usage.first(), None);
        assert_eq!(fold(&mut usage, &[DAY], FIRST + 2)[0].sequence, 2);
        usage.acknowledged(1);
        assert_eq!(usage.first().map(|batch| batch.sequence), Some(2), "a late acknowledgement of an earlier batch");
    }
}
