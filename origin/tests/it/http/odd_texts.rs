//! Odd texts from callers, in every parameter and path segment that accepts a text. None of them may cause an internal error.

use crate::support::testapp::{TestApp, holder, signed_as};
use axum::body::Bytes;
use axum::http::{Request, StatusCode};
use rds_origin::http::exchange::answer::respond;
use rds_origin::http::exchange::pipeline;
use rds_origin::http::exchange::router;
use rds_origin::http::exchange::trace::{Ingress, Trace};
use rds_origin::listener::Listener;
use rds_shared::access::{Plan, Principal};
use rds_shared::route::param::{Default, Kind};
use rds_shared::route::{Access, Method, Query, ROUTES, Route, RouteId, RowQuery, match_route, params, routes};
use rds_shared::wire::{RequestId, percent};
use std::sync::Arc;

/// Number of texts that each search is tried with.
const TEXTS: usize = 10_000;
/// Number of texts that are sent through the edge listener to each search.
const END_TO_END_TEXTS: usize = 400;
/// Number of texts that every other parameter and path segment is tried with.
const TEXTS_PER_PARAMETER: usize = 500;
/// Number of the [`TEXTS_PER_PARAMETER`] that are signed and sent to the edge listener. The others go directly to the router.
const SIGNED_TEXTS: usize = 25;

/// Pieces of odd texts: operators of search languages, quotes, marks, words, and characters that are easily mishandled.
const PIECES: &[&str] = &[
    "-",
    "--",
    "\"",
    "'",
    "!",
    "&",
    "|",
    "(",
    ")",
    ":",
    "*",
    "<",
    ">",
    "<->",
    "\\",
    "%",
    "_",
    "/",
    ".",
    ",",
    ";",
    "=",
    "?",
    "#",
    "+",
    " ",
    "  ",
    "or ",
    "OR",
    "and",
    "not",
    "the",
    "steak",
    "USDC",
    "a",
    "0x",
    "1:",
    "0",
    "-1",
    "9223372036854775808",
    "1e309",
    "NaN",
    "null",
    "${7*7}",
    "{{7*7}}",
    "'; drop table event;--",
    "../",
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "\t",
    "\n",
    "\r",
    "\u{85}",
    "\u{a0}",
    "\u{2003}",
    "\u{2028}",
    "\u{3000}",
    "\u{200b}",
    "\u{200d}",
    "\u{202e}",
    "\u{2066}",
    "\u{feff}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{10ffff}",
    "é",
    "e\u{301}",
    "ß",
    "İ",
    "ı",
    "ſ",
    "Σς",
    "\u{1f468}\u{200d}\u{1f469}",
    "日本",
    "שלום",
    "مرحبا",
    "²",
    "Ⅷ",
    "\u{1d54f}",
    "[",
    "]",
    "{",
    "}",
    "^",
    "~",
    "`",
    "@",
    "$",
];

/// Pseudo-random numbers (SplitMix64), the same in each run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn piece(&mut self) -> &'static str {
        PIECES[self.below(PIECES.len())]
    }
}

/// Odd texts, percent-encoded, and some that are not UTF-8 once decoded.
fn odd_texts() -> Vec<String> {
    let encode = |text: &str| {
        let mut out = String::new();
        percent::encode_into(text, b"", &mut out);
        out
    };
    let mut texts: Vec<String> = PIECES
        .iter()
        .flat_map(|piece| [1, 2, 31, 32, 33, 50, 199, 200, 201].map(|n| encode(&piece.repeat(n))))
        .collect();
    // Half a surrogate pair, an overlong slash, a lone continuation byte, a truncated sequence and incomplete percent escapes.
    texts.extend(["%ED%A0%80", "%C0%AF", "%80", "%E2%82", "%", "%zz", "%25%30%30", "%00"].map(str::to_owned));
    texts.extend([1_000, 4_000].map(|n| "a".repeat(n)));
    let mut dice = Dice(18);
    while texts.len() < TEXTS {
        // A few different pieces give long runs of operators, many give a random mix.
        let kinds: Vec<&str> = (0..=dice.below(6)).map(|_| dice.piece()).collect();
        let length = 1 + dice.below(200);
        let text: String = (0..length).map(|_| kinds[dice.below(kinds.len())]).collect();
        texts.push(encode(&text.chars().take(1 + dice.below(204)).collect::<String>()));
    }
    texts
}

/// A caller with access to the route.
fn caller(route: &Route) -> Option<Principal> {
    match route.access {
        Access::Public => Some(holder(Plan::Data)),
        Access::Key | Access::Data | Access::Decisioning => Some(holder(Plan::Embedded)),
        Access::Index => None,
    }
}

/// The route's path and query with the given segment or parameter, and valid values for everything else that is required.
fn target(route: &Route, segment: Option<(&str, &str)>, query: Option<(&str, &str)>) -> String {
    let filled = |part: &'static str| match parameter_name(part) {
        None => part.to_owned(),
        Some(name) => {
            segment.filter(|(asked, _)| *asked == name).map_or_else(|| valid_segment(name), |(_, text)| text.to_owned())
        }
    };
    let path: Vec<String> = route.path.split('/').map(filled).collect();
    let mut pairs: Vec<String> = query.iter().map(|(name, text)| format!("{name}={text}")).collect();
    for param in route.query.iter().filter(|param| param.default == Default::Required) {
        if query.is_none_or(|(name, _)| name != param.name) {
            pairs.push(format!("{}=2026-11-21T00:00:00Z", param.name));
        }
    }
    format!("{}?{}", path.join("/"), pairs.join("&"))
}

/// The name inside `{…}`, if the segment is a parameter.
fn parameter_name(segment: &'static str) -> Option<&'static str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// A valid value for a segment that is not under test.
fn valid_segment(name: &str) -> String {
    match name {
        "network" | "chain" => "ethereum",
        "chain_id" => "1",
        "address" => "0x0000000000000000000000000000000000000001",
        _ => "1",
    }
    .to_owned()
}

/// Where a request enters the service.
#[derive(Clone, Copy)]
enum At {
    /// At the edge listener, signed. In a debug build a signature takes about half a millisecond.
    Listener,
    /// Directly at the router: parameters, access check, handler and response.
    Routes,
}

/// Requests all targets and returns those that were answered with a server error other than 503.
async fn requested(test: &Arc<TestApp>, route: &'static Route, at: At, targets: Vec<String>) -> Vec<String> {
    let Some(caller) = caller(route) else { return Vec::new() };
    // Four at a time, because the pool has five connections.
    let lanes = targets.chunks(targets.len().div_ceil(4).max(1)).map(|lane| {
        let (test, caller, lane) = (Arc::clone(test), caller.clone(), lane.to_vec());
        tokio::spawn(async move {
            let mut bad = Vec::new();
            for target in lane {
                let status = match at {
                    At::Listener => at_the_listener(&test, &caller, &target).await,
                    At::Routes => at_the_routes(&test, &caller, &target).await,
                };
                if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
                    bad.push(format!("{status} {target}"));
                }
            }
            bad
        })
    });
    let mut bad = Vec::new();
    for lane in lanes.collect::<Vec<_>>() {
        bad.extend(lane.await.unwrap());
    }
    bad
}

/// A request that arrives at the edge listener, from a documentation address (RFC 5737).
fn edge_ingress() -> Ingress {
    Ingress::new(Listener::Edge, "192.0.2.1".parse().unwrap())
}

async fn at_the_listener(test: &TestApp, caller: &Principal, target: &str) -> StatusCode {
    let request = signed_as(&caller.to_json(), "GET", target, "");
    pipeline::answer(&test.server, edge_ingress(), request).await.status()
}

/// Calls the router without the listener, so a panic of a handler fails the test.
async fn at_the_routes(test: &TestApp, caller: &Principal, target: &str) -> StatusCode {
    let (head, ()) = Request::builder().uri(target).body(()).unwrap().into_parts();
    let mut trace = Trace::new(edge_ingress());
    let matching = match_route(Some(Method::Get), head.uri.path());
    let result = router::route(&test.server, matching, caller.clone(), &head, Bytes::new(), &mut trace).await;
    respond(result, RequestId::from_random([7; 16]), trace.label, false).response.status()
}

/// About `count` of the texts, evenly spaced.
fn sample(texts: &[String], count: usize) -> Vec<&String> {
    texts.iter().step_by(texts.len().div_ceil(count).max(1)).collect()
}

/// Whether the test requests the route. A stream never ends, so streams are left out.
fn is_tested(route: &Route) -> bool {
    route.method == Method::Get && !route.path.ends_with("/stream")
}

/// Runs the database part of a feed search for all texts in a few statements, and returns the texts on which it failed.
async fn failed_in_the_database(test: &TestApp, searches: &[String]) -> Vec<String> {
    // Each text is turned into a query and compared with all events.
    let sql = "SELECT count(*) FROM (SELECT event_query(asked) AS query FROM unnest($1::text[]) AS asked OFFSET 0) AS made \
               WHERE query IS NOT NULL AND (SELECT count(*) FROM event_feed WHERE search @@ query) >= 0";
    let is_made = async |searches: &[String]| {
        let made = sqlx::query_scalar::<_, i64>(sql).bind(searches).fetch_one(&test.app.db.pool).await;
        made.is_ok_and(|made| made == searches.len() as i64)
    };
    let mut failed = Vec::new();
    for part in searches.chunks(500) {
        if !is_made(part).await {
            for one in part {
                if !is_made(std::slice::from_ref(one)).await {
                    failed.push(format!("{one:?}"));
                }
            }
        }
    }
    failed
}

/// All texts go through the routes that search the catalog. The events feed searches in the database, so its texts are parsed as the
/// route would, and the valid ones run as database queries, hundreds in one statement. A sample of the texts goes through the edge
/// listener to each route.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_search_answers_ten_thousand_odd_texts() {
    let test = Arc::new(TestApp::with_market().await);
    let texts = odd_texts();
    assert_eq!(texts.len(), TEXTS);
    let mut searched = 0;
    for route in ROUTES.iter().filter(|route| is_tested(route)) {
        let Some(param) = route.query.iter().find(|param| param.name == "search") else { continue };
        let to = |text: &String| target(route, None, Some((param.name, text.as_str())));
        let mut bad = match route.id {
            RouteId::EventList => {
                let parsed = |text: &String| Query::parse(route.query, &format!("{}={text}", param.name)).ok();
                let searches: Vec<String> = texts.iter().filter_map(parsed).filter_map(text_of).collect();
                assert!(searches.len() > TEXTS / 4, "too many texts are invalid: {}", searches.len());
                failed_in_the_database(&test, &searches).await
            }
            _ => requested(&test, route, At::Routes, texts.iter().map(to).collect()).await,
        };
        bad.extend(
            requested(&test, route, At::Listener, sample(&texts, END_TO_END_TEXTS).into_iter().map(to).collect()).await,
        );
        assert!(bad.is_empty(), "{} texts, first {:?}", bad.len(), bad.first());
        searched += 1;
    }
    assert!(
        searched >= 7,
        "vaults, scores, events, the registry, the loss board, assets and real-world assets: {searched}"
    );
}

fn text_of(query: Query) -> Option<String> {
    RowQuery::<routes::EventList>::of(&query).get(params::EventSearch).map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_other_text_that_a_route_takes_is_answered() {
    let test = Arc::new(TestApp::with_market().await);
    let all = odd_texts();
    let texts: Vec<&String> = sample(&all, TEXTS_PER_PARAMETER);
    let mut places = 0;
    let each = async |route, targets: Vec<String>| {
        let some: Vec<String> = targets.iter().step_by(TEXTS_PER_PARAMETER / SIGNED_TEXTS).cloned().collect();
        let mut bad = requested(&test, route, At::Listener, some).await;
        bad.extend(requested(&test, route, At::Routes, targets).await);
        assert!(bad.is_empty(), "{} texts, first {:?}", bad.len(), bad.first());
    };
    for route in ROUTES.iter().filter(|route| is_tested(route)) {
        let is_text = |kind: Kind| {
            matches!(kind, Kind::Text { .. } | Kind::Names | Kind::Verbatim | Kind::Word(_) | Kind::Instant)
        };
        for param in route.query.iter().filter(|param| is_text(param.kind) && param.name != "search") {
            each(route, texts.iter().map(|text| target(route, None, Some((param.name, text.as_str())))).collect())
                .await;
            places += 1;
        }
        for name in route.path.split('/').filter_map(parameter_name) {
            let targets = texts
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| target(route, Some((name, text.as_str())), None))
                .collect();
            each(route, targets).await;
            places += 1;
        }
    }
    assert!(places > 40, "{places}");
}
