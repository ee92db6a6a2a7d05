//! Every parameter of the route table does something: a handler reads it.

use crate::support::db::TestDb;
use crate::support::testapp::{NOW, PEER, TestApp, TestOptions, holder, signed_as};
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_origin::graph::follow;
use rds_origin::http::exchange::pipeline;
use rds_origin::http::exchange::trace::Ingress;
use rds_origin::listener::Listener;
use rds_shared::access::{Plan, Principal};
use rds_shared::route::{Access, Method, ROUTES, Route, RouteId, reads};
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options};
use serde_json::Value;
use std::collections::BTreeMap;

/// Parameters that no handler reads, with the reason.
const UNREAD: [(RouteId, &str, &str); 1] =
    [(RouteId::DocsFile, "v", "the fingerprint only makes browsers ask again; every value gives the same file")];

/// Routes that need a subscription; the tests of webhooks call them.
const ROUTES_NEEDING_A_SUBSCRIPTION: [RouteId; 3] =
    [RouteId::WebhookDeliveries, RouteId::WebhookReplay, RouteId::BasketWebhookReplay];

/// A caller that may use the route.
fn caller(route: &Route) -> Principal {
    match route.access {
        Access::Index => Principal::IndexToken { id: 1 },
        _ => holder(Plan::Embedded),
    }
}

/// The first value of `field` in the list at `path`.
async fn first(test: &TestApp, path: &str, field: &str) -> String {
    let reply = test.get_as(&holder(Plan::Embedded), path).await;
    match &reply.json()["data"][0][field] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Existing values of path parameters, by the beginning of the path.
async fn names(test: &TestApp) -> BTreeMap<&'static str, [String; 2]> {
    let one = |text: String| [text, String::new()];
    let network = first(test, "/v1/vaults", "chain_id").await;
    let address = first(test, "/v1/vaults", "address").await;
    BTreeMap::from([
        ("/v1/assets/", one(first(test, "/v1/assets", "asset_symbol").await)),
        ("/v1/baskets/", one("prime-vaults".to_owned())),
        ("/v1/curators/", one(first(test, "/v1/curators", "id").await)),
        ("/v1/docs/", one("site.css".to_owned())),
        ("/v1/indices/", one("prime-vaults".to_owned())),
        ("/v1/markets/", one(first(test, "/v1/markets", "id").await)),
        ("/v1/protocols/", one(first(test, "/v1/protocols", "id").await)),
        ("/v1/vault/", [network, address]),
        ("/v1/vaults/", one(first(test, "/v1/vaults", "id").await)),
    ])
}

/// The route's path with its parameters replaced by existing values.
fn path(route: &Route, names: &BTreeMap<&str, [String; 2]>) -> String {
    let mut values = names.iter().find(|(start, _)| route.path.starts_with(**start)).map(|(_, values)| values.iter());
    let parts = route.path.split('/').map(|part| match part.starts_with('{') {
        true => values.as_mut().and_then(Iterator::next).cloned().unwrap_or_else(|| part.to_owned()),
        false => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn every_parameter_of_every_route_is_read() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    let options = Options { seed: 1, vaults: 60, hours: 24 };
    simulate::run(&facts.db, &clock, options, None, &mut |_: &str| ()).await.unwrap();
    let test = TestApp::over(facts, TestOptions { env: vec![("RDS_GRAPH", "1")], ..TestOptions::default() }).await;
    rds_origin::graph::build::build(&test.app.db, test.app.clock.now()).await.unwrap();
    follow::refresh(&test.app).await.unwrap();
    let names = names(&test).await;
    let vault = first(&test, "/v1/vaults", "chain_id").await + ":" + &names["/v1/vault/"][1];
    let (mut unread, mut failed) = (Vec::new(), Vec::new());
    for route in
        ROUTES.iter().filter(|route| !route.query.is_empty() && !ROUTES_NEEDING_A_SUBSCRIPTION.contains(&route.id))
    {
        assert_eq!(route.method, Method::Get, "{}: say here how it is called", route.path);
        let path = path(route, &names);
        let queries: &[&str] = match route.id {
            RouteId::LookThrough | RouteId::IncidentExposure => &[&format!("vaults={vault}")],
            RouteId::VaultChanges => &["since=2026-11-20T00:00:00Z"],
            RouteId::SecurityEventList => &["", "hasLoss=true"],
            _ => &[""],
        };
        for query in queries {
            let request = signed_as(&caller(route).to_json(), "GET", &format!("{path}?{query}"), "");
            let answer =
                pipeline::answer(&test.server, Ingress::new(Listener::Edge, PEER.parse().unwrap()), request).await;
            // Only the status is checked. The body is not read, because a stream never ends.
            if answer.status() != StatusCode::OK {
                failed.push(format!("{path}?{query}: {}", answer.status()));
            }
        }
        let excused = |name: &&str| UNREAD.iter().any(|(id, unread, _)| (*id, *unread) == (route.id, *name));
        unread.extend(reads::unread(route.id).into_iter().filter(|name| !excused(name)).map(|name| (route.path, name)));
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(unread.is_empty(), "promised in the route table, and read by no handler: {unread:?}");
}
