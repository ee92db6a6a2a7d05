//! Counts of the responses that isolates gave without the origin. Each report is added once; totals are kept for an hour and sent to the
//! origin.

use crate::guard::DiskFault;
use rds_shared::access::link::{AnsweredMinute, EDGE_ANSWERS_MINUTES, EdgeAnswers};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How long counts and the sequence numbers of isolates are kept, in minutes.
const KEPT_MINUTES: i64 = EDGE_ANSWERS_MINUTES as i64;
/// Maximum number of isolates whose last sequence number is kept. The isolates with the oldest last report are dropped first.
const MAX_ISOLATES: usize = 4_096;

/// Counts of one isolate, sent to the tag versions' Durable Object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredReport {
    /// Random name of the isolate.
    pub isolate: String,
    /// Sequence number within the isolate, from 1.
    pub sequence: u64,
    /// Counts since the previous report.
    pub minutes: Vec<AnsweredMinute>,
}

/// The stored state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// Random number that identifies this counter; `None` before the first count.
    pub source: Option<i64>,
    /// Totals by minute, and whether the origin has them.
    pub minutes: Vec<(AnsweredMinute, bool)>,
    /// Last sequence number of each isolate, and the minute in which its report arrived.
    pub isolates: Vec<(String, u64, i64)>,
}

/// A change of the stored state, applied atomically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    Create {
        /// Random number that identifies this counter.
        source: i64,
    },
    /// A report was accepted.
    Take {
        isolate: &'a str,
        sequence: u64,
        /// The minute in which the report arrived.
        minute: i64,
        /// The new totals of the report's minutes.
        totals: &'a [AnsweredMinute],
    },
    /// The origin has acknowledged these totals.
    Acknowledged(&'a [AnsweredMinute]),
    /// Delete old rows.
    Forget {
        /// The first minute to keep.
        minutes: i64,
        /// The first minute to keep: isolates that last reported before it are deleted.
        isolates: i64,
    },
}

/// Durable storage of the counts.
pub trait AnswersDisk {
    fn read(&self) -> Result<Stored, DiskFault>;

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault>;
}

/// The counts in memory. After a storage fault they are discarded and loaded again.
#[derive(Debug)]
pub struct Answers {
    source: Option<i64>,
    minutes: BTreeMap<i64, (AnsweredMinute, bool)>,
    isolates: BTreeMap<String, (u64, i64)>,
}

impl Answers {
    /// Loads the stored state.
    pub fn load(disk: &impl AnswersDisk) -> Result<Self, DiskFault> {
        let Stored { source, minutes, isolates } = disk.read()?;
        Ok(Answers {
            source,
            minutes: minutes
                .into_iter()
                .map(|(counts, is_acknowledged)| (counts.minute, (counts, is_acknowledged)))
                .collect(),
            isolates: isolates.into_iter().map(|(name, sequence, minute)| (name, (sequence, minute))).collect(),
        })
    }

    /// Adds a report that arrived in the minute `now`, unless it was added before. `source` becomes the counter's number if it has none.
    pub fn take(
        &mut self,
        disk: &impl AnswersDisk,
        report: &AnsweredReport,
        now: i64,
        source: i64,
    ) -> Result<(), DiskFault> {
        if self.isolates.get(&report.isolate).is_some_and(|(sequence, _)| *sequence >= report.sequence) {
            return Ok(());
        }
        if self.source.is_none() {
            disk.write(&Change::Create { source })?;
            self.source = Some(source);
        }
        self.forget(disk, now)?;
        let is_kept = |counts: &&AnsweredMinute| (0..KEPT_MINUTES).contains(&now.saturating_sub(counts.minute).max(0));
        let total = |counts: &AnsweredMinute| {
            let known = self.minutes.get(&counts.minute).map_or_else(AnsweredMinute::default, |(known, _)| *known);
            AnsweredMinute {
                minute: counts.minute,
                good: known.good.saturating_add(counts.good),
                refused: known.refused.saturating_add(counts.refused),
                failed: known.failed.saturating_add(counts.failed),
            }
        };
        // Clocks differ by less than a minute, so counts for a minute after the next one are wrong and discarded.
        let totals: Vec<_> = report
            .minutes
            .iter()
            .filter(is_kept)
            .filter(|counts| counts.minute <= now.saturating_add(1))
            .map(total)
            .collect();
        let AnsweredReport { isolate, sequence, .. } = report;
        disk.write(&Change::Take { isolate, sequence: *sequence, minute: now, totals: &totals })?;
        self.minutes.extend(totals.into_iter().map(|total| (total.minute, (total, false))));
        self.isolates.insert(isolate.clone(), (*sequence, now));
        Ok(())
    }

    /// The totals that the origin has not acknowledged, if any.
    pub fn unacknowledged(&self) -> Option<EdgeAnswers> {
        let minutes: Vec<_> = self
            .minutes
            .values()
            .filter(|(_, is_acknowledged)| !is_acknowledged)
            .map(|(counts, _)| *counts)
            .take(EDGE_ANSWERS_MINUTES)
            .collect();
        let source = self.source.filter(|_| !minutes.is_empty())?;
        Some(EdgeAnswers { source, minutes })
    }

    /// Records that the origin has these totals. A minute that has grown since is sent again.
    pub fn acknowledged(&mut self, disk: &impl AnswersDisk, answers: &EdgeAnswers) -> Result<(), DiskFault> {
        let is_unchanged =
            |counts: &&AnsweredMinute| self.minutes.get(&counts.minute).is_some_and(|(known, _)| known == *counts);
        let acknowledged: Vec<_> = answers.minutes.iter().filter(is_unchanged).copied().collect();
        disk.write(&Change::Acknowledged(&acknowledged))?;
        self.minutes.extend(acknowledged.into_iter().map(|counts| (counts.minute, (counts, true))));
        Ok(())
    }

    /// Drops rows too old for the minute `now`, and isolates beyond the bound.
    fn forget(&mut self, disk: &impl AnswersDisk, now: i64) -> Result<(), DiskFault> {
        let minutes = now.saturating_sub(KEPT_MINUTES).saturating_add(1);
        let mut isolates = minutes;
        if self.isolates.len() >= MAX_ISOLATES {
            let mut last_minutes: Vec<i64> = self.isolates.values().map(|(_, minute)| *minute).collect();
            last_minutes.sort_unstable();
            isolates =
                last_minutes.get(MAX_ISOLATES / 2).map_or(isolates, |median| isolates.max(median.saturating_add(1)));
        }
        if self.minutes.keys().any(|minute| *minute < minutes)
            || self.isolates.values().any(|(_, last_minute)| *last_minute < isolates)
        {
            disk.write(&Change::Forget { minutes, isolates })?;
            self.minutes.retain(|minute, _| *minute >= minutes);
            self.isolates.retain(|_, (_, last_minute)| *last_minute >= isolates);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::{Cell, RefCell};

    const NOW: i64 = 29_920_320;

    #[derive(Default)]
    struct Disk {
        stored: RefCell<Stored>,
        is_full: Cell<bool>,
    }

    impl AnswersDisk for Disk {
        fn read(&self) -> Result<Stored, DiskFault> {
            Ok(self.stored.borrow().clone())
        }

        fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
            if self.is_full.get() {
                return Err(DiskFault("full".to_owned()));
            }
            let mut stored = self.stored.borrow_mut();
            match *change {
                Change::Create { source } => stored.source = Some(source),
                Change::Take { isolate, sequence, minute, totals } => {
                    stored.isolates.retain(|(name, ..)| name != isolate);
                    stored.isolates.push((isolate.to_owned(), sequence, minute));
                    for total in totals {
                        stored.minutes.retain(|(known, _)| known.minute != total.minute);
                        stored.minutes.push((*total, false));
                    }
                }
                Change::Acknowledged(totals) => {
                    for (known, is_acknowledged) in &mut stored.minutes {
                        *is_acknowledged |= totals.contains(known);
                    }
                }
                Change::Forget { minutes, isolates } => {
                    stored.minutes.retain(|(counts, _)| counts.minute >= minutes);
                    stored.isolates.retain(|(_, _, last_minute)| *last_minute >= isolates);
                }
            }
            Ok(())
        }
    }

    fn report(isolate: &str, sequence: u64, minute: i64, failed: u64) -> AnsweredReport {
        let minutes = vec![AnsweredMinute { minute, good: 10, refused: 1, failed }];
        AnsweredReport { isolate: isolate.to_owned(), sequence, minutes }
    }

    fn failed(answers: &Answers) -> Vec<(i64, u64)> {
        answers
            .unacknowledged()
            .map_or(Vec::new(), |sent| sent.minutes.iter().map(|it| (it.minute - NOW, it.failed)).collect())
    }

    #[test]
    fn reports_of_all_isolates_add_up_and_repeats_add_nothing() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        assert_eq!(answers.unacknowledged(), None);
        for (isolate, sequence, count) in [("a", 1, 2), ("b", 1, 3), ("a", 1, 2), ("a", 2, 4), ("a", 1, 2)] {
            answers.take(&disk, &report(isolate, sequence, NOW, count), NOW, 7).unwrap();
            // A new instance starts from the stored state.
            answers = Answers::load(&disk).unwrap();
        }
        assert_eq!(failed(&answers), [(0, 9)]);
        assert_eq!(answers.unacknowledged().unwrap().source, 7);
    }

    #[test]
    fn acknowledged_totals_are_not_sent_again_until_they_grow() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        answers.take(&disk, &report("a", 1, NOW, 1), NOW, 7).unwrap();
        let sent = answers.unacknowledged().unwrap();
        answers.take(&disk, &report("a", 2, NOW, 1), NOW, 7).unwrap();
        answers.acknowledged(&disk, &sent).unwrap();
        assert_eq!(failed(&answers), [(0, 2)], "it grew while it was being sent");
        let sent = answers.unacknowledged().unwrap();
        answers.acknowledged(&disk, &sent).unwrap();
        assert_eq!((answers.unacknowledged(), Answers::load(&disk).unwrap().unacknowledged()), (None, None));
    }

    #[test]
    fn at_most_an_hour_is_kept_while_the_origin_is_down() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        for minute in 0..200 {
            let at = NOW + minute;
            answers.take(&disk, &report("a", minute.unsigned_abs() + 1, at, 1), at, 7).unwrap();
        }
        assert_eq!(answers.unacknowledged().unwrap().minutes.len(), EDGE_ANSWERS_MINUTES);
        assert!(disk.stored.borrow().minutes.len() <= EDGE_ANSWERS_MINUTES + 1);
        for number in 0..10_000 {
            answers
                .take(&disk, &report(&number.to_string(), 1, NOW + 200 + number / 100, 1), NOW + 200 + number / 100, 7)
                .unwrap();
        }
        assert!(answers.isolates.len() <= MAX_ISOLATES && disk.stored.borrow().isolates.len() <= MAX_ISOLATES);
        let now = NOW + 300;
        for number in 0..5_000 {
            answers.take(&disk, &report(&format!("at once {number}"), 1, now, 1), now, 7).unwrap();
        }
        assert!(answers.isolates.len() <= MAX_ISOLATES);
        assert_eq!(failed(&answers).last(), Some(&(300, 5_000)), "no counts are dropped with the isolates");
    }

    #[test]
    fn minutes_in_the_future_or_over_an_hour_old_are_not_counted() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        for (sequence, minute) in [(1, NOW + 2), (2, NOW - 60), (3, NOW + 1), (4, NOW - 59)] {
            answers.take(&disk, &report("a", sequence, minute, 1), NOW, 7).unwrap();
        }
        assert_eq!(failed(&answers), [(-59, 1), (1, 1)]);
    }

    #[test]
    fn a_report_that_could_not_be_stored_is_not_counted() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        disk.is_full.set(true);
        assert!(answers.take(&disk, &report("a", 1, NOW, 1), NOW, 7).is_err());
        disk.is_full.set(false);
        let mut answers = Answers::load(&disk).unwrap();
        answers.take(&disk, &report("a", 1, NOW, 1), NOW, 7).unwrap();
        assert_eq!(failed(&answers), [(0, 1)]);
    }

    proptest! {
        /// For any order of repeated reports and acknowledgements, the last totals sent to the origin are the counts.
        #[test]
        fn the_origin_ends_up_with_every_count_once(
            steps in prop::collection::vec((0..3_usize, 0..3_u64, any::<bool>(), any::<bool>()), 1..60),
        ) {
            let (disk, mut sent, mut wanted) = (Disk::default(), BTreeMap::new(), 0);
            let mut answers = Answers::load(&disk).unwrap();
            let mut sequences = [0_u64; 3];
            let mut deliver = |answers: &mut Answers, is_acknowledged: bool| {
                let Some(out) = answers.unacknowledged() else { return };
                sent.extend(out.minutes.iter().map(|it| (it.minute, it.failed)));
                if is_acknowledged {
                    answers.acknowledged(&disk, &out).unwrap();
                }
            };
            for (isolate, count, repeats, acknowledges) in steps {
                sequences[isolate] += 1;
                wanted += count;
                let out = report(&isolate.to_string(), sequences[isolate], NOW, count);
                for _ in 0..=usize::from(repeats) {
                    answers.take(&disk, &out, NOW, 7).unwrap();
                }
                deliver(&mut answers, acknowledges);
            }
            deliver(&mut answers, true);
            prop_assert_eq!(sent.values().sum::<u64>(), wanted);
        }
    }
}
