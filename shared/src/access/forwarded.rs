//! Request headers that the edge forwards to the origin: their table, their filter, and the text that the edge assertion covers.
//!
//! Apart from the assertion and the principal, the origin uses no other request headers. The edge never sends a value that the filter
//! rejects: the origin's HTTP layer could refuse the request before the origin's code answers and signs the answer.

use crate::route::bounds::IDEMPOTENCY_KEY_BYTES;
use crate::wire::error::{ApiError, Detail, In};
use crate::wire::headers;
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

/// A forwarded header.
#[derive(Debug, Clone, Copy)]
pub struct Forwarded {
    /// The name in lower case.
    pub name: &'static str,
    /// Greatest length of a value, in bytes; the least is one.
    pub max_bytes: usize,
    /// Treatment of a value that the filter rejects.
    pub otherwise: Otherwise,
}

/// Treatment of a value that the filter rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// The request is refused with a 400 that names the header.
    Refused,
    /// This value, equivalent for the origin, is sent instead.
    Sent(&'static str),
    /// The header is omitted. Only for headers that the edge creates itself.
    LeftOut,
}

/// A `Last-Event-ID` that is not a cursor in any format: the stream answers it with a `cursor_invalid` gap.
const INVALID_CURSOR: &str = "invalid";

/// Every forwarded header, in the order of the signed text. New rows go to the end. An origin that lacks a row refuses a
/// request with its header, so a row needs a new assertion format unless the header is only sent where every origin knows it.
pub const FORWARDED: [Forwarded; 9] = [
    Forwarded { name: "accept", max_bytes: 64, otherwise: Otherwise::LeftOut },
    Forwarded { name: headers::CONTENT_TYPE, max_bytes: 64, otherwise: Otherwise::LeftOut },
    Forwarded { name: headers::IDEMPOTENCY_KEY, max_bytes: IDEMPOTENCY_KEY_BYTES, otherwise: Otherwise::Refused },
    Forwarded { name: "if-none-match", max_bytes: 256, otherwise: Otherwise::LeftOut },
    Forwarded { name: headers::LAST_EVENT_ID, max_bytes: 128, otherwise: Otherwise::Sent(INVALID_CURSOR) },
    Forwarded { name: headers::REQUEST_ID, max_bytes: 64, otherwise: Otherwise::LeftOut },
    Forwarded { name: headers::CLIENT_IP, max_bytes: 64, otherwise: Otherwise::Refused },
    Forwarded { name: headers::TAGS, max_bytes: 512, otherwise: Otherwise::LeftOut },
    // Sent only for a request whose trace is recorded. An origin of a release before this row refuses such a request.
    Forwarded { name: headers::TRACEPARENT, max_bytes: 55, otherwise: Otherwise::LeftOut },
];

/// Filters a header: returns the value to send, `None` if the header is omitted, or a 400 that names the header.
///
/// A value passes if it has 1 to `max_bytes` visible ASCII characters or spaces. A header that is not in the table is omitted.
pub fn filter<'a>(name: &str, value: &'a str) -> Result<Option<Cow<'a, str>>, ApiError> {
    let Some(row) = FORWARDED.iter().find(|row| row.name == name) else { return Ok(None) };
    let value = value.trim_matches([' ', '\t']);
    if (1..=row.max_bytes).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Ok(Some(Cow::Borrowed(value)));
    }
    match row.otherwise {
        Otherwise::Refused => {
            let reason = format!("must have 1 to {} visible ASCII characters", row.max_bytes);
            Err(ApiError::parameter(Detail::new(In::Header, row.name, reason)))
        }
        Otherwise::Sent(text) => Ok(Some(Cow::Borrowed(text))),
        Otherwise::LeftOut => Ok(None),
    }
}

/// The forwarded headers of one request, as `(name, value)` in any order.
pub type ForwardedHeaders<'a> = [(&'a str, &'a str)];

/// Picks the forwarded headers out of a request's headers, given with lower-case names. Returns `None` if one of them occurs twice or
/// is not text: the edge never sends such a request.
pub fn read<'a, 'n>(all: impl IntoIterator<Item = (&'n str, Option<&'a str>)>) -> Option<Vec<(&'static str, &'a str)>> {
    let mut forwarded: Vec<(&'static str, &'a str)> = Vec::with_capacity(FORWARDED.len());
    for (name, value) in all {
        let Some(row) = FORWARDED.iter().find(|row| row.name == name) else { continue };
        if forwarded.iter().any(|(known, _)| *known == row.name) {
            return None;
        }
        forwarded.push((row.name, value?));
    }
    Some(forwarded)
}

/// Appends `name:value` lines in the table's order; headers that are not in the table are skipped.
pub(super) fn write_lines(given: &ForwardedHeaders<'_>, out: &mut Vec<u8>) {
    for row in &FORWARDED {
        if let Some((_, value)) = given.iter().find(|(name, _)| *name == row.name) {
            out.extend_from_slice(row.name.as_bytes());
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
            out.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::cursor::Resume;
    use proptest::prelude::*;
    use std::string::String;

    fn sent(name: &str, value: &str) -> Option<String> {
        filter(name, value).unwrap().map(Cow::into_owned)
    }

    #[test]
    fn a_request_with_an_invalid_header_value_is_refused_and_the_header_named() {
        let long = "x".repeat(IDEMPOTENCY_KEY_BYTES + 1);
        for name in [headers::IDEMPOTENCY_KEY, headers::CLIENT_IP] {
            for bad in ["", " ", "a\u{1}", "\u{7f}", "ü", "a\tb", "a\nb", long.as_str()] {
                let error = filter(name, bad).unwrap_err();
                assert_eq!((error.status(), error.details[0].location), (400, In::Header), "{bad:?}");
                assert_eq!(error.details[0].name, name, "{bad:?}");
            }
        }
        let longest = "x".repeat(IDEMPOTENCY_KEY_BYTES);
        assert_eq!(sent(headers::IDEMPOTENCY_KEY, &longest), Some(longest.clone()));
        assert_eq!(sent(headers::IDEMPOTENCY_KEY, "\"a b\" "), Some("\"a b\"".into()));
    }

    #[test]
    fn a_cursor_that_cannot_be_sent_stays_an_invalid_cursor() {
        for bad in ["v2:7\u{1}", "\u{7f}", "ü", &"9".repeat(129)] {
            let sent = sent(headers::LAST_EVENT_ID, bad).unwrap();
            assert_eq!(Resume::read(Some(sent.as_bytes()), None), Resume::Invalid, "{bad:?}");
        }
        assert_eq!(sent(headers::LAST_EVENT_ID, "v2:7"), Some("v2:7".into()));
    }

    #[test]
    fn a_request_with_a_repeated_or_non_text_header_is_not_accepted_from_the_edge() {
        assert_eq!(read([]), Some(Vec::new()));
        assert_eq!(
            read([("host", Some("b")), ("accept", Some("a")), ("host", None)]),
            Some(std::vec![("accept", "a")])
        );
        assert_eq!(read([("accept", Some("a")), ("accept", Some("a"))]), None);
        assert_eq!(read([("accept", None)]), None);
    }

    proptest! {
        #[test]
        fn a_value_that_passes_the_filter_is_one_short_line_of_visible_ascii(row in 0..FORWARDED.len(), value in ".{0,300}") {
            if let Ok(Some(sent)) = filter(FORWARDED[row].name, &value) {
                prop_assert!((1..=FORWARDED[row].max_bytes).contains(&sent.len()));
                prop_assert!(sent.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            }
        }
    }
}
