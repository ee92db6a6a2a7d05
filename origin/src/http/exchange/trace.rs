//! The listener and connection of a request, and the properties of the request that are known so far.

use crate::http::exchange::signing::AnswerSigner;
use crate::http::transport::connection_state::ConnectionState;
use crate::listener::Listener;
use crate::metrics::{Caller, Label};
use crate::telemetry::CredentialId;
use crate::traces::{Span, SpanContext};
use rds_engine::clock::Stopwatch;
use rds_shared::access::Principal;
use rds_shared::access::budget::Verdict;
use rds_shared::wire::RequestId;
use std::net::IpAddr;

/// The listener and connection of a request.
#[derive(Debug, Clone)]
pub struct Ingress {
    pub listener: Listener,
    /// The address that connected.
    pub peer: IpAddr,
    pub line: ConnectionState,
    /// The nonce of the request's edge assertion, once the assertion is verified; `None` on the other listeners.
    pub nonce: Option<[u8; 16]>,
}

impl Ingress {
    /// A request on a new connection.
    pub fn new(listener: Listener, peer: IpAddr) -> Self {
        Ingress { listener, peer, line: ConnectionState::default(), nonce: None }
    }
}

/// Properties of a request, filled in as they become known. They are kept outside the handler, so that a panic does not lose
/// them.
#[derive(Debug)]
pub struct Trace {
    /// The listener and connection that the request arrived on.
    pub through: Ingress,
    /// The edge's request id, once the assertion is verified; `None` before and on the other listeners.
    pub request_id: Option<RequestId>,
    /// Signs the response, once it is known that the edge made the assertion.
    pub signer: Option<AnswerSigner>,
    /// Whether the connection closes after the response.
    pub hangs_up: bool,
    /// The label that the request is counted under in the metrics.
    pub label: Label,
    /// The kind of caller, as far as it is known.
    pub caller: Caller,
    /// The number of the caller's key or token, as far as it is known; never its text.
    pub credential: Option<CredentialId>,
    /// The verdict of the rate limit, if this process metered the request.
    pub verdict: Option<Verdict>,
    /// The time since the request's head was read.
    pub watch: Stopwatch,
    /// The request's span, if its trace is recorded.
    pub span: Option<Span>,
    /// Parameters that the route does not have, as the text of the response header.
    pub ignored: Option<String>,
}

impl Trace {
    /// The trace of a request of which nothing has been read.
    pub fn new(through: Ingress) -> Self {
        Trace {
            through,
            request_id: None,
            signer: None,
            hangs_up: false,
            label: Label::Unmatched,
            caller: Caller::Unknown,
            credential: None,
            verdict: None,
            watch: Stopwatch::start(),
            span: None,
            ignored: None,
        }
    }

    /// Takes the request's span, which is made once the request's id is known, and returns its place.
    pub fn begin(&mut self, span: Option<Span>) -> Option<SpanContext> {
        self.span = span;
        let span = self.span.as_mut()?;
        span.began_earlier(self.watch.micros());
        Some(span.context())
    }

    /// Notes who makes the request.
    pub fn identify(&mut self, principal: &Principal) {
        self.caller = Caller::from(principal);
        self.credential = CredentialId::of(principal);
    }
}
