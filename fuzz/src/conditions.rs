//! Property of the comparison of `If-None-Match` with an ETag.

use rds_shared::wire::etag::if_none_match;

/// A header without the tag's text never matches, except `*`. The tag matches alone and in a list.
pub fn holds(data: &[u8]) {
    const TAG: &str = "W/\"abcdefghijklmnopqrstuv\"";
    let Ok(header) = std::str::from_utf8(data) else { return };
    let matched = if_none_match(header, TAG);
    assert!(!matched || header.trim() == "*" || header.contains("\"abcdefghijklmnopqrstuv\""), "{header:?}");
    // Weak comparison gives the same result.
    assert_eq!(matched, if_none_match(header, TAG.trim_start_matches("W/")));
    assert!(if_none_match(&format!("{TAG}, {header}"), TAG), "the first of a list: {header:?}");
}
