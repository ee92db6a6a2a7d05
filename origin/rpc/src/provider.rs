//! One provider: JSON-RPC requests with a deadline, a bounded body and a budget.

use crate::budget::{self, Budget};
use crate::file::Endpoint;
use crate::meters::{Kind, OperatorMeter};
use crate::units::{Method, Units};
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
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Longest time for one request, from its start to the last byte of the body.
pub const DEADLINE: Duration = Duration::from_secs(20);
/// Largest body that is read, in bytes: an answer of the reader has at most half a megabyte as hexadecimal.
pub const MAX_BODY: usize = 4 << 20;
/// Shortest and longest time for which a provider is waited for once the others suffice.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// Number of requests from which the usual time of an answer is known.
const REMEMBERED: usize = 64;
/// How long a provider that refused a batch gets single requests.
const WITHOUT_BATCHES: Duration = Duration::from_secs(600);

/// A JSON-RPC provider.
pub struct Provider {
    operator: String,
    /// May contain a key.
    uri: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    state: Mutex<State>,
    units: Units,
    meter: Arc<OperatorMeter>,
    started: Instant,
    next_id: AtomicU64,
}

struct State {
    budget: Budget,
    /// How long the last answers took.
    latencies: VecDeque<Duration>,
    /// How often in a row it was given up as slow, and until when it is not waited for.
    slow: u32,
    slow_until: Duration,
    no_batches_until: Duration,
}

/// A request that is under way. If it is dropped before it is over, it was given up.
struct Pending<'a> {
    provider: &'a Provider,
    sent: Duration,
    is_over: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.provider.give_up(self.sent);
        }
    }
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
    pub(crate) fn new(endpoint: &Endpoint, meter: Arc<OperatorMeter>) -> Result<Self, BadAddress> {
        let uri = endpoint.url.as_str().parse().map_err(|_| BadAddress)?;
        let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
        Ok(Provider {
            operator: endpoint.operator.clone(),
            uri,
            client: Client::builder(TokioExecutor::new()).build(connector),
            state: Mutex::new(State {
                budget: Budget::new(endpoint.requests_per_second, endpoint.units_per_second),
                latencies: VecDeque::new(),
                slow: 0,
                slow_until: Duration::ZERO,
                no_batches_until: Duration::ZERO,
            }),
            units: endpoint.units.clone(),
            meter,
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
        self.state().budget.is_closed(self.started.elapsed())
    }

    /// How long this provider is waited for once the others suffice: as long as 95 of 100 of its answers took, within bounds. One that is
    /// not known yet gets the longest time, one that failed last the shortest, and one that was slow none for a while.
    pub(crate) fn patience(&self) -> Duration {
        let (state, now) = (self.state(), self.started.elapsed());
        match state.usual_latency() {
            _ if now < state.slow_until => Duration::ZERO,
            _ if state.budget.is_failing() || state.slow > 0 => PATIENCE.0,
            Some(usual) => usual.clamp(PATIENCE.0, PATIENCE.1),
            None => PATIENCE.1,
        }
    }

    /// Counts a failure that only the content of an answer shows.
    pub(crate) fn count(&self, kind: Kind) {
        self.meter.count(kind);
    }

    /// Sends the request whose body `body` makes from its id, and returns the result. Waits for the budget first, unless the provider is closed:
    /// then it fails at once, as the provider would.
    pub async fn call(&self, method: Method, body: impl FnOnce(u64) -> String) -> Result<Box<RawValue>, Failure> {
        self.admit(self.units.of(method)).await?;
        let id = self.next_id.fetch_add(1, Relaxed);
        let read = |response: Response<'_>| {
            let outcome = failure::read(response, id).map(ToOwned::to_owned);
            if let Err(failure) = &outcome {
                self.count_failure(failure, response.status);
            }
            outcome
        };
        self.send(body(id), read, |outcome| outcome.as_ref().err().cloned()).await
    }

    /// Whether requests may be sent as a batch: not for a while after the provider refused one.
    pub(crate) fn serves_batches(&self) -> bool {
        self.state().no_batches_until <= self.started.elapsed()
    }

    /// Sends the requests, of which each is a method and a body made from its id, as one batch. Each has an outcome of its own, in their order.
    ///
    /// # Errors
    /// If the batch as a whole failed: with [`Failure::Unsupported`] if the provider serves no batches, and with [`Failure::Size`] if the
    /// answers together are too long.
    pub(crate) async fn batch(
        &self,
        methods: &[Method],
        body: impl Fn(usize, u64) -> String,
    ) -> Result<Vec<Result<Box<RawValue>, Failure>>, Failure> {
        self.admit(methods.iter().fold(0, |sum, method| sum.saturating_add(self.units.of(*method)))).await?;
        let many = u64::try_from(methods.len()).unwrap_or(u64::MAX);
        let first = self.next_id.fetch_add(many, Relaxed);
        let ids: Vec<u64> = (first..first.saturating_add(many)).collect();
        let bodies: Vec<String> = ids.iter().enumerate().map(|(place, id)| body(place, *id)).collect();
        let read = |response: Response<'_>| match failure::read_batch(response, &ids) {
            Ok(outcomes) => {
                for failure in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
                    self.count_failure(failure, response.status);
                }
                Ok(outcomes.into_iter().map(|outcome| outcome.map(ToOwned::to_owned)).collect())
            }
            Err(failure) => {
                self.count_failure(&failure, response.status);
                if failure == Failure::Unsupported {
                    self.state().no_batches_until = self.started.elapsed() + WITHOUT_BATCHES;
                }
                Err(failure)
            }
        };
        let worst = |outcome: &Result<Vec<Result<_, Failure>>, Failure>| match outcome {
            Ok(outcomes) => {
                let mut limits = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
                limits.find(|failure| matches!(failure, Failure::RateLimited { .. } | Failure::Forbidden)).cloned()
            }
            Err(failure) => Some(failure.clone()),
        };
        self.send(format!("[{}]", bodies.join(",")), read, worst).await
    }

    async fn admit(&self, units: u32) -> Result<(), Failure> {
        loop {
            let wait = {
                let (mut state, now) = (self.state(), self.started.elapsed());
                if state.budget.is_closed(now) {
                    return Err(Failure::RateLimited { retry_after: None });
                }
                match state.budget.take(units, now) {
                    Ok(()) => {
                        self.meter.requests.fetch_add(1, Relaxed);
                        self.meter.units.fetch_add(units.into(), Relaxed);
                        return Ok(());
                    }
                    Err(wait) => wait,
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends a body, reads the response within the deadline, and records the outcome; `failed` says what of it counts as a failure.
    async fn send<T>(
        &self,
        body: String,
        read: impl FnOnce(Response<'_>) -> Result<T, Failure>,
        failed: impl FnOnce(&Result<T, Failure>) -> Option<Failure>,
    ) -> Result<T, Failure> {
        let mut pending = Pending { provider: self, sent: self.started.elapsed(), is_over: false };
        let outcome = match tokio::time::timeout(DEADLINE, self.exchange(body, read)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.count(Kind::Timeout);
                Err(Failure::Transport)
            }
        };
        pending.is_over = true;
        let (failure, now) = (failed(&outcome), self.started.elapsed());
        let mut state = self.state();
        state.budget.record(failure.as_ref().map_or(Ok(()), Err), pending.sent, now);
        if failure.is_none() {
            state.remember(now.saturating_sub(pending.sent));
        }
        outcome
    }

    async fn exchange<T>(
        &self,
        body: String,
        read: impl FnOnce(Response<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let no_connection = || {
            self.count(Kind::Connection);
            Failure::Transport
        };
        let request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| no_connection())?;
        let (head, body) = self.client.request(request).await.map_err(|_| no_connection())?.into_parts();
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        // A body that breaks off is damaged, whatever arrived of it; one that is too long fails as the provider's own limit would.
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                self.count(Kind::Size);
                return Err(Failure::Size);
            }
            Err(_) => return Err(no_connection()),
        };
        read(Response { status: head.status.as_u16(), retry_after, body: &body })
    }

    fn count_failure(&self, failure: &Failure, status: u16) {
        if let Some(kind) = Kind::of(failure, status) {
            self.count(kind);
        }
    }

    /// A request that was sent at `sent` is given up. If it took longer than usual, the next readings do not wait for the provider. They
    /// still ask it: being slow is no failure, and its answers may be needed.
    fn give_up(&self, sent: Duration) {
        let now = self.started.elapsed();
        let mut state = self.state();
        let usual = state.usual_latency().unwrap_or(PATIENCE.0).max(PATIENCE.0);
        let waited = now.saturating_sub(sent);
        if waited < usual {
            self.meter.given_up.fetch_add(1, Relaxed);
            return;
        }
        self.count(Kind::Slow);
        // Requests that were under way together count once.
        if sent >= state.slow_until {
            let pause = budget::pause(state.slow).max(waited);
            state.slow = state.slow.saturating_add(1);
            state.slow_until = now + pause;
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing that holds the lock panics.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    fn remember(&mut self, latency: Duration) {
        if self.latencies.len() >= REMEMBERED {
            self.latencies.pop_front();
        }
        self.latencies.push_back(latency);
        (self.slow, self.slow_until) = (0, Duration::ZERO);
    }

    /// The time within which 95 of 100 of the last answers came; `None` without an answer.
    fn usual_latency(&self) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.latencies.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get((sorted.len() * 95).div_ceil(100).checked_sub(1)?).copied()
    }
}
