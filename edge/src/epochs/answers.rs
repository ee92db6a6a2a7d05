//! The object's sums of what all isolates answered by themselves: taken once, kept for an hour, told to the origin as totals.

use crate::answered::AnsweredReport;
use crate::guard::DiskFault;
use rds_shared::access::link::{AnsweredMinute, EDGE_ANSWERS_MINUTES, EdgeAnswers};
use std::collections::BTreeMap;

/// Minutes for which counts, and the numbers of isolates, are kept.
const KEPT_MINUTES: i64 = EDGE_ANSWERS_MINUTES as i64;
/// Isolates whose latest number is remembered; those that were heard longest ago go first.
const MAX_ISOLATES: usize = 4_096;

/// What a disk holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// The counting place's number; none before anything was counted.
    pub source: Option<i64>,
    /// The totals of each minute, and whether the origin has them.
    pub minutes: Vec<(AnsweredMinute, bool)>,
    /// The latest number of each isolate, and the minute in which it came.
    pub isolates: Vec<(String, u64, i64)>,
}

/// A change of the disk, whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// The first thing counted.
    Create {
        /// The counting place's number.
        source: i64,
    },
    /// A report was taken: the isolate's number, and the new totals of its minutes.
    Take {
        /// Whose report.
        isolate: &'a str,
        /// Its number.
        sequence: u64,
        /// When it came.
        minute: i64,
        /// The totals.
        totals: &'a [AnsweredMinute],
    },
    /// The origin has these totals.
    Told(&'a [AnsweredMinute]),
    /// What is too old goes.
    Forget {
        /// The first minute whose totals stay.
        minutes: i64,
        /// The first minute in which an isolate was heard that stays.
        isolates: i64,
    },
}

/// Where the sums survive the object's instances.
pub trait AnswersDisk {
    /// All that is written.
    fn read(&self) -> Result<Stored, DiskFault>;

    /// Writes a change.
    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault>;
}

/// The sums. After a fault they are thrown away and loaded anew.
#[derive(Debug)]
pub struct Answers {
    source: Option<i64>,
    minutes: BTreeMap<i64, (AnsweredMinute, bool)>,
    isolates: BTreeMap<String, (u64, i64)>,
}

impl Answers {
    /// What the disk holds.
    pub fn load(disk: &impl AnswersDisk) -> Result<Self, DiskFault> {
        let Stored { source, minutes, isolates } = disk.read()?;
        Ok(Answers {
            source,
            minutes: minutes.into_iter().map(|(counts, told)| (counts.minute, (counts, told))).collect(),
            isolates: isolates.into_iter().map(|(name, sequence, minute)| (name, (sequence, minute))).collect(),
        })
    }

    /// Takes a report that came in the minute `now`, unless it was taken before. `source` is the counting place's number if it has none.
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
        // No clock of an isolate is minutes ahead of the object's: what says so is not counted.
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

    /// What the origin has not got, if anything.
    pub fn untold(&self) -> Option<EdgeAnswers> {
        let minutes: Vec<_> = self
            .minutes
            .values()
            .filter(|(_, told)| !told)
            .map(|(counts, _)| *counts)
            .take(EDGE_ANSWERS_MINUTES)
            .collect();
        let source = self.source.filter(|_| !minutes.is_empty())?;
        Some(EdgeAnswers { source, minutes })
    }

    /// Notes that the origin has these totals. A minute that has grown since is told again.
    pub fn told(&mut self, disk: &impl AnswersDisk, answers: &EdgeAnswers) -> Result<(), DiskFault> {
        let holds =
            |counts: &&AnsweredMinute| self.minutes.get(&counts.minute).is_some_and(|(known, _)| known == *counts);
        let told: Vec<_> = answers.minutes.iter().filter(holds).copied().collect();
        disk.write(&Change::Told(&told))?;
        self.minutes.extend(told.into_iter().map(|counts| (counts.minute, (counts, true))));
        Ok(())
    }

    /// Drops what is too old to be of use in the minute `now`, and the isolates beyond the bound.
    fn forget(&mut self, disk: &impl AnswersDisk, now: i64) -> Result<(), DiskFault> {
        let minutes = now.saturating_sub(KEPT_MINUTES).saturating_add(1);
        let mut isolates = minutes;
        if self.isolates.len() >= MAX_ISOLATES {
            let mut heard: Vec<i64> = self.isolates.values().map(|(_, minute)| *minute).collect();
            heard.sort_unstable();
            isolates = heard.get(MAX_ISOLATES / 2).map_or(isolates, |median| isolates.max(median.saturating_add(1)));
        }
        if self.minutes.keys().any(|minute| *minute < minutes)
            || self.isolates.values().any(|(_, heard)| *heard < isolates)
        {
            disk.write(&Change::Forget { minutes, isolates })?;
            self.minutes.retain(|minute, _| *minute >= minutes);
            self.isolates.retain(|_, (_, heard)| *heard >= isolates);
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
                Change::Told(totals) => {
                    for (known, told) in &mut stored.minutes {
                        *told |= totals.contains(known);
                    }
                }
                Change::Forget { minutes, isolates } => {
                    stored.minutes.retain(|(counts, _)| counts.minute >= minutes);
                    stored.isolates.retain(|(_, _, heard)| *heard >= isolates);
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
        answers.untold().map_or(Vec::new(), |told| told.minutes.iter().map(|it| (it.minute - NOW, it.failed)).collect())
    }

    #[test]
    fn reports_of_all_isolates_add_up_and_a_repeated_one_adds_nothing() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        assert_eq!(answers.untold(), None);
        for (isolate, sequence, count) in [("a", 1, 2), ("b", 1, 3), ("a", 1, 2), ("a", 2, 4), ("a", 1, 2)] {
            answers.take(&disk, &report(isolate, sequence, NOW, count), NOW, 7).unwrap();
            // Another instance begins with what the disk holds.
            answers = Answers::load(&disk).unwrap();
        }
        assert_eq!(failed(&answers), [(0, 9)]);
        assert_eq!(answers.untold().unwrap().source, 7);
    }

    #[test]
    fn what_was_told_is_not_told_again_until_it_grows() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        answers.take(&disk, &report("a", 1, NOW, 1), NOW, 7).unwrap();
        let told = answers.untold().unwrap();
        answers.take(&disk, &report("a", 2, NOW, 1), NOW, 7).unwrap();
        answers.told(&disk, &told).unwrap();
        assert_eq!(failed(&answers), [(0, 2)], "it has grown while it was told");
        let told = answers.untold().unwrap();
        answers.told(&disk, &told).unwrap();
        assert_eq!((answers.untold(), Answers::load(&disk).unwrap().untold()), (None, None));
    }

    #[test]
    fn an_hour_is_kept_while_the_origin_is_away_and_no_more() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        for minute in 0..200 {
            let at = NOW + minute;
            answers.take(&disk, &report("a", minute.unsigned_abs() + 1, at, 1), at, 7).unwrap();
        }
        assert_eq!(answers.untold().unwrap().minutes.len(), EDGE_ANSWERS_MINUTES);
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
        assert_eq!(failed(&answers).last(), Some(&(300, 5_000)), "of the counts nothing is dropped for that");
    }

    #[test]
    fn a_minute_that_is_far_ahead_or_long_past_is_not_counted() {
        let disk = Disk::default();
        let mut answers = Answers::load(&disk).unwrap();
        for (sequence, minute) in [(1, NOW + 2), (2, NOW - 60), (3, NOW + 1), (4, NOW - 59)] {
            answers.take(&disk, &report("a", sequence, minute, 1), NOW, 7).unwrap();
        }
        assert_eq!(failed(&answers), [(-59, 1), (1, 1)]);
    }

    #[test]
    fn what_could_not_be_written_is_not_taken() {
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
        /// However reports are repeated, and whenever the origin hears: the last totals it is told are what was counted.
        #[test]
        fn the_origin_ends_with_every_count_once(
            steps in prop::collection::vec((0..3_usize, 0..3_u64, any::<bool>(), any::<bool>()), 1..60),
        ) {
            let (disk, mut told, mut wanted) = (Disk::default(), BTreeMap::new(), 0);
            let mut answers = Answers::load(&disk).unwrap();
            let mut sequences = [0_u64; 3];
            let mut hear = |answers: &mut Answers, is_acknowledged: bool| {
                let Some(out) = answers.untold() else { return };
                told.extend(out.minutes.iter().map(|it| (it.minute, it.failed)));
                if is_acknowledged {
                    answers.told(&disk, &out).unwrap();
                }
            };
            for (isolate, count, repeats, acknowledges) in steps {
                sequences[isolate] += 1;
                wanted += count;
                let out = report(&isolate.to_string(), sequences[isolate], NOW, count);
                for _ in 0..=usize::from(repeats) {
                    answers.take(&disk, &out, NOW, 7).unwrap();
                }
                hear(&mut answers, acknowledges);
            }
            hear(&mut answers, true);
            prop_assert_eq!(told.values().sum::<u64>(), wanted);
        }
    }
}
