//! Finds the route for a method and a path. The edge and the origin both use this matcher, so that they always find the same route.

use super::entry::Route;
use super::row::Method;
use super::table::ROUTES;
use crate::wire::percent;
use alloc::string::String;
use alloc::vec::Vec;

/// A matched route with its path parameters, decoded once, in template order.
#[derive(Debug, Clone)]
pub struct Found {
    pub route: &'static Route,
    /// The values of the template's `{…}`, in order.
    pub path: Vec<String>,
}

impl Found {
    /// The value of the `index`-th path parameter; empty when the template has fewer.
    pub fn param(&self, index: usize) -> &str {
        self.path.get(index).map_or("", String::as_str)
    }

    /// The path in canonical form: the template with each decoded parameter percent-encoded again.
    pub fn canonical_path(&self) -> String {
        let mut values = self.path.iter();
        let mut out = String::new();
        for segment in self.route.path.split('/').skip(1) {
            out.push('/');
            match parameter_name(segment) {
                Some(_) => percent::encode_into(values.next().map_or("", String::as_str), b":", &mut out),
                None => out.push_str(segment),
            }
        }
        out
    }
}

/// The result of matching a method and a path.
#[derive(Debug, Clone)]
pub enum Matching {
    /// The route of this method and path.
    Found(Found),
    /// The path exists, but not for this method. Contains the value of the header `Allow`.
    WrongMethod(&'static str),
    /// The path does not exist.
    NotFound,
}

/// The parameter's name, if the template's segment is a parameter `{name}`.
pub fn parameter_name(segment: &'static str) -> Option<&'static str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// Properties of a template that exclude most paths before any segment is compared.
#[derive(Clone, Copy)]
struct Outline {
    /// Number of separators in the template, and in every path that matches it.
    separators: usize,
    /// Length of the text before the first parameter. Every path that matches begins with this text.
    head: usize,
    /// Whether the template has no parameter, so that only one path matches it.
    is_literal: bool,
}

impl Outline {
    const fn of(template: &str) -> Self {
        let mut outline = Outline { separators: 0, head: template.len(), is_literal: true };
        let mut rest = template.as_bytes();
        while let Some((byte, after)) = rest.split_first() {
            match *byte {
                b'/' => outline.separators += 1,
                b'{' if outline.is_literal => {
                    outline.head = template.len() - rest.len();
                    outline.is_literal = false;
                }
                _ => {}
            }
            rest = after;
        }
        outline
    }

    /// False if the path cannot match the template.
    fn fits(&self, template: &str, path: &str, separators: usize) -> bool {
        self.separators == separators
            && (!self.is_literal || template.len() == path.len())
            && path.as_bytes().get(..self.head) == template.as_bytes().get(..self.head)
    }
}

/// The outline of each row, in the table's order.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time; an index out of bounds would not compile")]
static OUTLINES: [Outline; ROUTES.len()] = {
    let mut outlines = [Outline { separators: 0, head: 0, is_literal: true }; ROUTES.len()];
    let mut at = 0;
    while at < ROUTES.len() {
        outlines[at] = Outline::of(ROUTES[at].path);
        at += 1;
    }
    outlines
};

/// Finds the route for `method` and the raw (still encoded) `path`, without its query.
///
/// The template with the most literal segments wins (`/v1/vaults/batch` before `/v1/vaults/{id}`), and only its methods are allowed.
pub fn match_route(method: Option<Method>, path: &str) -> Matching {
    let separators = path.bytes().filter(|byte| *byte == b'/').count();
    let fitting = || {
        let rows = ROUTES.iter().zip(&OUTLINES);
        rows.filter(|(route, outline)| outline.fits(route.path, path, separators)).map(|(route, _)| route)
    };
    let mut best: Option<(u32, &'static str)> = None;
    for route in fitting() {
        if let Some(literals) = literal_segments(route.path, path)
            && best.is_none_or(|(most, _)| literals > most)
        {
            best = Some((literals, route.path));
        }
    }
    let Some((_, template)) = best else { return Matching::NotFound };
    match fitting().find(|route| route.path == template && Some(route.method) == method) {
        None => Matching::WrongMethod(allow(template)),
        Some(route) => match values(template, path) {
            Some(path) => Matching::Found(Found { route, path }),
            None => Matching::NotFound,
        },
    }
}

/// Number of segments that match literally; `None` if the path does not match the template.
fn literal_segments(template: &'static str, path: &str) -> Option<u32> {
    let mut segments = path.split('/');
    let mut literals = 0;
    for wanted in template.split('/') {
        let segment = segments.next()?;
        if wanted == segment {
            literals += 1;
        } else if parameter_name(wanted).is_none() || segment.is_empty() {
            return None;
        }
    }
    segments.next().is_none().then_some(literals)
}

/// Parameters that may contain an encoded slash, because some asset symbols contain one. Their values are used for look-ups only.
const MAY_CONTAIN_SLASH: [&str; 1] = ["symbol"];

/// The decoded parameters; `None` if one has an invalid escape, contains an escaped path separator or a control character, or is `.` or
/// `..`. URL parsers treat `.` and `..` as dot segments even if they are percent-encoded, so the edge could not forward them to the origin.
fn values(template: &'static str, path: &str) -> Option<Vec<String>> {
    template
        .split('/')
        .zip(path.split('/'))
        .filter_map(|(wanted, segment)| Some((parameter_name(wanted)?, segment)))
        .map(|(name, segment)| {
            let hides = |c: char| c == '\\' || (c == '/' && !MAY_CONTAIN_SLASH.contains(&name));
            percent::decode(segment, false)
                .filter(|value| value != "." && value != ".." && !value.chars().any(|c| c.is_control() || hides(c)))
        })
        .collect()
}

/// The `Allow` header of a template: GET implies HEAD, and every path has OPTIONS.
fn allow(template: &str) -> &'static str {
    let has = |method| ROUTES.iter().any(|route| route.path == template && route.method == method);
    match (has(Method::Get), has(Method::Post), has(Method::Delete)) {
        (true, true, true) => "GET, HEAD, POST, DELETE, OPTIONS",
        (true, true, false) => "GET, HEAD, POST, OPTIONS",
        (true, false, true) => "GET, HEAD, DELETE, OPTIONS",
        (true, false, false) => "GET, HEAD, OPTIONS",
        (false, true, _) => "POST, OPTIONS",
        (false, false, _) => "DELETE, OPTIONS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RouteId;
    use proptest::prelude::*;

    fn found(method: Method, path: &str) -> Option<Found> {
        match match_route(Some(method), path) {
            Matching::Found(found) => Some(found),
            _ => None,
        }
    }

    #[test]
    fn every_route_is_found_by_its_own_template() {
        for route in ROUTES {
            let path: Vec<_> =
                route.path.split('/').map(|segment| parameter_name(segment).map_or(segment, |_| "x")).collect();
            assert_eq!(
                found(route.method, &path.join("/")).map(|found| found.route.id),
                Some(route.id),
                "{}",
                route.path
            );
        }
    }

    #[test]
    fn a_literal_path_wins_over_a_parameter_and_determines_the_methods() {
        assert_eq!(found(Method::Post, "/v1/vaults/batch").unwrap().route.id, RouteId::VaultBatch);
        assert!(matches!(match_route(Some(Method::Get), "/v1/vaults/batch"), Matching::WrongMethod("POST, OPTIONS")));
        assert!(matches!(match_route(Some(Method::Post), "/v1/vaults"), Matching::WrongMethod("GET, HEAD, OPTIONS")));
        assert!(matches!(match_route(None, "/v1/vaults"), Matching::WrongMethod(_)));
    }

    #[test]
    fn a_path_with_an_escaped_separator_or_a_malformed_segment_is_not_found() {
        for path in [
            "/v1/vaults/a%2fb",
            "/v1/vaults/a%5Cb",
            "/v1/vaults/%00",
            "/v1/assets/s/lvlUSD/history",
            "/v1/assets/s%5ClvlUSD/history",
            "/v1/assets/1%2f0x12/0x12",
            "/v1/vaults/%zz",
            "/v1/vaults/..",
            "/v1/vaults/.%2e",
            "/v1/vaults/%2E%2e",
            "/v1/vaults/%2e",
            "/v1/assets/%2e%2e/history",
            "/v1/vaults/a%0ab",
            "/v1/vaults/%09",
            "/v1/vaults/%7f",
            "/v1/vaults/",
            "/v1/vaults/a/",
            "/v1//vaults",
            "v1/vaults",
            "",
            "/",
        ] {
            assert!(matches!(match_route(Some(Method::Get), path), Matching::NotFound), "{path}");
        }
    }

    #[test]
    fn a_path_parameter_is_decoded_once_and_encoded_again() {
        let found = found(Method::Get, "/v1/curators/gauntlet%20prime").unwrap();
        assert_eq!(found.param(0), "gauntlet prime");
        assert_eq!(found.canonical_path(), "/v1/curators/gauntlet%20prime");
    }

    #[test]
    fn a_symbol_may_contain_a_slash_which_stays_encoded() {
        let found = found(Method::Get, "/v1/assets/s%2flvlUSD/history").unwrap();
        assert_eq!((found.route.id, found.param(0)), (RouteId::AssetSymbolHistory, "s/lvlUSD"));
        assert_eq!(found.canonical_path(), "/v1/assets/s%2FlvlUSD/history");
    }

    /// A path similar to a route of the table: its template, with every parameter and at most one other segment replaced.
    fn near_path() -> impl Strategy<Value = String> {
        (0..ROUTES.len(), "[a-z0-9:%{}]{0,6}", 0..8_usize).prop_map(|(at, other, which)| {
            let segment = |(place, segment): (usize, &'static str)| match parameter_name(segment) {
                None if place != which => String::from(segment),
                _ => other.clone(),
            };
            ROUTES[at].path.split('/').enumerate().map(segment).collect::<Vec<_>>().join("/")
        })
    }

    proptest! {
        #[test]
        fn the_prefilter_accepts_every_path_that_matches_the_template(
            path in prop_oneof![near_path(), "[a-z0-9/{}]{0,40}"],
        ) {
            let separators = path.bytes().filter(|byte| *byte == b'/').count();
            for (route, outline) in ROUTES.iter().zip(&OUTLINES) {
                if literal_segments(route.path, &path).is_some() {
                    prop_assert!(outline.fits(route.path, &path, separators), "{} matches {}", path, route.path);
                }
            }
        }

        #[test]
        fn every_path_that_matches_has_a_canonical_form_that_matches_again(path in "[a-z0-9/%._~{}-]{0,60}") {
            if let Matching::Found(found) = match_route(Some(Method::Get), &path) {
                let canonical = found.canonical_path();
                prop_assert!(matches!(match_route(Some(Method::Get), &canonical), Matching::Found(again) if again.path == found.path));
            }
        }
    }
}
