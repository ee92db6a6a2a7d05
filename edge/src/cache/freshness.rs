//! The fields that grow while a copy lies: `freshness_seconds`, seconds since a row's last sync, and `age_seconds`, seconds
//! since a feed's last update.
//!
//! The origin writes them as of its answer. The copy's ETag does not cover them, so the edge may bring them up to date: the
//! places are found once when a copy is made, and a served second costs one assembly.

use memchr::memmem;
use rds_shared::wire::page::write_u64;
use std::ops::Range;

/// No text of a row can spell one of these: a quote inside a JSON string is escaped.
const FIELDS: [&[u8]; 2] = [b"\"freshness_seconds\":", b"\"age_seconds\":"];
/// Digits of the greatest `u64`.
const MOST_DIGITS: usize = 20;

/// Where a body's freshness figures stand, and what they say. Nulls are not figures and stay null.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures(Vec<(Range<usize>, u64)>);

impl Figures {
    /// Finds them in a JSON body.
    pub fn find(body: &[u8]) -> Self {
        let figure = |start: usize| {
            let digits = body.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let range = start..start.saturating_add(digits);
            let value = std::str::from_utf8(body.get(range.clone())?).ok()?.parse().ok()?;
            // Only whole numbers: anything else that starts with digits is not ours to change.
            matches!(body.get(range.end), Some(b',' | b'}')).then_some((range, value))
        };
        let values = |field: &'static [u8]| {
            memmem::find_iter(body, field).map(|at| at.saturating_add(field.len())).filter_map(figure)
        };
        let mut figures: Vec<_> = FIELDS.into_iter().flat_map(values).collect();
        figures.sort_unstable_by_key(|(range, _)| range.start);
        Figures(figures)
    }

    /// Whether there is nothing to bring up to date.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body as it reads `seconds` later.
    pub fn aged(&self, body: &[u8], seconds: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(body.len().saturating_add(self.0.len().saturating_mul(MOST_DIGITS)));
        let mut copied = 0;
        for (range, value) in &self.0 {
            out.extend_from_slice(body.get(copied..range.start).unwrap_or_default());
            write_u64(value.saturating_add(seconds), &mut out);
            copied = range.end;
        }
        out.extend_from_slice(body.get(copied..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn aged(body: &str, seconds: u64) -> String {
        String::from_utf8(Figures::find(body.as_bytes()).aged(body.as_bytes(), seconds)).unwrap()
    }

    #[test]
    fn every_row_grows_older_and_an_unknown_age_stays_unknown() {
        let body = r#"{"data":[{"id":"a","freshness_seconds":9},{"freshness_seconds":null,"x":1},{"freshness_seconds":95,"y":2}]}"#;
        assert_eq!(
            aged(body, 5),
            r#"{"data":[{"id":"a","freshness_seconds":14},{"freshness_seconds":null,"x":1},{"freshness_seconds":100,"y":2}]}"#
        );
        assert_eq!(aged(body, 0), body);
    }

    #[test]
    fn feeds_grow_older_too_wherever_the_two_fields_stand() {
        let body = r#"{"age_seconds":9,"a":{"freshness_seconds":1},"age_seconds":99}"#;
        assert_eq!(aged(body, 1), r#"{"age_seconds":10,"a":{"freshness_seconds":2},"age_seconds":100}"#);
    }

    #[test]
    fn a_name_that_spells_the_field_is_left_alone() {
        let body = r#"{"name":"\"freshness_seconds\":7,","freshness_seconds":1}"#;
        assert_eq!(aged(body, 1), r#"{"name":"\"freshness_seconds\":7,","freshness_seconds":2}"#);
    }

    #[test]
    fn what_is_no_whole_number_is_left_alone() {
        for body in [
            r#"{"freshness_seconds":1.5}"#,
            r#"{"freshness_seconds":-3}"#,
            r#"{"freshness_seconds":1e3}"#,
            r#"{"freshness_seconds":"#,
            r#"{"freshness_seconds":7"#,
            r#"{"freshness_seconds":99999999999999999999999}"#,
        ] {
            assert_eq!(aged(body, 60), body);
        }
    }

    proptest! {
        #[test]
        fn only_the_figures_change(values in prop::collection::vec(prop::option::of(0u64..10_000_000), 0..20), seconds in 0u64..100_000) {
            let render = |grown: u64| {
                let rows: Vec<String> = values.iter().map(|value| match value {
                    Some(value) => format!("{{\"freshness_seconds\":{},\"z\":0}}", value + grown),
                    None => "{\"freshness_seconds\":null}".to_owned(),
                }).collect();
                format!("[{}]", rows.join(","))
            };
            prop_assert_eq!(aged(&render(0), seconds), render(seconds));
        }

        #[test]
        fn no_body_breaks_the_search(body in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Figures::find(&body).aged(&body, 0).len() <= body.len());
        }
    }
}
