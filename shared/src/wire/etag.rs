//! Entity tags and `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1.2).

use super::base64url;
use alloc::string::String;
use sha2::{Digest, Sha256};

/// Hashes everything that a representation depends on into its ETag.
#[derive(Clone, Default)]
pub struct EtagBuilder(Sha256);

impl EtagBuilder {
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder with these bytes as its first part.
    pub fn of(bytes: &[u8]) -> Self {
        let mut builder = Self::new();
        builder.add(bytes);
        builder
    }

    /// Adds bytes, preceded by their length so that adjacent parts cannot be confused.
    pub fn add(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a number, such as a row's version.
    pub fn add_u64(&mut self, value: u64) -> &mut Self {
        self.0.update(value.to_le_bytes());
        self
    }

    /// A weak tag, `W/"…"` with 22 characters, for answers with a field that changes with the clock.
    pub fn weak(self) -> String {
        self.quoted("W/\"")
    }

    /// A strong tag, `"…"` with 22 characters (132 bits), only for answers whose bytes follow entirely from the hashed parts.
    pub fn strong(self) -> String {
        self.quoted("\"")
    }

    fn quoted(self, opening: &str) -> String {
        let mut tag = String::with_capacity(26);
        tag.push_str(opening);
        tag.push_str(base64url::encode(&self.0.finalize()).get(..22).unwrap_or_default());
        tag.push('"');
        tag
    }
}

/// Whether an `If-None-Match` value, possibly a list or `*`, contains `etag` by weak comparison.
///
/// In a malformed header, tags after the error do not match, so that the caller gets the full answer.
pub fn if_none_match(header: &str, etag: &str) -> bool {
    let wanted = opaque(etag);
    let mut rest = header.trim();
    if rest == "*" {
        return true;
    }
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let tagged = rest.strip_prefix("W/").unwrap_or(rest);
        let Some(body) = tagged.strip_prefix('"') else { return false };
        let Some((candidate, after)) = body.split_once('"') else { return false };
        if candidate == wanted {
            return true;
        }
        rest = after.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with(',') {
            return false;
        }
        if rest.is_empty() {
            return false;
        }
    }
}

fn opaque(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comparison_is_weak_on_both_sides() {
        for header in ["\"a\"", "W/\"a\"", "\"x\", W/\"a\"", "\"x\",\"a\" , \"y\"", "*", " \"a\" ", "\"x,\", \"a\""] {
            assert!(if_none_match(header, "W/\"a\""), "{header}");
            assert!(if_none_match(header, "\"a\""), "{header}");
        }
    }

    #[test]
    fn another_tag_or_a_broken_list_does_not_match() {
        for header in ["", "\"b\"", "a", "\"a", "\"b\" \"a\"", "W/a", "\"ab\"", "w/\"a\""] {
            assert!(!if_none_match(header, "\"a\""), "{header}");
        }
    }

    #[test]
    fn the_tag_depends_on_where_one_part_ends_and_the_next_begins() {
        let tag = |parts: &[&[u8]]| {
            let mut builder = EtagBuilder::new();
            for part in parts {
                builder.add(part);
            }
            builder.weak()
        };
        assert_ne!(tag(&[b"ab", b"c"]), tag(&[b"a", b"bc"]));
        assert_eq!(tag(&[b"ab"]).len(), 26);
    }

    proptest! {
        #[test]
        fn no_header_breaks_the_comparison(header in "\\PC{0,60}") {
            if_none_match(&header, "\"a\"");
        }
    }
}
