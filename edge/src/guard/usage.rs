//! What a key has used, on its way to the origin: closed windows are folded into batches, one UTC day in a batch, and a
//! batch is sent until it is acknowledged.
//!
//! A batch that was sent once is never added to: what it says stays the same however often it is repeated, and the origin
//! applies a number once.

use rds_shared::access::budget::WINDOW_SECONDS;

/// Windows of a UTC day; no window lies in two days.
pub const WINDOWS_PER_DAY: i64 = 86_400 / WINDOW_SECONDS;

/// A batch on disk, without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Its number: 1, 2, 3…
    pub sequence: u64,
    /// The UTC day of its rows.
    pub day: i64,
    /// The end of the last window in it, Unix seconds.
    pub through: i64,
    /// Whether it was ever sent.
    pub sealed: bool,
}

/// The windows of one day to fold into a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// The batch, as it is once they are in it.
    pub into: Batch,
    /// Rows of windows before this one go.
    pub before: i64,
}

/// How usage stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// The highest number that the origin has acknowledged.
    pub acknowledged: u64,
    /// The batches on disk, in order.
    pub batches: Vec<Batch>,
}

impl Usage {
    /// The folds that take in the closed windows of `days` (ascending), when `present` is the first that is still open.
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

    /// Notes a fold that is on disk.
    pub fn folded(&mut self, fold: &Fold) {
        self.batches.retain(|batch| batch.sequence != fold.into.sequence);
        self.batches.push(fold.into);
    }

    /// The batch to send next.
    pub fn first(&self) -> Option<Batch> {
        self.batches.first().copied()
    }

    /// Notes that a batch is sealed on disk.
    pub fn sealed(&mut self, sequence: u64) {
        for batch in self.batches.iter_mut().filter(|batch| batch.sequence == sequence) {
            batch.sealed = true;
        }
    }

    /// Notes that a batch is acknowledged and gone from the disk.
    pub fn acknowledged(&mut self, sequence: u64) {
        self.acknowledged = self.acknowledged.max(sequence);
        self.batches.retain(|batch| batch.sequence > sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21, its day and its first window.
    const DAY: i64 = 20_778;
    const FIRST: i64 = DAY * WINDOWS_PER_DAY;

    fn fold(usage: &mut Usage, days: &[i64], present: i64) -> Vec<Batch> {
        for fold in usage.folds(days, present) {
            usage.folded(&fold);
        }
        usage.batches.clone()
    }

    #[test]
    fn windows_gather_in_one_batch_until_it_is_sent() {
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
    fn a_batch_is_of_one_day_and_ends_at_midnight() {
        let mut usage = Usage { acknowledged: 6, batches: Vec::new() };
        let batches = fold(&mut usage, &[DAY, DAY + 1], FIRST + WINDOWS_PER_DAY + 5);
        assert_eq!(
            batches.iter().map(|batch| (batch.sequence, batch.day)).collect::<Vec<_>>(),
            [(7, DAY), (8, DAY + 1)]
        );
        assert_eq!(batches[0].through, (DAY + 1) * 86_400);
    }

    #[test]
    fn a_number_is_never_used_again() {
        let mut usage = Usage::default();
        fold(&mut usage, &[DAY], FIRST + 1);
        usage.sealed(1);
        usage.acknowledged(1);
        assert_eq!(usage.first(), None);
        assert_eq!(fold(&mut usage, &[DAY], FIRST + 2)[0].sequence, 2);
        usage.acknowledged(1);
        assert_eq!(usage.first().map(|batch| batch.sequence), Some(2), "a late acknowledgement of another batch");
    }
}
