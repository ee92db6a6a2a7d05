//! A stub origin that serves one decision's evidence until this process ends.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, ETAG};
use rds_shared::access::{AnswerHead, Assertion, AssertionKey, BodyDigest, signed_headers};
use rds_shared::wire::headers;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// Cache lifetime at the edge; longer than a benchmark.
const LIFETIME: &str = "max-age=86400";

/// Starts the stub on a loopback port and returns its address. It signs its answers with `key`, as the edge requires.
pub fn start(evidence: &str, key: AssertionKey) -> Result<SocketAddr> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let body = evidence.to_owned();
    let answer = move |sent: HeaderMap| async move {
        let said = [
            (CONTENT_TYPE.as_str(), headers::JSON),
            (headers::CDN_CACHE_CONTROL, LIFETIME),
            (ETAG.as_str(), "W/\"evidence\""),
        ];
        let assertion = sent.get(headers::ASSERTION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let nonce = Assertion::parse(assertion).map(|assertion| assertion.nonce().to_owned()).unwrap_or_default();
        let headers = signed_headers(said.map(|(name, value)| (name, Some(value))));
        let head = AnswerHead { nonce: &nonce, status: 200, headers };
        let signature = key.sign_answer(&head, Some(&BodyDigest::of(body.as_bytes())));
        ([(headers::ANSWER, signature)], said, body)
    };
    std::thread::spawn(move || runtime.block_on(async { axum::serve(listener, Router::new().fallback(answer)).await }));
    Ok(address)
}
