//! The relay's door: the few routes that backends reach directly, without the edge before them.

use super::answer::{Answer, Failure};
use super::pipeline::Trace;
use super::router;
use crate::app::App;
use axum::body::Bytes;
use axum::extract::Request;
use rds_shared::access::Principal;
use rds_shared::route::{Door, Matching, Method, match_route};
use std::sync::Arc;

/// Routes what this door answers; every other path is unknown here.
pub async fn handle(app: &Arc<App>, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    let (head, _) = request.into_parts();
    let matching = match match_route(Method::parse(head.method.as_str()), head.uri.path()) {
        Matching::Found(found) if found.route.door == Door::EdgeAndRelay => Matching::Found(found),
        Matching::Found(_) => Matching::NotFound,
        Matching::WrongMethod(allow) if answers(head.uri.path()) => Matching::WrongMethod(allow),
        Matching::WrongMethod(_) | Matching::NotFound => Matching::NotFound,
    };
    router::route(app, matching, Principal::Anonymous, &head, Bytes::new(), trace).await
}

fn answers(path: &str) -> bool {
    matches!(match_route(Some(Method::Get), path), Matching::Found(found) if found.route.door == Door::EdgeAndRelay)
}
