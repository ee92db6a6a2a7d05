//! `If-None-Match`.

use rds_shared::wire::etag::if_none_match;

/// A header that does not hold the tag's text never matches; one that is the tag, alone or in a list, does.
pub fn holds(data: &[u8]) {
    const TAG: &str = "W/\"abcdefghijklmnopqrstuv\"";
    let Ok(header) = std::str::from_utf8(data) else { return };
    let matched = if_none_match(header, TAG);
    assert!(!matched || header.trim() == "*" || header.contains("\"abcdefghijklmnopqrstuv\""), "{header:?}");
    // The same, weakly compared.
    assert_eq!(matched, if_none_match(header, TAG.trim_start_matches("W/")));
    assert!(if_none_match(&format!("{TAG}, {header}"), TAG), "the first of a list: {header:?}");
}
