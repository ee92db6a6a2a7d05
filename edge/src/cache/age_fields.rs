//! Keeps ages in cached bodies up to date: `freshness_seconds` (since a row's last sync), `age_seconds` (since a feed's last
//! update), and the feed's `status`, which follows from its age.
//!
//! The origin writes the ages as of its answer. The ETag does not cover the ages, so the edge may update them: their positions
//! are found once when a response is cached, and the body is rendered at most once per second. A feed whose age exceeds its
//! heartbeat while cached becomes `stale`, as it would at the origin, so age and status never contradict each other.

use memchr::memmem;
use rds_shared::wire::page::write_u64;
use std::ops::Range;

/// `FRESHNESS`, `AGE` and `HEARTBEAT` match only field names, never text inside a JSON string, because quotes in strings are escaped.
const FRESHNESS: &[u8] = b"\"freshness_seconds\":";
const AGE: &[u8] = b"\"age_seconds\":";
const HEARTBEAT: &[u8] = b"\"heartbeat_seconds\":";
/// The text after the age of a fresh feed and of a stale one.
const FRESH: &[u8] = b",\"status\":\"fresh\"";
const STALE: &[u8] = b",\"status\":\"stale\"";
/// Digits of the largest `u64`.
const MAX_DIGITS: usize = 20;

/// Positions and values of the ages in a body. A null age has no entry and stays null.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgeFields(Vec<AgeField>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AgeField {
    digits: Range<usize>,
    value: u64,
    /// The feed's heartbeat in seconds, if this is the age of a fresh feed: at a greater age the feed is stale. `None` for the age of a feed
    /// with another status, and for the age of a row.
    fresh_until: Option<u64>,
}

impl AgeFields {
    /// Finds the ages in a JSON body.
    pub fn find(body: &[u8]) -> Self {
        let values = |field: &'static [u8]| {
            memmem::find_iter(body, field).filter_map(|at| whole_number(body, at.saturating_add(field.len())))
        };
        let plain = |(digits, value)| AgeField { digits, value, fresh_until: None };
        let mut fields: Vec<AgeField> = values(FRESHNESS).map(plain).collect();
        let mut row = 0;
        for (digits, value) in values(AGE) {
            let is_fresh = body.get(digits.end..).is_some_and(|rest| rest.starts_with(FRESH));
            let before = body.get(row..digits.start).filter(|_| is_fresh);
            let heartbeat = before.and_then(|before| {
                let at = memmem::rfind(before, HEARTBEAT)?;
                whole_number(before, at.saturating_add(HEARTBEAT.len()))
            });
            row = digits.end;
            fields.push(AgeField { digits, value, fresh_until: heartbeat.map(|(_, seconds)| seconds) });
        }
        fields.sort_unstable_by_key(|field| field.digits.start);
        AgeFields(fields)
    }

    /// Whether the body has no ages.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body with all ages `seconds` higher, in which feeds that have passed their heartbeat are `stale`.
    pub fn aged(&self, body: &[u8], seconds: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(body.len().saturating_add(self.0.len().saturating_mul(MAX_DIGITS)));
        let mut copied = 0;
        for AgeField { digits, value, fresh_until } in &self.0 {
            let age = value.saturating_add(seconds);
            out.extend_from_slice(body.get(copied..digits.start).unwrap_or_default());
            write_u64(age, &mut out);
            copied = digits.end;
            if fresh_until.is_some_and(|until| age > until) {
                out.extend_from_slice(STALE);
                copied = copied.saturating_add(FRESH.len());
            }
        }
        out.extend_from_slice(body.get(copied..).unwrap_or_default());
        out
    }
}

/// The whole number that begins at `start`, and its position; `None` for other values that begin with digits.
fn whole_number(body: &[u8], start: usize) -> Option<(Range<usize>, u64)> {
    let digits = body.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let range = start..start.saturating_add(digits);
    let value = std::str::from_utf8(body.get(range.clone())?).ok()?.parse().ok()?;
    matches!(body.get(range.end), Some(b',' | b'}')).then_some((range, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn aged(body: &str, seconds: u64) -> String {
        String::from_utf8(AgeFields::find(body.as_bytes()).aged(body.as_bytes(), seconds)).unwrap()
    }

    #[test]
    fn the_age_of_every_row_grows_and_a_null_age_stays_null() {
        let body = r#"{"data":[{"id":"a","freshness_seconds":9},{"freshness_seconds":null,"x":1},{"freshness_seconds":95,"y":2}]}"#;
        assert_eq!(
            aged(body, 5),
            r#"{"data":[{"id":"a","freshness_seconds":14},{"freshness_seconds":null,"x":1},{"freshness_seconds":100,"y":2}]}"#
        );
        assert_eq!(aged(body, 0), body);
    }

    #[test]
    fn both_age_fields_grow_in_any_order() {
        let body = r#"{"age_seconds":9,"a":{"freshness_seconds":1},"age_seconds":99}"#;
        assert_eq!(aged(body, 1), r#"{"age_seconds":10,"a":{"freshness_seconds":2},"age_seconds":100}"#);
    }

    #[test]
    fn a_cached_feed_turns_stale_when_it_passes_its_heartbeat() {
        let feeds = [(Some(60), 55, "fresh"), (Some(300), 55, "fresh"), (Some(9), 55, "stale"), (None, 55, "unknown")];
        let read = |seconds: u64, statuses: [&str; 4]| {
            let row = |((heartbeat, age, _), status): (&(Option<u64>, u64, &str), &str)| {
                let heartbeat = heartbeat.map_or("null".to_owned(), |seconds: u64| seconds.to_string());
                format!(
                    r#"{{"heartbeat_seconds":{heartbeat},"asset":"x","age_seconds":{},"status":"{status}"}}"#,
                    age + seconds
                )
            };
            let rows: Vec<String> = feeds.iter().zip(statuses).map(row).collect();
            format!("[{}]", rows.join(","))
        };
        let body = read(0, feeds.map(|(.., status)| status));
        assert_eq!(aged(&body, 5), read(5, ["fresh", "fresh", "stale", "unknown"]));
        assert_eq!(aged(&body, 6), read(6, ["stale", "fresh", "stale", "unknown"]));
        assert_eq!(aged(&body, 86_400), read(86_400, ["stale", "stale", "stale", "unknown"]));
    }

    #[test]
    fn a_string_that_contains_the_field_name_is_left_alone() {
        let body = r#"{"name":"\"freshness_seconds\":7,","freshness_seconds":1}"#;
        assert_eq!(aged(body, 1), r#"{"name":"\"freshness_seconds\":7,","freshness_seconds":2}"#);
    }

    #[test]
    fn values_that_are_not_whole_numbers_are_left_alone() {
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
        fn only_the_ages_change(values in prop::collection::vec(prop::option::of(0u64..10_000_000), 0..20), seconds in 0u64..100_000) {
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
        fn any_body_can_be_searched(body in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(AgeFields::find(&body).aged(&body, 0).len() <= body.len());
        }
    }
}
