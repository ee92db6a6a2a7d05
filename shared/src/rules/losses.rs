//! How severe a loss is by its size, and which cases the loss board lists.

use crate::model::money::Cents;
use crate::model::status::Severity;
use crate::scoring::named_enum;
use alloc::string::{String, ToString};

named_enum! {
    /// The severity band of a loss, by its amount.
    pub enum LossSeverity {
        /// Below 1 million USD.
        Low = "low",
        /// From 1 million USD to below 10 million.
        Medium = "medium",
        /// From 10 million USD to below 50 million.
        High = "high",
        /// 50 million USD or more.
        Critical = "critical",
    }
}

impl LossSeverity {
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

/// The severity that is shown for a case and by which the loss board filters. It is the verbatim label of the casebook (the source of the
/// case). Without a label it is the severity of the published registry row, and without such a row the band of the loss.
///
/// The documented fallback is `Info`, but every listed case has a loss and therefore a band, and `Info` would understate a large loss
/// without a label.
pub fn severity_of(label: Option<&str>, registry: Option<Severity>, loss: Cents) -> String {
    match (label, registry) {
        (Some(label), _) => label.into(),
        (None, Some(severity)) => severity.to_string(),
        (None, None) => LossSeverity::of(loss).to_string(),
    }
}

/// Whether the board lists a case: its source still lists it, its loss is above zero, and the figure has not been verified to belong to
/// another incident.
pub fn is_listed(active: bool, loss: Option<Cents>, verified_contamination: bool) -> bool {
    active && loss.is_some_and(|loss| loss.0 > 0) && !verified_contamination
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_on_a_bound_belongs_to_the_higher_band() {
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
    fn a_cases_own_label_precedes_the_registry_and_the_band() {
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
