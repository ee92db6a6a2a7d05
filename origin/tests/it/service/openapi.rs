//! The OpenAPI document at the origin's listeners: the committed bytes, with the version that `/v1/health` shows.

use crate::support::testapp::{PEER, TestApp, signed};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode};
use rds_origin::listener::Listener;

const COMMITTED: &str = include_str!("../../../../openapi/openapi.json");
const PATH: &str = "/v1/openapi.json";

#[tokio::test]
async fn it_is_served_to_the_edge_and_to_backends_with_the_version_that_health_shows() {
    let test = TestApp::new().await;
    let document = test.get(PATH).await;
    assert_eq!((document.status, document.text().as_str()), (StatusCode::OK, COMMITTED));
    assert_eq!(document.header("cache-control"), Some("public, max-age=300, must-revalidate"));
    assert_eq!((document.header("x-data-version"), document.header("cdn-cache-control")), (None, None));
    assert_eq!(document.json()["info"]["version"], test.json("/v1/health").await["version"]);
    let direct = Request::builder().uri(PATH).body(Body::empty()).unwrap();
    let direct = test.from(PEER, Listener::Relay, direct).await;
    assert_eq!((direct.text().as_str(), direct.header("etag")), (COMMITTED, document.header("etag")));
}

#[tokio::test]
async fn a_client_that_has_the_document_gets_304() {
    let test = TestApp::new().await;
    let etag = test.get(PATH).await.header("etag").unwrap().to_owned();
    let mut again = signed("GET", PATH, "");
    again.headers_mut().insert("if-none-match", HeaderValue::from_str(&etag).unwrap());
    let again = test.ask(again).await;
    assert_eq!((again.status, again.text().as_str()), (StatusCode::NOT_MODIFIED, ""));
    assert_eq!(
        (again.header("etag"), again.header("cache-control")),
        (Some(etag.as_str()), Some("public, max-age=300, must-revalidate"))
    );
}
