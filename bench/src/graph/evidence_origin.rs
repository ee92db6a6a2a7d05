//! An origin that has one decision's evidence and nothing else, for as long as this process lives.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::http::header::{CONTENT_TYPE, ETAG};
use rds_shared::wire::headers;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// How long the edge may keep it: for the whole of a measurement.
const KEPT: &str = "max-age=86400";

/// Starts it on a loopback port; says where it listens.
pub fn start(evidence: &str) -> Result<SocketAddr> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let body = evidence.to_owned();
    let answer = move || async move {
        (
            [
                (CONTENT_TYPE.as_str(), headers::JSON),
                (headers::CDN_CACHE_CONTROL, KEPT),
                (ETAG.as_str(), "W/\"evidence\""),
            ],
            body,
        )
    };
    std::thread::spawn(move || runtime.block_on(async { axum::serve(listener, Router::new().fallback(answer)).await }));
    Ok(address)
}
