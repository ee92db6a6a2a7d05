//! The target that is signed equals the target that is sent: no URL parser changes it.

use proptest::prelude::*;
use rds_edge::cache::key;
use rds_shared::route::{Matching, Method, Query, ROUTES, match_route};
use worker::Url;

/// The target that the edge would call for a request, if any.
fn called(method: Method, path: &str, text: &str) -> Option<String> {
    let Matching::Found(mut found) = match_route(Some(method), path) else { return None };
    let query = Query::parse(found.route.query, text).ok()?;
    found.fold();
    Some(key::target(&found, &query))
}

/// Path and query as sent by the runtime.
fn sent(target: &str) -> String {
    let url = Url::parse(&format!("http://origin.example{target}")).unwrap();
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

/// A path segment from a caller: ordinary, encoded, or with characters that URL parsers interpret.
fn segment() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "..",
        ".",
        "%2e%2e",
        "%2e",
        ".%2e",
        "%2E.",
        "...",
        "a.",
        "..a",
        "%252e%252e",
        "%2f",
        "%5c",
        "\\",
        "%00",
        "%09",
        "%0a",
        "%0d",
        "\t",
        "\n",
        " ",
        "%20",
        "%23",
        "%3f",
        "?",
        "#",
        ";",
        "@",
        ":",
        "%zz",
        "%",
        "%c3%a9",
        "\u{e9}",
        "|",
        "^",
        "`",
        "{",
        "}",
        "\"",
        "<",
        ">",
        "'",
        "%7f",
        "\u{202e}",
        "http:",
        "//x",
        "%e2%80%ae",
        "~",
        "+",
        "%2B",
        "&",
        "=",
        "C|",
    ]);
    prop_oneof![odd.prop_map(str::to_owned), "[a-zA-Z0-9.:_~-]{1,12}", "(%[0-9a-fA-F]{2}){1,4}", "\\PC{1,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn parsing_the_target_changes_nothing(
        at in 0..ROUTES.len(),
        segments in prop::collection::vec(prop::collection::vec(segment(), 1..3), 8),
        names in prop::collection::vec((any::<prop::sample::Index>(), segment()), 0..4),
    ) {
        let route = ROUTES.get(at).unwrap();
        let mut values = segments.iter().map(|parts| parts.concat());
        let path: Vec<_> = route.path.split('/')
            .map(|part| if part.starts_with('{') { values.next().unwrap_or_default() } else { part.to_owned() })
            .collect();
        let query: Vec<_> = names.iter().filter(|_| !route.query.is_empty())
            .map(|(which, value)| format!("{}={value}", which.get(route.query).name))
            .collect();
        if let Some(target) = called(route.method, &path.join("/"), &query.join("&")) {
            prop_assert_eq!(sent(&target), target);
        }
    }
}

#[test]
fn dot_segments_are_not_path_parameters() {
    for odd in ["..", ".", "%2e", "%2e%2e", ".%2e", "%2E%2e"] {
        for path in [
            format!("/v1/vaults/{odd}"),
            format!("/v1/vault/{odd}/0x12/snapshots"),
            format!("/v1/assets/{odd}/history"),
        ] {
            assert_eq!(called(Method::Get, &path, ""), None, "{path}");
        }
    }
    let doubly = called(Method::Get, "/v1/vaults/%252e%252e", "").unwrap();
    assert_eq!((doubly.as_str(), sent(&doubly).as_str()), ("/v1/vaults/%252e%252e", "/v1/vaults/%252e%252e"));
}
