//! Property of the parsers of path and query: at the edge, and at the origin for the edge's spelling of the same request.

use http::Uri;
use rds_edge::cache::key::target;
use rds_shared::route::{Matching, Method, Query, match_route};
use rds_shared::wire::TARGET_BYTES;

const METHODS: [Method; 3] = [Method::Get, Method::Post, Method::Delete];

/// Edge and origin find the same route, path values and query, and the edge's spelling is stable.
pub fn holds(data: &[u8]) {
    let Some((choice, text)) = crate::choice_and_text(data) else { return };
    let method = METHODS[choice % METHODS.len()];
    // The Worker's runtime parses URLs into printable ASCII before the edge sees them, and the edge refuses longer targets.
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.len() > TARGET_BYTES {
        return;
    }
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let Matching::Found(mut found) = match_route(Some(method), path) else { return };
    found.fold();
    let Ok(query) = Query::parse(found.route.query, query) else { return };
    let asked = target(&found, &query);

    let uri: Uri = asked.parse().unwrap_or_else(|error| panic!("the origin cannot read {asked}: {error}"));
    assert_eq!(uri.path_and_query().map(|target| target.as_str()), Some(asked.as_str()));
    let Matching::Found(mut there) = match_route(Some(method), uri.path()) else { panic!("no route there: {asked}") };
    assert_eq!((there.route.id, &there.path), (found.route.id, &found.path), "{asked}");
    let query_there = Query::parse(there.route.query, uri.query().unwrap_or(""));
    assert_eq!(query_there.as_ref(), Ok(&query), "{asked}");
    there.fold();
    assert_eq!(target(&there, &query), asked, "the spelling is not stable");
}
