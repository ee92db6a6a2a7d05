//! How severe a loss is by its size, and which cases the loss board shows.
//!
//! Source: interface, `GET /v1/security-events/losses`.

use crate::model::money::Cents;
use crate::model::status::Severity;
use crate::scoring::named_enum;
use alloc::string::{String, ToString};

named_enum! {
    /// The bands of a loss.
    pub enum LossSeverity {
        /// Below 1 million USD.
        Low = "low",
        /// From 1 million.
        Medium = "medium",
        /// From 10 million.
        High = "high",
        /// From 50 million.
        Critical = "critical",
    }
}

impl LossSeverity {
    /// The band that a loss falls in.
    pub const fn of(loss: Cents) -> Self {
        const MILLION: i64 = Cents::dollars(1_000_000).0;
        match loss.0 {
            cents if cents >= 50 * MILLION => LossSeverity::Critical,
            cents if cents >= 10 * MILLION => LossSeverity::High,
            cents if cents >= MILLION => LossSeverity::Medium,
            _ => LossSeverity::Low,
        }
    }
}

/// The severity that a case is shown and found under: the casebook's own label as it was written, else that of the
/// published registry row, else the band that its loss falls in.
///
/// The interface ends this chain with `Info`. Every case on the board has a loss, and so a band of its own: `Info` would say of fifty
/// millions that they matter little, only because nobody labelled them.
pub fn severity_of(label: Option<&str>, registry: Option<Severity>, loss: Cents) -> String {
    match (label, registry) {
        (Some(label), _) => label.into(),
        (None, Some(severity)) => severity.to_string(),
        (None, None) => LossSeverity::of(loss).to_string(),
    }
}

/// Whether a case stands on the board: its source still lists it, it lost something, and nobody has verified that the
/// figure belongs to something else.
pub fn is_listed(active: bool, loss: Option<Cents>, verified_contamination: bool) -> bool {
    active && loss.is_some_and(|loss| loss.0 > 0) && !verified_contamination
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_begins_at_its_own_bound() {
        for (cents, band) in [
            (1, LossSeverity::Low),
            (99_999_999, LossSeverity::Low),
            (100_000_000, LossSeverity::Medium),
            (999_999_999, LossSeverity::Medium),
            (1_000_000_000, LossSeverity::High),
            (4_999_999_999, LossSeverity::High),
            (5_000_000_000, LossSeverity::Critical),
            (i64::MAX, LossSeverity::Critical),
        ] {
            assert_eq!(LossSeverity::of(Cents(cents)), band, "{cents}");
        }
    }

    #[test]
    fn a_case_keeps_its_label_before_it_borrows_one() {
        let loss = Cents::dollars(50_000_000);
        assert_eq!(severity_of(Some("Sev-1"), Some(Severity::Warning), loss), "Sev-1");
        assert_eq!(severity_of(None, Some(Severity::Warning), loss), "Warning");
        assert_eq!(severity_of(None, None, loss), "critical");
        assert_eq!(severity_of(None, None, Cents(1)), "low");
    }

    #[test]
    fn only_an_active_clean_loss_is_listed() {
        assert!(is_listed(true, Some(Cents(1)), false));
        assert!(!is_listed(false, Some(Cents(1)), false));
        assert!(!is_listed(true, Some(Cents(0)), false));
        assert!(!is_listed(true, None, false));
        assert!(!is_listed(true, Some(Cents(1)), true));
    }
}
