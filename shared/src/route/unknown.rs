//! What of a query means nothing: parameters that the route does not have, and names in filters that no registry has.
//!
//! Callers are told of both in headers. What is echoed there is the caller's own text, so it is percent-encoded and bounded.

use super::param::{Param, Registry, Value};
use super::query::Query;
use crate::wire::error::{ApiError, Detail, ErrorCode, In};
use crate::wire::percent;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// How many are named; `...` stands for more.
const NAMED: usize = 10;
/// The most bytes of one spelling; `*` stands for the rest.
const SHOWN: usize = 60;
/// Longer names are mistyped by nobody.
const MISTYPED: usize = 40;

/// What our keys and index tokens begin with.
const CREDENTIALS: [&str; 2] = ["pk_live_", "ix_live_"];

/// `strict`, which every route has.
pub const STRICT: Param = Param::flag(
    "strict",
    "true refuses what is otherwise ignored: parameters that the route does not have, and chains, protocols and curators in filters \
     that nobody knows.",
);

/// Parameters of a query that the route does not have.
#[derive(Debug, Clone, Default)]
pub struct Ignored {
    /// As they were given, decoded where that is possible.
    names: Vec<String>,
    more: bool,
}

impl Ignored {
    /// Takes down a name; one that was taken down before counts once.
    pub(super) fn add(&mut self, name: &str) {
        if self.names.iter().any(|known| known == name) {
            return;
        }
        match self.names.len() {
            ..NAMED => self.names.push(name.to_owned()),
            _ => self.more = true,
        }
    }

    /// Whether every parameter was the route's.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The value of `X-Service-Ignored-Parameters`; none where nothing was ignored.
    pub fn header(&self) -> Option<String> {
        (!self.is_empty()).then(|| list(self.names.iter().map(|name| shown(name)), self.more))
    }

    /// What `strict=true` says of them, each with the parameter that was probably meant.
    pub(super) fn faults(&self, params: &'static [Param]) -> Vec<Detail> {
        let fault = |name: &String| {
            let hint = nearest(params, name).map(|known| format!("; did you mean {known}?")).unwrap_or_default();
            Detail::new(In::Query, shown(name), format!("is not a parameter of this route{hint}"))
        };
        self.names.iter().map(fault).collect()
    }
}

/// The value of `X-Service-Unknown-Values`: the names in filters that `knows` does not know, as `parameter=value`.
pub fn unknown_values(query: &Query, knows: impl Fn(Registry, &str) -> bool) -> Option<String> {
    let mut found = Vec::new();
    let mut more = false;
    for (param, value) in query.given() {
        let (Some(registry), Value::Names(names)) = (param.registry, value) else { continue };
        for name in names.iter().filter(|name| !registry.has_word(name) && !knows(registry, name)) {
            match found.len() {
                ..NAMED => found.push(format!("{}={}", param.name, shown(name))),
                _ => more = true,
            }
        }
    }
    (!found.is_empty()).then(|| list(found.into_iter(), more))
}

/// What `strict=true` answers where a header names unknown values.
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

/// A caller's text as a header and an error may repeat it. Of a key in the wrong place only the kind is shown: answers are logged on
/// their way more freely than keys may be.
fn shown(text: &str) -> String {
    if let Some(kind) = CREDENTIALS.iter().find(|kind| text.contains(**kind)) {
        return format!("{kind}*");
    }
    if text.is_empty() {
        return "\"\"".to_owned();
    }
    let mut out = String::new();
    let mut letter = [0; 4];
    for character in text.chars() {
        let before = out.len();
        percent::encode_into(character.encode_utf8(&mut letter), b"[]:", &mut out);
        if out.len() > SHOWN {
            out.truncate(before);
            out.push('*');
            return out;
        }
    }
    out
}

/// The parameter whose name is most like `name`, if one is alike enough to have been meant.
fn nearest(params: &'static [Param], name: &str) -> Option<&'static str> {
    if name.len() > MISTYPED {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = plain(name);
    let names = |param: &'static Param| param.aliases.iter().chain([&param.name]).map(|known| (*known, param.name));
    let own = [("strict", "strict")];
    let all = params.iter().flat_map(names).chain(own);
    let apart = all.map(|(known, name)| (distance(&wanted, &plain(known)), name));
    apart.min_by_key(|(apart, _)| *apart).filter(|(apart, _)| *apart <= wanted.len() / 3).map(|(_, name)| name)
}

/// Levenshtein's distance, in characters.
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
    fn what_a_route_does_not_have_is_named_and_changes_nothing() {
        let query = parse("risktier=prime&foo=1&limit=5&foo=2&%ff=x&=y").unwrap();
        assert_eq!(query.ignored().as_deref(), Some("risktier, foo, %25ff, \"\""));
        assert_eq!(query.canonical(), "limit=5");
        assert_eq!(parse("limit=5&strict=true").unwrap().ignored(), None);
    }

    #[test]
    fn strict_refuses_what_is_ignored_otherwise_and_says_what_was_meant() {
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
    fn a_key_in_the_place_of_a_name_is_not_repeated() {
        let text = "pk_live_0123456789abcdef0123456789abcdef=1&limit=1";
        assert_eq!(parse(text).unwrap().ignored().as_deref(), Some("pk_live_*"));
        let query = parse("chain=ix_live_0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(unknown_values(&query, |_, _| false).as_deref(), Some("chain=ix_live_*"));
    }

    #[test]
    fn a_mistyped_name_leads_to_the_one_that_was_meant() {
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
    fn names_in_filters_that_no_registry_has_are_told_with_their_parameter() {
        let query = parse("chain=base,mars&protocol=aave&curator=nobody%20else&strict=true").unwrap();
        let knows = |registry, name: &str| {
            matches!((registry, name), (Registry::Chains, "base") | (Registry::Protocols, "aave"))
        };
        let told = unknown_values(&query, knows).unwrap();
        assert_eq!(told, "chain=mars, curator=nobody%20else");
        let refused = refuse_unknown_values(&told);
        assert_eq!(refused.message, "chain has the unknown value mars; curator has the unknown value nobody%20else");
        assert_eq!(unknown_values(&query, |_, _| true), None);
    }

    #[test]
    fn distances_are_those_of_the_book() {
        for (one, other, apart) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("abc", "abc", 0), ("flaw", "lawn", 2)]
        {
            assert_eq!(distance(one, other), apart);
        }
    }

    proptest! {
        #[test]
        fn what_is_echoed_is_short_and_fit_for_a_header(text in "(\\PC{0,80}=?&){0,40}", raw in "[ -~]{0,300}") {
            for text in [text, raw] {
                if let Ok(query) = parse(&text) && let Some(told) = query.ignored() {
                    prop_assert!(told.len() <= (NAMED + 1) * (SHOWN + 3), "{told}");
                    prop_assert!(told.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{told}");
                }
            }
        }
    }
}
