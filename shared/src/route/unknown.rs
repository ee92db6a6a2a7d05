//! Reports parameters that a route does not have, and names in filters that the registries do not contain.
//!
//! Response headers report both to the caller. A header repeats text of the caller, so that text is percent-encoded and its length is
//! limited.

use super::param::{Param, Registry, Value};
use super::query::Query;
use crate::wire::error::{ApiError, Detail, ErrorCode, In};
use crate::wire::percent;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum number of names in a header; `...` replaces further names.
const MAX_NAMES: usize = 10;
/// Maximum length, in bytes, of one name in a header or an error; `*` replaces the excess.
const MAX_SHOWN_BYTES: usize = 60;
/// Maximum length of a name for which a similar parameter is suggested, in bytes.
const MAX_MISTYPED_BYTES: usize = 40;

/// The prefixes of API keys and index tokens.
const CREDENTIAL_PREFIXES: [&str; 2] = ["pk_live_", "ix_live_"];

/// The parameter `strict`, which every route has.
pub const STRICT: Param = Param::flag(
    "strict",
    "`true` refuses with 400 what would otherwise be ignored: parameters that the route does not have, and unknown \
     chains, protocols and curators in filters.",
);

/// The parameters of a query that the route does not have.
#[derive(Debug, Clone, Default)]
pub struct Ignored {
    /// The names as given, percent-decoded if possible.
    names: Vec<String>,
    more: bool,
}

impl Ignored {
    /// Adds a name, unless it was added before.
    pub(super) fn add(&mut self, name: &str) {
        if self.names.iter().any(|known| known == name) {
            return;
        }
        match self.names.len() {
            ..MAX_NAMES => self.names.push(name.to_owned()),
            _ => self.more = true,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The value of `X-Service-Ignored-Parameters`; `None` if nothing was ignored.
    pub fn header(&self) -> Option<String> {
        (!self.is_empty()).then(|| list(self.names.iter().map(|name| shown(name)), self.more))
    }

    /// The faults that `strict=true` reports, each with the parameter that was probably meant.
    pub(super) fn faults(&self, params: &'static [Param]) -> Vec<Detail> {
        let fault = |name: &String| {
            let hint = nearest(params, name).map(|known| format!("; did you mean {known}?")).unwrap_or_default();
            Detail::new(In::Query, shown(name), format!("is not a parameter of this route{hint}"))
        };
        self.names.iter().map(fault).collect()
    }
}

/// The value of `X-Service-Unknown-Values`: the names in filters that are in no registry, as `parameter=value`. `knows` looks a name up in
/// a registry.
pub fn unknown_values(query: &Query, knows: impl Fn(Registry, &str) -> bool) -> Option<String> {
    let mut found = Vec::new();
    let mut more = false;
    for (param, value) in query.given() {
        let (Some(registry), Value::Names(names)) = (param.registry, value) else { continue };
        for name in names.iter().filter(|name| !registry.has_word(name) && !knows(registry, name)) {
            match found.len() {
                ..MAX_NAMES => found.push(format!("{}={}", param.name, shown(name))),
                _ => more = true,
            }
        }
    }
    (!found.is_empty()).then(|| list(found.into_iter(), more))
}

/// The error that `strict=true` returns for the unknown values of `header`, a value of `X-Service-Unknown-Values`.
pub fn refuse_unknown_values(header: &str) -> ApiError {
    let named = header.split(", ").filter_map(|pair| pair.split_once('='));
    let fault =
        |(name, value): (&str, &str)| Detail::new(In::Query, name.to_owned(), format!("has the unknown value {value}"));
    ApiError::invalid(ErrorCode::InvalidParameter, named.map(fault).collect())
}

fn list(entries: impl Iterator<Item = String>, more: bool) -> String {
    let mut out = String::new();
    for entry in entries {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&entry);
    }
    if more {
        out.push_str(", ...");
    }
    out
}

/// The form in which headers and errors repeat a caller's text. A text that contains a key is reduced to the key's prefix, because logs of
/// responses must not contain keys.
fn shown(text: &str) -> String {
    if let Some(prefix) = CREDENTIAL_PREFIXES.iter().find(|prefix| text.contains(**prefix)) {
        return format!("{prefix}*");
    }
    if text.is_empty() {
        return "\"\"".to_owned();
    }
    let mut out = String::new();
    let mut letter = [0; 4];
    for character in text.chars() {
        let before = out.len();
        percent::encode_into(character.encode_utf8(&mut letter), b"[]:", &mut out);
        if out.len() > MAX_SHOWN_BYTES {
            out.truncate(before);
            out.push('*');
            return out;
        }
    }
    out
}

/// The name of the parameter that is most similar to `name`, if the edit distance is at most a third of the length of `name`. Letter
/// case, `_` and `-` are ignored.
fn nearest(params: &'static [Param], name: &str) -> Option<&'static str> {
    if name.len() > MAX_MISTYPED_BYTES {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = plain(name);
    let names = |param: &'static Param| param.aliases.iter().chain([&param.name]).map(|known| (*known, param.name));
    let common = [("strict", "strict")];
    let all = params.iter().flat_map(names).chain(common);
    let distances = all.map(|(known, name)| (distance(&wanted, &plain(known)), name));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    nearest.filter(|(distance, _)| *distance <= wanted.len() / 3).map(|(_, name)| name)
}

/// Levenshtein distance, in characters.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut cells = row.iter_mut();
        let mut left = line.saturating_add(1);
        let mut diagonal = cells.next().map_or(line, |first| core::mem::replace(first, left));
        for (cell, against) in cells.zip(other.chars()) {
            let replaced = diagonal.saturating_add(usize::from(letter != against));
            left = replaced.min(cell.saturating_add(1)).min(left.saturating_add(1));
            diagonal = core::mem::replace(cell, left);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RouteId;
    use proptest::prelude::*;

    const VAULTS: RouteId = RouteId::VaultList;

    fn parse(text: &str) -> Result<Query, ApiError> {
        Query::parse(VAULTS.route().query, text)
    }

    #[test]
    fn parameters_that_a_route_does_not_have_are_reported_and_ignored() {
        let query = parse("risktier=prime&foo=1&limit=5&foo=2&%ff=x&=y").unwrap();
        assert_eq!(query.ignored().as_deref(), Some("risktier, foo, %25ff, \"\""));
        assert_eq!(query.canonical(), "limit=5");
        assert_eq!(parse("limit=5&strict=true").unwrap().ignored(), None);
    }

    #[test]
    fn strict_refuses_unknown_parameters_and_suggests_the_intended_one() {
        let refused = parse("risktier=prime&strict=true&zzz=1").unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParameter);
        assert_eq!(
            refused.message,
            "risktier is not a parameter of this route; did you mean riskTier?; zzz is not a parameter of this route"
        );
        assert_eq!(parse("strict=TRUE&limit=5").unwrap().canonical(), "limit=5");
        assert!(parse("strict=false&zzz=1").is_ok());
        for bad in ["strict=maybe", "strict=", "strict=true&strict=true"] {
            assert_eq!(parse(bad).unwrap_err().details[0].name, "strict", "{bad}");
        }
    }

    #[test]
    fn an_api_key_in_a_parameter_name_or_value_is_redacted() {
        let text = "pk_live_0123456789abcdef0123456789abcdef=1&limit=1";
        assert_eq!(parse(text).unwrap().ignored().as_deref(), Some("pk_live_*"));
        let query = parse("chain=ix_live_0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(unknown_values(&query, |_, _| false).as_deref(), Some("chain=ix_live_*"));
    }

    #[test]
    fn a_mistyped_name_leads_to_the_intended_parameter() {
        for (typed, meant) in [
            ("risk_tier", Some("riskTier")),
            ("sort_by", Some("sortBy")),
            ("protocols", Some("protocol")),
            ("min-score", Some("minRiskScore")),
            ("strickt", Some("strict")),
            ("fields", None),
            ("q", None),
        ] {
            assert_eq!(nearest(VAULTS.route().query, typed), meant, "{typed}");
        }
    }

    #[test]
    fn unknown_names_in_filters_are_reported_with_their_parameter() {
        let query = parse("chain=base,mars&protocol=aave&curator=nobody%20else&strict=true").unwrap();
        let knows = |registry, name: &str| {
            matches!((registry, name), (Registry::Chains, "base") | (Registry::Protocols, "aave"))
        };
        let header = unknown_values(&query, knows).unwrap();
        assert_eq!(header, "chain=mars, curator=nobody%20else");
        let refused = refuse_unknown_values(&header);
        assert_eq!(refused.message, "chain has the unknown value mars; curator has the unknown value nobody%20else");
        assert_eq!(unknown_values(&query, |_, _| true), None);
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (one, other, expected) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("abc", "abc", 0), ("flaw", "lawn", 2)]
        {
            assert_eq!(distance(one, other), expected);
        }
    }

    proptest! {
        #[test]
        fn repeated_text_is_short_and_valid_in_a_header(text in "(\\PC{0,80}=?&){0,40}", raw in "[ -~]{0,300}") {
            for text in [text, raw] {
                if let Ok(query) = parse(&text) && let Some(header) = query.ignored() {
                    prop_assert!(header.len() <= (MAX_NAMES + 1) * (MAX_SHOWN_BYTES + 3), "{header}");
                    prop_assert!(header.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{header}");
                }
            }
        }
    }
}
