//! Calls the origin for a caller, and probes the origin when a call is slow or fails.
//!
//! A caller's request may be slow or fail for reasons of its own, so it never counts against the origin. It only triggers a probe
//! ([`UnsignedCall::alive`]), and the probe's outcome opens or closes the breaker.

use crate::cache::Entry;
use crate::cache_or_origin::Failure;
use crate::origin_link::breaker::{Breaker, Permit};
use crate::origin_link::retry::{CallOutcome, exchange};
use crate::origin_link::signed_call::{CallStamp, OriginAnswer, ResponseKind, UnsignedCall};
use crate::pipeline::{OriginRequest, RequestContext};
use crate::ports::{Guards, Host, Inbound, MAX_HOST_TIMEOUT, NoAnswer};
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;
use rds_shared::route::{Method, RouteId, Tag, TagVersions};
use rds_shared::wire::headers::TRACEPARENT;
use rds_shared::wire::traceparent::TraceParent;
use rds_shared::wire::{RequestId, Timestamp};

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probed {
    Alive,
    /// The origin could not be reached or did not answer in time.
    Away,
    /// The probe was inconclusive, or another request is probing.
    Undecided,
}

/// Reports the outcome of a probe to the breaker.
pub fn report_to_breaker(breaker: &mut Breaker, now: Timestamp, outcome: &CallOutcome) -> Probed {
    match outcome {
        CallOutcome::Answered(_) | CallOutcome::Refused { is_signed: true } => {
            breaker.succeeded();
            Probed::Alive
        }
        CallOutcome::None(NoAnswer::Timeout) => {
            breaker.hung(now);
            Probed::Away
        }
        outcome if outcome.is_suspicious() => {
            breaker.failed(now);
            Probed::Away
        }
        _ => {
            breaker.undecided();
            Probed::Undecided
        }
    }
}

/// The log line of a probe; `None` if the origin answered.
pub fn probe_line(request_id: RequestId, outcome: &CallOutcome) -> Option<String> {
    Some(format!("{request_id} probe of the origin failed: {}", outcome.log_line()?))
}

/// Whether a route reports the service's health. Its caller is often a load balancer and must not wait long.
const fn is_health_route(route: RouteId) -> bool {
    matches!(route, RouteId::Status | RouteId::Ready | RouteId::Health)
}

enum First<L, R> {
    Left(L),
    Right(R),
}

/// Waits for the first future to be ready. Both are borrowed, so the other can be awaited later.
async fn first<L: Future, R: Future>(mut left: Pin<&mut L>, mut right: Pin<&mut R>) -> First<L::Output, R::Output> {
    poll_fn(|cx| match left.as_mut().poll(cx) {
        Poll::Ready(left) => Poll::Ready(First::Left(left)),
        Poll::Pending => right.as_mut().poll(cx).map(First::Right),
    })
    .await
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Calls the origin if the breaker allows it; the answer must include the changes up to `known`. With a cached `copy` the call is
    /// conditional. If a stale response can be served, or on a health route, the timeout is the shorter of the origin timeout and the read deadline.
    pub(crate) async fn ask(
        &self,
        asked: &OriginRequest,
        copy: Option<&Entry>,
        known: &TagVersions,
    ) -> Result<OriginAnswer, Failure> {
        let is_urgent = copy.is_some() || self.has_stale_rows(asked) || is_health_route(asked.route.id);
        self.pass_breaker(is_urgent).await?;
        let etag = copy.and_then(|copy| copy.headers.get("etag"));
        let question = self.question(asked, etag, known);
        let limit = match is_urgent {
            true => self.config.origin_timeout.min(self.config.read_deadline),
            false => self.config.read_deadline,
        };
        let outcome = self.ask_while_alive(&question, limit).await;
        if let Some(line) = outcome.log_line() {
            self.host.log(&format!("{} {line}", self.request_id));
        }
        let answer = match outcome {
            CallOutcome::Answered(answer) => answer,
            CallOutcome::None(NoAnswer::Timeout) => return Err(Failure::Timeout),
            CallOutcome::None(NoAnswer::Unreachable(_)) | CallOutcome::Refused { .. } | CallOutcome::Foreign { .. } => {
                return Err(Failure::Unreachable);
            }
        };
        self.isolate.breaker.borrow_mut().succeeded();
        // The origin counts its own answers.
        self.uncounted.set(true);
        match answer.meaning(etag.is_some()) {
            ResponseKind::Authoritative | ResponseKind::NotModified => Ok(answer),
            ResponseKind::OriginError => {
                self.host.log(&format!("{} the origin answered {}", self.request_id, answer.status));
                Err(Failure::Unable(answer))
            }
            ResponseKind::Unexpected => {
                self.host.log(&format!(
                    "{} the origin answered with the unexpected status {}",
                    self.request_id, answer.status
                ));
                Err(Failure::Unreachable)
            }
        }
    }

    /// Builds the request to the origin for this caller.
    fn question(&self, asked: &OriginRequest, etag: Option<&str>, known: &TagVersions) -> UnsignedCall {
        let (method, principal) = (asked.route.method, asked.principal.to_json());
        let mut question = UnsignedCall::new(method, &asked.target, asked.body.clone(), principal, self.request_id)
            .unless(etag)
            .not_older_than(&known.with(Tag::FailSafe, self.isolate.tag_lease.borrow().known().of(Tag::FailSafe)));
        if asked.route.streams() {
            question = question.streaming();
        }
        if let Some(trace) = self.trace() {
            question = question.with(TRACEPARENT, &trace.to_text());
        }
        for (name, value) in &asked.forwarded_headers {
            question = question.with(name, value);
        }
        question.is_repeatable = match asked.route.id {
            // Both routes only read and compute. A decision's id is a hash of its content, so repeating a check creates no second decision.
            RouteId::VaultBatch | RouteId::GraphCheck => true,
            // With an idempotency key the origin creates the object once and repeats its answer.
            RouteId::WebhookCreate | RouteId::BasketWebhookCreate => asked.is_named(),
            _ => method == Method::Get,
        };
        question
    }

    /// The trace of this request, if it is sampled, with the id of the span of its call. The caller decides nothing but the trace's id, and
    /// only if the configuration allows it. `entry.mjs` sends the edge's spans and decides in the same way.
    fn trace(&self) -> Option<TraceParent> {
        if !self.config.trace_ratio.records(self.request_id) || self.inbound.is_made_for_caller() {
            return None;
        }
        let [a, b, c, d, e, f, g, h, ..] = self.host.random();
        let of_caller = self.config.trace_callers.then(|| self.inbound.header(TRACEPARENT)).flatten();
        let of_caller = of_caller.filter(|text| text.starts_with("00-")).and_then(|text| TraceParent::parse(&text));
        let trace_id = of_caller.map_or(self.request_id.to_bytes(), |parent| parent.trace_id);
        Some(TraceParent { trace_id, span_id: [a, b, c, d, e, f, g, h], sampled: true })
    }

    /// Asks the breaker for permission. Once an open breaker's time is over, the first request probes the origin. An urgent request does
    /// not wait for the probe: the probe runs in the background, and the request is refused.
    async fn pass_breaker(&self, is_urgent: bool) -> Result<(), Failure> {
        let permit = self.isolate.breaker.borrow_mut().permit(self.host.now());
        let held_off = match permit {
            Permit::Call => return Ok(()),
            Permit::Refused { retry_after } => retry_after,
            Permit::Probe if is_urgent => {
                self.host.probe_later(self.request_id, self.patience().1);
                1
            }
            Permit::Probe => match self.send_probe().await {
                Probed::Alive | Probed::Undecided => return Ok(()),
                Probed::Away => match self.isolate.breaker.borrow_mut().permit(self.host.now()) {
                    Permit::Refused { retry_after } => retry_after,
                    Permit::Call | Permit::Probe => 1,
                },
            },
        };
        Err(Failure::HeldOff { retry_after: held_off })
    }

    /// Calls the origin, and probes it if the answer is slow or the call fails, so that a caller does not wait long for a dead origin.
    async fn ask_while_alive(&self, question: &UnsignedCall, limit: Duration) -> CallOutcome {
        let (patience, _) = self.patience();
        let patience = patience.min(limit);
        let mut asking = pin!(self.exchange(question, limit));
        if let First::Left(outcome) = first(asking.as_mut(), pin!(self.host.wait(patience))).await {
            return self.with_suspicion(outcome).await;
        }
        match first(asking.as_mut(), pin!(self.probe())).await {
            First::Left(outcome) => return self.with_suspicion(outcome).await,
            First::Right(Probed::Away) => {
                return CallOutcome::None(NoAnswer::Unreachable(
                    "it accepts connections but does not answer".to_owned(),
                ));
            }
            First::Right(Probed::Alive | Probed::Undecided) => {}
        }
        // The origin is alive, so a timeout from here on is due to this request.
        match first(asking.as_mut(), pin!(self.host.wait(limit.saturating_sub(patience)))).await {
            First::Left(CallOutcome::None(NoAnswer::Timeout)) | First::Right(()) => {
                CallOutcome::None(NoAnswer::Timeout)
            }
            First::Left(outcome) => self.with_suspicion(outcome).await,
        }
    }

    /// Probes the origin if `outcome` suggests that it is down and no other probe is in progress.
    async fn with_suspicion(&self, outcome: CallOutcome) -> CallOutcome {
        let (_, limit) = self.patience();
        if outcome.is_suspicious() && self.isolate.breaker.borrow_mut().begins_probe(self.host.now(), limit) {
            self.send_probe().await;
        }
        outcome
    }

    /// Probes the origin. If another request is probing, waits for that result instead.
    async fn probe(&self) -> Probed {
        let (_, limit) = self.patience();
        if self.isolate.breaker.borrow_mut().begins_probe(self.host.now(), limit) {
            return self.send_probe().await;
        }
        self.host.wait(limit).await;
        if self.isolate.breaker.borrow().is_open(self.host.now()) { Probed::Away } else { Probed::Undecided }
    }

    /// Sends a probe and reports its outcome to the breaker.
    async fn send_probe(&self) -> Probed {
        let (_, limit) = self.patience();
        let outcome = self.exchange(&UnsignedCall::alive(self.request_id), limit).await;
        if let Some(line) = probe_line(self.request_id, &outcome) {
            self.host.log(&line);
        }
        report_to_breaker(&mut self.isolate.breaker.borrow_mut(), self.host.now(), &outcome)
    }

    async fn exchange(&self, question: &UnsignedCall, limit: Duration) -> CallOutcome {
        let seal = || CallStamp { now: self.host.now(), nonce: self.host.random() };
        let send = async |call: &_, limit| self.host.call(call, limit).await;
        exchange(&self.config.assertion_key, question, limit, seal, send).await
    }

    /// The wait before a slow answer triggers a probe, and the probe's timeout. Their sum is the longest wait of a caller for a dead
    /// origin.
    fn patience(&self) -> (Duration, Duration) {
        let probe =
            self.config.origin_timeout.checked_div(5).unwrap_or_default().saturating_mul(2).min(MAX_HOST_TIMEOUT);
        (self.config.origin_timeout.saturating_sub(probe), probe)
    }
}
