//! Request metrics: counts by route and status, latency, and kind of caller.

use super::head;
use super::histogram::Histogram;
use crate::listener::Listener;
use rds_shared::access::Principal;
use rds_shared::route::{ROUTES, Route, RouteId};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Statuses with a cell of their own; all others are counted in the last cell.
const STATUSES: [u16; 18] = [200, 204, 304, 400, 401, 403, 404, 405, 409, 410, 413, 414, 415, 429, 500, 503, 504, 0];

/// The label that a request is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// A route of the table.
    Route(RouteId),
    /// The admin listener.
    Admin,
    /// The edge's own messages.
    EdgeMessage,
    /// The request matched no route, because it was refused before or its path is unknown or malformed.
    Unmatched,
}

impl Label {
    /// The label's text in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Label::Route(id) => id.name(),
            Label::Admin => "Admin",
            Label::EdgeMessage => "EdgeMessage",
            Label::Unmatched => "Unmatched",
        }
    }

    /// The route's row; `None` for a request that no route matched.
    pub fn route(self) -> Option<&'static Route> {
        match self {
            Label::Route(id) => Some(id.route()),
            Label::Admin | Label::EdgeMessage | Label::Unmatched => None,
        }
    }

    fn cell(self) -> usize {
        match self {
            Label::Route(id) => id as usize,
            Label::Admin => ROUTES.len(),
            Label::EdgeMessage => ROUTES.len() + 1,
            Label::Unmatched => ROUTES.len() + 2,
        }
    }
}

/// The kind of caller of a request, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The request was refused before its caller was known.
    Unknown,
    /// A caller without a key.
    Anonymous,
    /// A page on one of the service's own web origins.
    FirstParty,
    /// The holder of a key.
    Key,
    /// The holder of an index token.
    IndexToken,
    /// The edge itself.
    Edge,
    /// An operator, with the token.
    Operator,
    /// A readiness probe.
    Probe,
}

impl Caller {
    const ALL: [Caller; 8] = [
        Caller::Unknown,
        Caller::Anonymous,
        Caller::FirstParty,
        Caller::Key,
        Caller::IndexToken,
        Caller::Edge,
        Caller::Operator,
        Caller::Probe,
    ];

    /// The caller's text in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Caller::Unknown => "unknown",
            Caller::Anonymous => "anonymous",
            Caller::FirstParty => "first_party",
            Caller::Key => "key",
            Caller::IndexToken => "index_token",
            Caller::Edge => "edge",
            Caller::Operator => "operator",
            Caller::Probe => "probe",
        }
    }
}

impl From<&Principal> for Caller {
    fn from(principal: &Principal) -> Self {
        match principal {
            Principal::Anonymous => Caller::Anonymous,
            Principal::FirstParty { .. } => Caller::FirstParty,
            Principal::Key { .. } => Caller::Key,
            Principal::IndexToken { .. } => Caller::IndexToken,
        }
    }
}

#[derive(Debug, Default)]
struct OfLabel {
    by_status: [AtomicU64; STATUSES.len()],
    latency: Histogram,
}

/// Requests of one process.
#[derive(Debug)]
pub struct Requests {
    by_label: Vec<OfLabel>,
    calls: [[AtomicU64; Caller::ALL.len()]; Listener::ALL.len()],
}

impl Default for Requests {
    fn default() -> Self {
        Requests { by_label: (0..ROUTES.len() + 3).map(|_| OfLabel::default()).collect(), calls: Default::default() }
    }
}

impl Requests {
    /// Counts one answered request; `trace` is its trace, if that is recorded.
    pub fn answered(&self, label: Label, status: u16, micros: u64, trace: Option<[u8; 16]>) {
        let Some(requests) = self.by_label.get(label.cell()) else { return };
        let status = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len() - 1);
        requests.by_status[status].fetch_add(1, Relaxed);
        requests.latency.record_traced(micros, trace);
    }

    /// Counts a request by listener and kind of caller.
    pub fn called(&self, listener: Listener, caller: Caller) {
        self.calls[listener as usize][caller as usize].fetch_add(1, Relaxed);
    }

    /// Appends the metrics as Prometheus text.
    pub(super) fn render(&self, out: &mut String, exemplars: bool) {
        self.render_answers(out, exemplars);
        self.render_calls(out);
    }

    fn render_calls(&self, out: &mut String) {
        head(out, "rds_calls_total", "Requests by listener and kind of caller.", "counter");
        for (listener, calls) in Listener::ALL.iter().zip(&self.calls) {
            for (caller, count) in Caller::ALL.iter().zip(calls) {
                let count = count.load(Relaxed);
                if count > 0 {
                    let (listener, caller) = (listener.name(), caller.name());
                    let _ = writeln!(out, "rds_calls_total{{listener=\"{listener}\",caller=\"{caller}\"}} {count}");
                }
            }
        }
    }

    fn render_answers(&self, out: &mut String, exemplars: bool) {
        let labels: Vec<Label> = ROUTES
            .iter()
            .map(|route| Label::Route(route.id))
            .chain([Label::Admin, Label::EdgeMessage, Label::Unmatched])
            .collect();
        head(out, "rds_requests_total", "Requests answered.", "counter");
        for (label, requests) in labels.iter().zip(&self.by_label) {
            for (status, count) in STATUSES.iter().zip(&requests.by_status) {
                let count = count.load(Relaxed);
                if count > 0 {
                    let _ =
                        writeln!(out, "rds_requests_total{{route=\"{}\",status=\"{status}\"}} {count}", label.name());
                }
            }
        }
        head(out, "rds_request_seconds", "Time from the request's head to the response.", "histogram");
        for (label, requests) in labels.iter().zip(&self.by_label).filter(|(_, requests)| requests.latency.count() > 0)
        {
            requests.latency.render(out, "rds_request_seconds", ("route", label.name()), exemplars);
        }
    }
}
