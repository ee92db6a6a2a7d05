//! The edge listener: checks before a body is read, and the origin's signature on answers.

use crate::support::testapp::{EDGE_KEY, TestApp};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_engine::entropy;
use rds_origin::stream::body::EventBody;
use rds_shared::access::{
    AnswerError, AnswerHead, Assertion, AssertionKey, BodyDigest, Principal, SIGNED, SignedHead, link,
};
use rds_shared::wire::headers;

fn wall() -> i64 {
    Clock::system().wall().as_seconds()
}

/// A signed request of the edge, with the nonce that the answer must repeat.
struct Sent {
    request: Request,
    nonce: String,
}

fn sent(
    principal: &str,
    (method, target): (&str, &str),
    body: &[u8],
    forwarded: &[(&str, &str)],
    seconds: i64,
) -> Sent {
    let key = AssertionKey::parse(EDGE_KEY).unwrap();
    let head = SignedHead { method, target, principal, forwarded };
    let assertion = Assertion::sign_head(&key, &head, BodyDigest::of(body), seconds, entropy::random_bytes());
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in forwarded {
        request = request.header(*name, *value);
    }
    let request = request
        .header(headers::ASSERTION, assertion.to_header())
        .header(headers::PRINCIPAL, principal)
        .body(Body::from(body.to_vec()))
        .unwrap();
    Sent { request, nonce: assertion.nonce().to_owned() }
}

fn read(target: &str) -> Sent {
    sent(&Principal::Anonymous.to_json(), ("GET", target), b"", &[("accept", headers::JSON)], wall())
}

/// The answer's status, and the result of the edge's verification.
async fn verified(test: &TestApp, sent: Sent) -> (StatusCode, Result<(), AnswerError>) {
    let reply = test.ask(sent.request).await;
    let key = AssertionKey::parse(EDGE_KEY).unwrap();
    let head = AnswerHead {
        nonce: &sent.nonce,
        status: reply.status.as_u16(),
        headers: SIGNED.map(|name| reply.header(name)),
    };
    let digest = BodyDigest::of(&reply.body);
    (reply.status, key.verify_answer(reply.header(headers::ANSWER), &head, Some(&digest)))
}

#[tokio::test]
async fn every_answer_to_the_edge_is_signed_including_errors() {
    let test = TestApp::with_market().await;
    for (target, status) in [
        ("/v1/vaults", 200),
        ("/v1/vaults", 200),
        ("/v1/vaults", 200),
        ("/v1/chains", 200),
        ("/v1/vaults?page=0", 400),
        ("/v1/nothing", 404),
        ("/v1/health", 200),
        ("/v1/status", 200),
    ] {
        assert_eq!(verified(&test, read(target)).await, (StatusCode::from_u16(status).unwrap(), Ok(())), "{target}");
    }
    let alive = sent(link::EDGE, ("GET", link::ALIVE), b"", &[], wall());
    assert_eq!(verified(&test, alive).await, (StatusCode::NO_CONTENT, Ok(())));
    let named = sent(&Principal::Anonymous.to_json(), ("GET", link::ALIVE), b"", &[], wall());
    assert_eq!(verified(&test, named).await, (StatusCode::NOT_FOUND, Ok(())), "no caller asks that");
}

#[tokio::test]
async fn an_unchanged_page_is_signed_with_its_headers() {
    let test = TestApp::with_market().await;
    let first = test.ask(read("/v1/vaults").request).await;
    let etag = first.header("etag").unwrap();
    let again = sent(&Principal::Anonymous.to_json(), ("GET", "/v1/vaults"), b"", &[("if-none-match", etag)], wall());
    assert_eq!(verified(&test, again).await, (StatusCode::NOT_MODIFIED, Ok(())));
}

#[tokio::test]
async fn a_request_with_a_forged_signature_gets_no_signed_answer_and_the_connection_ends() {
    let test = TestApp::with_market().await;
    let forged = {
        let mut sent = read("/v1/vaults");
        *sent.request.uri_mut() = "/v1/chains".parse().unwrap();
        sent
    };
    let reply = test.ask(forged.request).await;
    assert_eq!((reply.status, reply.header(headers::ANSWER)), (StatusCode::UNAUTHORIZED, None));
    assert_eq!(reply.header("connection"), Some("close"), "the next attempt takes another connection");
}

#[tokio::test]
async fn an_origin_whose_clock_is_off_refuses_in_its_own_name() {
    let test = TestApp::with_market().await;
    let old = sent(&Principal::Anonymous.to_json(), ("GET", "/v1/vaults"), b"", &[], wall() - 600);
    assert_eq!(verified(&test, old).await, (StatusCode::UNAUTHORIZED, Ok(())));
}

#[tokio::test]
async fn a_head_is_judged_before_a_byte_of_its_body_is_read() {
    let test = TestApp::with_market().await;
    let mut sent = sent(&Principal::Anonymous.to_json(), ("POST", "/v1/vaults/batch"), b"{}", &[], wall());
    sent.request.headers_mut().insert(headers::IDEMPOTENCY_KEY, "added".parse().unwrap());
    // A body that never arrives: a handler that waits for it never answers.
    *sent.request.body_mut() = Body::new(EventBody::new(Default::default(), |_| std::future::pending()));
    let reply = test.ask(sent.request).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "an added header is not the edge's");
}

#[tokio::test]
async fn another_body_than_the_signed_one_is_refused() {
    let test = TestApp::with_market().await;
    let mut sent = sent(&Principal::Anonymous.to_json(), ("POST", "/v1/vaults/batch"), b"{\"ids\":[]}", &[], wall());
    *sent.request.body_mut() = Body::from(Bytes::from_static(b"{\"ids\":[1]}"));
    assert_eq!(verified(&test, sent).await, (StatusCode::UNAUTHORIZED, Ok(())));
}

#[tokio::test]
async fn a_header_that_is_there_twice_is_not_the_edges() {
    let test = TestApp::with_market().await;
    let mut sent = read("/v1/vaults");
    sent.request.headers_mut().append("accept", headers::JSON.parse().unwrap());
    assert_eq!(test.ask(sent.request).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn however_many_faults_a_body_has_its_refusal_is_small() {
    let test = TestApp::with_market().await;
    let body = format!("{{\"ids\":[{}]}}", vec!["1"; 900].join(","));
    let reply = test
        .ask(
            sent(
                &Principal::Anonymous.to_json(),
                ("POST", "/v1/vaults/batch"),
                body.as_bytes(),
                &[("content-type", headers::JSON)],
                wall(),
            )
            .request,
        )
        .await;
    assert_eq!(
        (reply.status, reply.json()["error"]["details"].as_array().unwrap().len()),
        (StatusCode::BAD_REQUEST, 20)
    );
    assert!(reply.body.len() < 16 << 10, "{} bytes", reply.body.len());
}
