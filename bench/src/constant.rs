//! The origin's constant peer: the same axum on the same runtime, which answers every request with the same bytes.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use axum::Router;
use axum::http::header::CONTENT_TYPE;

/// Serves the file's bytes as JSON on a loopback port until the process ends.
pub fn serve(port: u16, body: &Path) -> Result<()> {
    let bytes = std::fs::read(body).with_context(|| format!("cannot read {}", body.display()))?;
    // A static body is not copied before it is written to the socket.
    let bytes: &'static [u8] = Vec::leak(bytes);
    let answer = move || async move { ([(CONTENT_TYPE, "application/json")], bytes) };
    let app = Router::new().fallback(answer);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(axum::serve(listener, app).await?)
    })
}
