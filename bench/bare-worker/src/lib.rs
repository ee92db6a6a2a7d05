//! A minimal Rust Worker: answers every request with the same bytes, from the binding `BODY`.

use std::sync::OnceLock;

use worker::{Context, Env, Headers, Request, Response, Result, event};

static BODY: OnceLock<Vec<u8>> = OnceLock::new();

/// Answers with the value of `BODY`, labelled as JSON. The binding is read once per isolate.
#[event(fetch)]
pub async fn fetch(_request: Request, env: Env, _context: Context) -> Result<Response> {
    let body = match BODY.get() {
        Some(body) => body,
        None => {
            let text = env.var("BODY")?.to_string();
            BODY.get_or_init(|| text.into_bytes())
        }
    };
    let headers = Headers::new();
    headers.set("content-type", "application/json")?;
    Ok(Response::from_bytes(body.clone())?.with_headers(headers))
}
