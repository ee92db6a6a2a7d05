//! A corpus after a change of the list whose rows are its entries.

use alloc::vec::Vec;
use core::ops::Range;

use super::renumbering::Renumbering;
use super::text::{Corpus, ENTRIES, Segment, append};
use crate::pace::Pace;

/// About what it takes to compare an entry with that before, and to fill a segment.
const COMPARE_NANOS: usize = 200;
const SEGMENT_NANOS: usize = 40_000;
/// Entries that are compared in one step.
const COMPARED: usize = 1 << 10;

/// The texts of the changed rows, in their order.
#[derive(Debug, Default)]
pub(super) struct ChangedTexts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ChangedTexts {
    /// Adds the texts of the next changed row.
    pub(super) fn add<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        append(texts, &mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    fn entry(&self, place: usize) -> &[u8] {
        let end = |place: usize| self.ends.get(place).copied();
        let start = place.checked_sub(1).and_then(end).unwrap_or(0);
        end(place).and_then(|end| self.bytes.get(start..end)).unwrap_or_default()
    }
}

/// The corpus after the change. Segments are shared with `previous` if none of their entries changed. Also the rows whose texts are not those
/// before, ascending.
pub(super) async fn after(
    previous: &Corpus,
    renumbering: &Renumbering,
    texts: &ChangedTexts,
    pace: &Pace<'_>,
) -> (Corpus, Vec<u32>) {
    let mut changes = Changes { previous, renumbering, texts, rows: Vec::new(), places: Vec::new() };
    for (step, changed) in renumbering.changed().chunks(COMPARED).enumerate() {
        pace.step(changed.len() * COMPARE_NANOS).await;
        for (place, changed) in (step * COMPARED..).zip(changed) {
            if changed.old.and_then(|old| previous.entry(old)) != Some(texts.entry(place)) {
                changes.rows.push(changed.row);
                changes.places.push(place);
            }
        }
    }
    if changes.rows.is_empty() && renumbering.keeps_numbers() {
        return (previous.clone(), Vec::new());
    }
    let mut corpus = Corpus::default();
    for (first, segment) in previous.segments() {
        let entries = segment.len() as u32;
        let Some(new) = renumbering.new_start(*first..*first + entries) else { continue };
        if !changes.any_in(new..new + entries) {
            changes.fill(&mut corpus, new, pace).await;
            corpus.reuse(alloc::sync::Arc::clone(segment));
        }
    }
    let rows = u32::try_from(renumbering.rows()).unwrap_or(u32::MAX);
    changes.fill(&mut corpus, rows, pace).await;
    // Every insertion into a full segment splits it.
    if corpus.segments().len() > 2 * renumbering.rows().div_ceil(ENTRIES) + 1 {
        corpus = Corpus::default();
        changes.fill(&mut corpus, rows, pace).await;
    }
    (corpus, changes.rows)
}

/// The entries of a corpus after a change: those that changed, and those of the corpus before.
struct Changes<'a> {
    previous: &'a Corpus,
    renumbering: &'a Renumbering,
    texts: &'a ChangedTexts,
    /// The numbers of the entries with other texts than before, ascending, and their places in `texts`.
    rows: Vec<u32>,
    places: Vec<usize>,
}

impl Changes<'_> {
    fn any_in(&self, rows: Range<u32>) -> bool {
        self.rows.get(self.rows.partition_point(|&row| row < rows.start)).is_some_and(|&row| row < rows.end)
    }

    /// Appends the entries up to number `end`, in segments of about equal length.
    async fn fill(&self, corpus: &mut Corpus, end: u32, pace: &Pace<'_>) {
        let count = (end as usize).saturating_sub(corpus.len());
        for left in (1..=count.div_ceil(ENTRIES)).rev() {
            pace.step(SEGMENT_NANOS).await;
            let first = corpus.len() as u32;
            let size = (end.saturating_sub(first) as usize).div_ceil(left);
            let mut segment = Segment::default();
            (first..end).take(size).for_each(|row| segment.push(self.entry(row)));
            corpus.push(segment);
        }
    }

    fn entry(&self, row: u32) -> &[u8] {
        match self.rows.binary_search(&row) {
            Ok(at) => self.places.get(at).map_or(&[], |place| self.texts.entry(*place)),
            Err(_) => self.renumbering.old_of(row).and_then(|old| self.previous.entry(old)).unwrap_or_default(),
        }
    }
}
