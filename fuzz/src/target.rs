//! Path and query, first at the edge and then, as the edge spells them, at the origin.

use http::Uri;
use rds_edge::cache::key::target;
use rds_shared::route::{Matching, Method, Query, match_route};
use rds_shared::wire::TARGET_BYTES;

const METHODS: [Method; 3] = [Method::Get, Method::Post, Method::Delete];

/// Both hosts find the same route, the same path values and the same query, and the edge's spelling is its own.
pub fn holds(data: &[u8]) {
    let Some((choice, text)) = crate::choice_and_text(data) else { return };
    let method = METHODS[choice % METHODS.len()];
    // What reaches a Worker is a URL that its runtime has read: printable ASCII, and within the edge's bound.
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
    assert_eq!(target(&there, &query), asked, "its spelling is not its own");
}
