//! What is wrong with a batch, counted in full and told as far as somebody reads it.

use serde::Serialize;

/// Faults that are told, the first ones by line.
pub const MAX_FAULTS: usize = 100;
/// Characters of a field or a reason that are told; either may repeat what the line says.
const MAX_CHARS: usize = 300;

/// What is wrong with one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Counted from 1.
    pub line: u64,
    /// The field, or null when the line as a whole is at fault.
    pub field: Option<String>,
    /// In words.
    pub reason: String,
}

/// The faults of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    total: u64,
    kept: Vec<Fault>,
}

impl Faults {
    /// Adds one.
    pub fn push(&mut self, fault: Fault) {
        self.total += 1;
        self.kept.push(Fault { field: fault.field.map(shortened), reason: shortened(fault.reason), ..fault });
        // Twice as many are held before the later ones go, so that each is moved a bounded number of times.
        if self.kept.len() >= 2 * MAX_FAULTS {
            self.settle();
        }
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The first ones by line, at most [`MAX_FAULTS`].
    pub fn told(mut self) -> Vec<Fault> {
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

fn shortened(text: String) -> String {
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
    fn the_first_lines_are_told_in_whatever_order_faults_come_and_all_are_counted() {
        let mut faults = Faults::default();
        faults.extend((1..=1_000).rev().map(fault));
        faults.extend([fault(3)]);
        assert_eq!(faults.total(), 1_001);
        let told = faults.told();
        assert_eq!((told.len(), told[0].line, told[2].line, told[3].line), (MAX_FAULTS, 1, 3, 3));
    }

    #[test]
    fn what_a_line_says_is_repeated_in_part() {
        let mut faults = Faults::default();
        faults.push(Fault { line: 1, field: Some("ä".repeat(5_000)), reason: "ß".repeat(5_000) });
        let told = faults.told().remove(0);
        assert_eq!(told.reason.chars().count(), MAX_CHARS + 1);
        assert_eq!(told.field.unwrap().chars().count(), MAX_CHARS + 1);
    }
}
