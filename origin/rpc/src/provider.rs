//! One provider: JSON-RPC requests with a deadline, a bounded body and a budget.

use crate::budget::Budget;
use crate::file::Endpoint;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rds_chain::failure::{self, Failure, Response};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Longest time for one request, from its start to the last byte of the body.
pub const DEADLINE: Duration = Duration::from_secs(20);
/// Largest body that is read, in bytes: an answer of the reader has at most half a megabyte as hexadecimal.
pub const MAX_BODY: usize = 4 << 20;

/// A JSON-RPC provider.
pub struct Provider {
    operator: String,
    /// May contain a key.
    uri: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    budget: Mutex<Budget>,
    started: Instant,
    next_id: AtomicU64,
}

/// Without the address, which may contain a key.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("operator", &self.operator).finish_non_exhaustive()
    }
}

/// The address of a provider is not one that the HTTP client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address of the provider is not accepted by the HTTP client")]
pub struct BadAddress;

impl Provider {
    /// A provider with connections of its own. Redirects are not followed, so that a key reaches only the configured host.
    ///
    /// # Errors
    /// If the HTTP client does not accept the address.
    #[expect(clippy::disallowed_methods, reason = "the budget needs durations only")]
    pub fn new(endpoint: &Endpoint) -> Result<Self, BadAddress> {
        let uri = endpoint.url.as_str().parse().map_err(|_| BadAddress)?;
        let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
        Ok(Provider {
            operator: endpoint.operator.clone(),
            uri,
            client: Client::builder(TokioExecutor::new()).build(connector),
            budget: Mutex::new(Budget::new(endpoint.requests_per_second)),
            started: Instant::now(),
            next_id: AtomicU64::new(1),
        })
    }

    /// Who runs the provider.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Whether the provider is not asked now, because it failed or limits the rate.
    pub fn is_closed(&self) -> bool {
        self.budget().is_closed(self.started.elapsed())
    }

    /// Sends the request whose body `body` makes from its id, and returns the result. Waits for the budget first, unless the provider is closed:
    /// then it fails at once, as the provider would.
    pub async fn call(&self, body: impl FnOnce(u64) -> String) -> Result<Box<RawValue>, Failure> {
        self.admit().await?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let outcome = match tokio::time::timeout(DEADLINE, self.exchange(id, body(id))).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::Transport),
        };
        self.budget().record(outcome.as_ref().map(|_| ()), self.started.elapsed());
        outcome
    }

    async fn admit(&self) -> Result<(), Failure> {
        loop {
            let wait = {
                let (mut budget, now) = (self.budget(), self.started.elapsed());
                if budget.is_closed(now) {
                    return Err(Failure::RateLimited { retry_after: None });
                }
                match budget.take(now) {
                    Ok(()) => return Ok(()),
                    Err(wait) => wait,
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn exchange(&self, id: u64, body: String) -> Result<Box<RawValue>, Failure> {
        let request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| Failure::Transport)?;
        let (head, body) = self.client.request(request).await.map_err(|_| Failure::Transport)?.into_parts();
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        // A body that breaks off is damaged, whatever arrived of it; one that is too long fails as the provider's own limit would.
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => return Err(Failure::Size),
            Err(_) => return Err(Failure::Transport),
        };
        let response = Response { status: head.status.as_u16(), retry_after, body: &body };
        failure::read(response, id).map(ToOwned::to_owned)
    }

    fn budget(&self) -> std::sync::MutexGuard<'_, Budget> {
        // Nothing that holds the lock panics.
        self.budget.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
