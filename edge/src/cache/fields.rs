//! Header fields of arbitrary messages, with any names and repeated lines, and the rules for storing them.

use super::entry::Headers;

/// Hop-by-hop fields, which are not stored (RFC 9110, section 7.6.1; RFC 9111, section 3.1).
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields that describe the stored bytes. A response without a body must not change them (RFC 9111, section 3.2): with the coding, length,
/// range or digest of another response the body would be unreadable.
const OF_THE_BODY: [&str; 6] =
    ["content-digest", "content-encoding", "content-length", "content-md5", "content-range", "repr-digest"];

/// Fields by lower-case name, one entry per line, in order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn of(lines: impl IntoIterator<Item = (String, String)>) -> Self {
        Fields(lines.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
    }

    /// A field's value, its lines joined by commas.
    pub fn get(&self, name: &str) -> Option<String> {
        let mut lines = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.trim());
        let first = lines.next()?.to_owned();
        Some(lines.fold(first, |joined, line| joined + ", " + line))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Removes a field.
    pub fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// Sets a field, replacing its earlier lines.
    pub fn with(self, name: &str, value: String) -> Self {
        let mut fields = self.without(name);
        fields.0.push((name.to_owned(), value));
        fields
    }

    /// The end-to-end fields: without the hop-by-hop fields and those named by `Connection`.
    pub fn end_to_end(mut self) -> Self {
        let named = self.get("connection").unwrap_or_default().to_ascii_lowercase();
        let named: Vec<&str> = named.split(',').map(str::trim).collect();
        self.0.retain(|(name, _)| !HOP_BY_HOP.contains(&name.as_str()) && !named.contains(&name.as_str()));
        self
    }
}

impl Headers for Fields {
    fn updated(&self, fresher: Self) -> Self {
        let fresher = fresher.end_to_end();
        let keeps = |name: &str| OF_THE_BODY.contains(&name) || fresher.0.iter().all(|(given, _)| given != name);
        let mut all: Vec<_> = self.0.iter().filter(|(name, _)| keeps(name)).cloned().collect();
        all.extend(fresher.0.iter().filter(|(name, _)| !OF_THE_BODY.contains(&name.as_str())).cloned());
        Fields(all)
    }

    fn weight(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len().saturating_add(value.len()).saturating_add(64)).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn fields(lines: &[(&str, &str)]) -> Fields {
        Fields::of(lines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn lines_of_one_field_are_joined() {
        let given = fields(&[("Vary", " a"), ("x", "1"), ("vary", "b ")]);
        assert_eq!(given.get("vary").as_deref(), Some("a, b"));
        assert_eq!(given.get("y"), None);
    }

    #[test]
    fn hop_by_hop_fields_are_removed() {
        let given =
            fields(&[("Connection", "A, b"), ("a", "1"), ("B", "2"), ("c", "3"), ("TE", "x"), ("Keep-Alive", "1")]);
        assert_eq!(given.end_to_end(), fields(&[("c", "3")]));
    }

    #[test]
    fn a_304_replaces_the_fields_it_repeats_except_those_of_the_body() {
        let kept = fields(&[("etag", "\"a\""), ("a", "1"), ("a", "2"), ("content-length", "5"), ("b", "1")]);
        let fresher =
            fields(&[("a", "3"), ("content-length", "0"), ("connection", "d"), ("d", "1"), ("set-cookie", "x")]);
        let renewed = kept.updated(fresher);
        let expected = [("etag", "\"a\""), ("content-length", "5"), ("b", "1"), ("a", "3"), ("set-cookie", "x")];
        assert_eq!(renewed, fields(&expected));
    }

    proptest! {
        #[test]
        fn updated_fields_come_from_the_new_or_the_old_response(old in lines(), new in lines()) {
            let (old, new) = (Fields::of(old), Fields::of(new));
            let renewed = old.updated(new.clone());
            for (name, _) in renewed.iter() {
                let said = if new.get(name).is_some() { new.get(name) } else { old.get(name) };
                prop_assert_eq!(renewed.get(name), said);
            }
            for (name, _) in old.iter().chain(new.iter()) {
                prop_assert!(renewed.get(name).is_some());
            }
        }
    }

    fn lines() -> impl Strategy<Value = Vec<(String, String)>> {
        prop::collection::vec(("[a-e]", "[0-9]"), 0..8)
    }
}
