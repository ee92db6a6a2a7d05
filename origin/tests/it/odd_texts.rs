//! Whatever text a caller sends: every parameter and path segment that takes one answers, and never with a fault of ours.

use crate::testapp::{TestApp, holder, signed_as};
use axum::body::Bytes;
use axum::http::{Request, StatusCode};
use rds_origin::http::exchange::answer::respond;
use rds_origin::http::exchange::pipeline::{self, Ingress, Trace};
use rds_origin::http::exchange::router;
use rds_origin::listener::Listener;
use rds_shared::access::{Plan, Principal};
use rds_shared::route::param::{Default, Kind};
use rds_shared::route::{Access, Method, Query, ROUTES, Route, RouteId, RowQuery, match_route, params, routes};
use rds_shared::wire::{RequestId, percent};
use std::sync::Arc;

/// Texts that each search is asked for.
const TEXTS: usize = 10_000;
/// Those of them that go the whole way, from the door to the database and back.
const WHOLE_WAY: usize = 400;
/// Texts that every other parameter and path segment is given.
const FEWER: usize = 500;
/// Those of them that are signed and shown at the door; the others are put in behind it.
const AT_THE_DOOR: usize = 25;

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

/// The same sequence each run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
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
    // Half a surrogate pair, an overlong slash, a lone continuation, a cut sequence, and a percent sign that begins nothing.
    texts.extend(["%ED%A0%80", "%C0%AF", "%80", "%E2%82", "%", "%zz", "%25%30%30", "%00"].map(str::to_owned));
    texts.extend([1_000, 4_000].map(|n| "a".repeat(n)));
    let mut dice = Dice(18);
    while texts.len() < TEXTS {
        // Few different pieces make long runs of operators, many make a soup.
        let kinds: Vec<&str> = (0..=dice.below(6)).map(|_| dice.piece()).collect();
        let length = 1 + dice.below(200);
        let text: String = (0..length).map(|_| kinds[dice.below(kinds.len())]).collect();
        texts.push(encode(&text.chars().take(1 + dice.below(204)).collect::<String>()));
    }
    texts
}

/// A caller whom the route lets in.
fn caller(route: &Route) -> Option<Principal> {
    match route.access {
        Access::Public => Some(holder(Plan::Data)),
        Access::Key | Access::Data | Access::Decisioning => Some(holder(Plan::Embedded)),
        Access::Index => None,
    }
}

/// The path with `text` in each place, and what else the route needs to be asked at all.
fn target(route: &Route, segment: Option<(&str, &str)>, query: Option<(&str, &str)>) -> String {
    let filled = |part: &'static str| match parameter_name(part) {
        None => part.to_owned(),
        Some(name) => {
            segment.filter(|(asked, _)| *asked == name).map_or_else(|| usual(name), |(_, text)| text.to_owned())
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

/// What stands in a segment while another one is odd.
fn usual(name: &str) -> String {
    match name {
        "network" | "chain" => "ethereum",
        "chain_id" => "1",
        "address" => "0x0000000000000000000000000000000000000001",
        _ => "1",
    }
    .to_owned()
}

/// Where a request is put in.
#[derive(Clone, Copy)]
enum At {
    /// At the edge's door, signed, as everybody's is: about half a millisecond each in a debug build.
    Listener,
    /// Behind it, at the routes: parameters, gate, handler and answer.
    Routes,
}

/// Asks for every text; answers those that were not answered as they should be.
async fn asked(test: &Arc<TestApp>, route: &'static Route, at: At, targets: Vec<String>) -> Vec<String> {
    let Some(caller) = caller(route) else { return Vec::new() };
    // A few at once: the pool has five connections.
    let lanes = targets.chunks(targets.len().div_ceil(4).max(1)).map(|lane| {
        let (test, caller, lane) = (Arc::clone(test), caller.clone(), lane.to_vec());
        tokio::spawn(async move {
            let mut bad = Vec::new();
            for target in lane {
                let status = match at {
                    At::Listener => at_the_door(&test, &caller, &target).await,
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

/// A request's way in, from an address of nobody's.
fn through() -> Ingress {
    Ingress::new(Listener::Edge, "192.0.2.1".parse().unwrap())
}

async fn at_the_door(test: &TestApp, caller: &Principal, target: &str) -> StatusCode {
    let request = signed_as(&caller.to_json(), "GET", target, "");
    pipeline::answer(&test.app, through(), request).await.status()
}

/// A panic of a handler is one of the test here.
async fn at_the_routes(test: &TestApp, caller: &Principal, target: &str) -> StatusCode {
    let (head, ()) = Request::builder().uri(target).body(()).unwrap().into_parts();
    let mut trace = Trace::new(through());
    let matching = match_route(Some(Method::Get), head.uri.path());
    let result = router::route(&test.app, matching, caller.clone(), &head, Bytes::new(), &mut trace).await;
    respond(result, RequestId::from_random([7; 16]), trace.label, false).response.status()
}

/// Every so many-th text, so that there are about `count` of them.
fn some(texts: &[String], count: usize) -> Vec<&String> {
    texts.iter().step_by(texts.len().div_ceil(count).max(1)).collect()
}

/// Whether the origin answers it from a body of its own: streams do not end.
fn is_asked(route: &Route) -> bool {
    route.method == Method::Get && !route.path.ends_with("/stream")
}

/// What a search of the feed asks the database with a text, for all of them in a few statements. Answers those that it failed on.
async fn failed_in_the_database(test: &TestApp, searches: &[String]) -> Vec<String> {
    // Every search is evaluated, and compared with the events that there are.
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

/// All texts go through the routes that search the catalog. Of the events' feed, whose search is the database's, all are parsed, and what
/// that leaves is made a query there and compared with the feed's rows, some hundreds in one statement; the text meets nothing else of
/// it. A part of the texts goes the whole way, at the edge's door, to each route.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_search_answers_ten_thousand_odd_texts() {
    let test = Arc::new(TestApp::with_market().await);
    let texts = odd_texts();
    assert_eq!(texts.len(), TEXTS);
    let mut searched = 0;
    for route in ROUTES.iter().filter(|route| is_asked(route)) {
        let Some(param) = route.query.iter().find(|param| param.name == "search") else { continue };
        let to = |text: &String| target(route, None, Some((param.name, text.as_str())));
        let mut bad = match route.id {
            RouteId::EventList => {
                let parsed = |text: &String| Query::parse(route.query, &format!("{}={text}", param.name)).ok();
                let searches: Vec<String> = texts.iter().filter_map(parsed).filter_map(text_of).collect();
                assert!(searches.len() > TEXTS / 4, "most others hold what no text may: {}", searches.len());
                failed_in_the_database(&test, &searches).await
            }
            _ => asked(&test, route, At::Routes, texts.iter().map(to).collect()).await,
        };
        bad.extend(asked(&test, route, At::Listener, some(&texts, WHOLE_WAY).into_iter().map(to).collect()).await);
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
    let texts: Vec<&String> = some(&all, FEWER);
    let mut places = 0;
    let each = async |route, targets: Vec<String>| {
        let some: Vec<String> = targets.iter().step_by(FEWER / AT_THE_DOOR).cloned().collect();
        let mut bad = asked(&test, route, At::Listener, some).await;
        bad.extend(asked(&test, route, At::Routes, targets).await);
        assert!(bad.is_empty(), "{} texts, first {:?}", bad.len(), bad.first());
    };
    for route in ROUTES.iter().filter(|route| is_asked(route)) {
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
