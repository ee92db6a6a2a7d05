//! The faults of a batch: all are counted, the first ones are listed.

use serde::Serialize;

/// Maximum number of listed faults; the first by line are listed.
pub const MAX_FAULTS: usize = 100;
/// Maximum characters of a field or a reason. Both may quote the line, which can be long.
const MAX_CHARS: usize = 300;

/// A fault of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Line number, counted from 1.
    pub line: u64,
    /// The field; null if the fault concerns the whole line.
    pub field: Option<String>,
    /// What is wrong, as the predicate of a sentence whose subject is the field, for example `must be at least 1`.
    pub reason: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    total: u64,
    kept: Vec<Fault>,
}

impl Faults {
    pub fn push(&mut self, fault: Fault) {
        self.total += 1;
        self.kept.push(Fault { field: fault.field.map(shortened), reason: shortened(fault.reason), ..fault });
        // Faults beyond the limit are dropped only at twice the limit, so the amortised cost of a fault is small.
        if self.kept.len() >= 2 * MAX_FAULTS {
            self.settle();
        }
    }

    /// Number of faults, including those not listed.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The first faults by line, at most [`MAX_FAULTS`].
    pub fn into_listed(mut self) -> Vec<Fault> {
        self.settle();
        self.kept
    }

    fn settle(&mut self) {
        self.kept.sort_by_key(|fault| fault.line);
        self.kept.truncate(MAX_FAULTS);
    }
}

impl Extend<Fault> for Faults {
    fn extend<I: IntoIterator<Item = Fault>>(&mut self, faults: I) {
        faults.into_iter().for_each(|fault| self.push(fault));
    }
}

/// The text, or its first characters if it is long.
pub(super) fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: u64) -> Fault {
        Fault { line, field: None, reason: "r".to_owned() }
    }

    #[test]
    fn the_first_lines_are_listed_in_any_order_of_arrival_and_all_are_counted() {
        let mut faults = Faults::default();
        faults.extend((1..=1_000).rev().map(fault));
        faults.extend([fault(3)]);
        assert_eq!(faults.total(), 1_001);
        let listed = faults.into_listed();
        assert_eq!((listed.len(), listed[0].line, listed[2].line, listed[3].line), (MAX_FAULTS, 1, 3, 3));
    }

    #[test]
    fn long_fields_and_reasons_are_shortened() {
        let mut faults = Faults::default();
        faults.push(Fault { line: 1, field: Some("ä".repeat(5_000)), reason: "ß".repeat(5_000) });
        let listed = faults.into_listed().remove(0);
        assert_eq!(listed.reason.chars().count(), MAX_CHARS + 1);
        assert_eq!(listed.field.unwrap().chars().count(), MAX_CHARS + 1);
    }
}
