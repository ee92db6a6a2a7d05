//! Damage to one request: its method, path, parameters, headers or body.

use rds_shared::wire::percent;

use super::draw::{Drawn, ODD};
use crate::random::Random;

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "get"];
/// Headers with values that are easily mishandled.
const HEADERS: [(&str, &str); 26] = [
    ("authorization", "Bearer"),
    ("authorization", "Bearer pk_live_0"),
    ("authorization", "Basic eDp5"),
    ("authorization", "bearer  x y"),
    ("x-api-key", "pk_live_ffffffffffffffffffffffffffffffff"),
    ("if-none-match", "*"),
    ("if-none-match", "W/\"x"),
    ("if-none-match", "\"a\", W/\"b\", c"),
    ("accept", "text/html"),
    ("accept", "text/event-stream"),
    ("accept", ";q=0"),
    ("accept", "application/json;q=x, */*;q=0.1"),
    ("accept-encoding", "gzip;q=0, br"),
    ("origin", "null"),
    ("origin", "https://app.example"),
    ("content-type", "text/plain"),
    ("content-type", "application/json; charset=utf-16"),
    ("idempotency-key", ""),
    ("idempotency-key", "\"\\\""),
    ("x-forwarded-for", "1.2.3.4, ::1, x"),
    ("x-service-subclient", "a b"),
    ("traceparent", "00-0-0-00"),
    ("range", "bytes=0-1"),
    ("last-event-id", "v2:x"),
    ("cookie", "a=b; c"),
    ("expect", "100-continue"),
];
/// Characters of the longest values: more than a target may have, and more than a header may.
const LONG: usize = 9_000;

/// Damages one thing about a request.
pub fn damage(random: &mut Random, drawn: &mut Drawn) {
    match random.below(6) {
        0 => {
            drawn.method = random.text(&METHODS).to_owned();
            // The runtime knows no method in lower case.
            drawn.is_odd_http |= drawn.method == "get";
            drawn.is_comparable = false;
        }
        1 => damage_path(random, drawn),
        2 => damage_query(random, drawn),
        3 => damage_headers(random, drawn),
        4 => damage_body(random, drawn),
        _ => {
            let odd = random.text(&["\u{80}", "é", "\t", "|", "<>", "\\", "#x"]).to_owned();
            drawn.target.push_str(&odd);
            (drawn.is_odd_http, drawn.is_comparable) = (true, false);
        }
    }
}

fn damage_path(random: &mut Random, drawn: &mut Drawn) {
    let target = std::mem::take(&mut drawn.target);
    let (path, query) = target.split_once('?').map_or((target.as_str(), None), |(path, query)| (path, Some(query)));
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    let place = 1 + random.place(segments.len().saturating_sub(1));
    let mut odd = String::new();
    percent::encode_into(random.text(&ODD), &[], &mut odd);
    match random.below(6) {
        0 if segments.len() > 2 => drop(segments.remove(place.min(segments.len() - 1))),
        1 => segments.insert(place, odd),
        2 => segments.push(String::new()),
        3 => segments.insert(place, random.text(&["..", ".", "%2e%2e", "%2F", "%00", "%zz", "%"]).to_owned()),
        4 => segments.push("a".repeat(LONG)),
        _ => {
            if let Some(segment) = segments.get_mut(place) {
                *segment = odd;
            }
        }
    }
    // Clients and proxies resolve dots before the request is sent, and the runtime may.
    drawn.is_comparable &=
        !segments.iter().any(|segment| segment.starts_with('.') || segment.to_lowercase().starts_with("%2e"));
    drawn.target = segments.join("/");
    if let Some(query) = query {
        drawn.target = format!("{}?{query}", drawn.target);
    }
}

fn damage_query(random: &mut Random, drawn: &mut Drawn) {
    let joint = if drawn.target.contains('?') { '&' } else { '?' };
    let more = match random.below(8) {
        0 => "unknown=1".to_owned(),
        1 => "=".to_owned(),
        2 => "&&limit".to_owned(),
        3 => "limit=1&limit=2".to_owned(),
        4 => format!("search={}", "x".repeat(LONG)),
        5 => (0..200).map(|number| format!("p{number}={number}")).collect::<Vec<_>>().join("&"),
        6 => "strict=true&page=%FF&limit=%zz".to_owned(),
        _ => "page=9223372036854775808&limit=-5".to_owned(),
    };
    drawn.target = format!("{}{joint}{more}", drawn.target);
}

fn damage_headers(random: &mut Random, drawn: &mut Drawn) {
    drawn.is_comparable = false;
    let (name, value) = HEADERS.get(random.place(HEADERS.len())).copied().unwrap_or_default();
    match random.below(6) {
        0 => drawn.headers.push((name.to_owned(), "v".repeat(LONG))),
        1 => drawn.headers.retain(|(given, _)| given != "authorization"),
        2 => drawn.headers.extend((0..60).map(|number| (format!("x-more-{number}"), "1".to_owned()))),
        3 => {
            drawn.headers.retain(|(given, _)| given != name);
            drawn.headers.push((name.to_owned(), value.to_owned()));
        }
        // A repeated header.
        _ => drawn.headers.push((name.to_owned(), value.to_owned())),
    }
    // The runtime answers this expectation itself, and has a limit of its own for the whole head.
    drawn.is_odd_http |= drawn.headers.iter().any(|(name, _)| name == "expect");
    drawn.is_odd_http |= drawn.headers.iter().map(|(_, value)| value.len()).sum::<usize>() > 2 * LONG - 1;
}

fn damage_body(random: &mut Random, drawn: &mut Drawn) {
    drawn.is_comparable = false;
    let length = drawn.body.len();
    match random.below(8) {
        0 => drawn.body.truncate(random.place(length + 1)),
        1 => drawn.body = b"[".repeat(5_000),
        2 => drawn.body = format!("{{\"ids\":[{}]}}", vec!["\"x\""; 60_000].join(",")).into_bytes(),
        3 => drawn.body = b"\xef\xbb\xbf{}".to_vec(),
        4 => drawn.body = b"{\"a\":NaN}".to_vec(),
        5 => drawn.body = b"\xff\xfe\x00".to_vec(),
        6 => {
            let text = String::from_utf8_lossy(&drawn.body).replace('"', "").replace(':', ":\"");
            drawn.body = text.into_bytes();
        }
        _ => {
            let text = String::from_utf8_lossy(&drawn.body).into_owned();
            let odd = random.text(&["null", "-1", "1e400", "[]", "{}", "\"\\ud800\"", "true", "0.1"]);
            drawn.body = match text.find(':') {
                Some(at) => format!("{}:{odd}}}", text.get(..at).unwrap_or_default()).into_bytes(),
                None => odd.as_bytes().to_vec(),
            };
        }
    }
}
