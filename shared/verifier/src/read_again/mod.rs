//! Reads a vault's inputs, or the answers about an asset, on their chains again, through endpoints that the user trusts.
//!
//! The host sends the requests: [`Session::next`] says what to send, [`Session::answered`] and [`Session::failed`] take what came back, and
//! [`Session::report`] gives the verdict. Which chain and block an endpoint has is asked first, then every call at the block's hash.
//!
//! | module | subject |
//! |---|---|
//! | [`document`] | the inputs of a vault's score in an answer of the service |
//! | [`asset`] | the answers about an asset in one |
//! | [`evidence`] | block and calls of one input |
//! | [`plan`] | what has to be asked, each question once |
//! | [`endpoint`] | the conversation with one endpoint |
//! | [`judge`] | whether an answer is the published one |
//! | [`value`] | whether a value follows from the answers |
//! | [`report`] | the verdicts |
//! | [`score`] | whether the scores follow from the inputs, which `vault_input` reads |
//!
//! # Invariants
//!
//! - Only a statement of a node about the chain contradicts an input. A failure of the node, whatever it is, leaves the input unchecked.
//! - An input is confirmed only if every endpoint has its block and gave every published answer, and nothing else follows from these answers.

pub mod asset;
pub mod document;
pub mod endpoint;
pub mod evidence;
pub mod judge;
pub mod plan;
pub mod report;
pub mod score;
pub mod value;
mod vault_input;

use crate::input::{Unreadable, unreadable};
use crate::report::Step;
use document::{Document, Provenance};
use endpoint::{Endpoint, NextRequest, Silence};
use plan::Plan;
use report::ReadReport;
use serde::Serialize;
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};

/// Most endpoints of one session.
pub const MAX_ENDPOINTS: usize = 8;

/// The inputs of one vault or the answers about one asset, and everything that the endpoints answered so far.
#[derive(Debug)]
pub struct Session {
    document: Document,
    plan: Plan,
    endpoints: Vec<Endpoint>,
    score: Option<Step>,
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Requests that are finished.
    pub done: u32,
    /// Requests that all endpoints together are sent if each has every block.
    pub of: u32,
}

impl Session {
    /// `text` is an answer of the service, or a part of it that [`asset::read`] or [`Provenance::read`] accepts; `endpoints` are the names of
    /// the endpoints in reports.
    ///
    /// # Errors
    /// If there are neither answers nor a provenance in the text, or no endpoint. Evidence that cannot be read is reported with its input.
    pub fn new(text: &str, endpoints: Vec<String>) -> Result<Self, Unreadable> {
        if !(1..=MAX_ENDPOINTS).contains(&endpoints.len()) {
            return unreadable(format!("Give from 1 to {MAX_ENDPOINTS} endpoints."));
        }
        let (document, score) = match asset::read(text.trim())? {
            Some(document) => (document, None),
            None => {
                let provenance = Provenance::read(text.trim())?;
                (provenance.document()?, Some(score::step(&provenance)))
            }
        };
        let plan = Plan::new(&document)?;
        let endpoints = endpoints.into_iter().map(|name| Endpoint::new(name, &plan)).collect();
        Ok(Session { document, plan, endpoints, score })
    }

    /// The next request to this endpoint. `None` until an answer to an open request is recorded, and at the end.
    pub fn next(&mut self, endpoint: usize) -> Option<NextRequest> {
        self.endpoints.get_mut(endpoint)?.next(&self.plan)
    }

    /// Records an answer. Returns the milliseconds to wait before anything more is sent to this endpoint.
    pub fn answered(&mut self, endpoint: usize, id: u32, status: u16, retry_after: Option<&str>, text: &str) -> u32 {
        let plan = &self.plan;
        self.endpoints.get_mut(endpoint).map_or(0, |it| it.answered(id, status, retry_after, text, plan))
    }

    /// Records that no answer arrived. Returns the milliseconds to wait before anything more is sent to this endpoint.
    pub fn failed(&mut self, endpoint: usize, id: u32, why: Silence) -> u32 {
        let plan = &self.plan;
        self.endpoints.get_mut(endpoint).map_or(0, |it| it.failed(id, why, plan))
    }

    pub fn progress(&self) -> Progress {
        let done = self.endpoints.iter().map(Endpoint::finished).fold(0, u32::saturating_add);
        let endpoints = u32::try_from(self.endpoints.len()).unwrap_or(u32::MAX);
        Progress { done, of: self.plan.requests().saturating_mul(endpoints) }
    }

    /// The verdicts. What was not asked or not answered counts as not checked.
    pub fn report(&self) -> ReadReport {
        ReadReport::of(self)
    }
}

/// [`Session`] for JavaScript.
#[wasm_bindgen]
#[derive(Debug)]
pub struct ReadAgain(Session);

#[wasm_bindgen]
impl ReadAgain {
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, endpoints: Vec<String>) -> Result<ReadAgain, JsError> {
        Ok(ReadAgain(Session::new(text, endpoints)?))
    }

    /// `{id, body}`, or null.
    pub fn next(&mut self, endpoint: usize) -> Result<JsValue, JsError> {
        plain(&self.0.next(endpoint))
    }

    pub fn answered(&mut self, endpoint: usize, id: u32, status: u16, retry_after: Option<String>, text: &str) -> u32 {
        self.0.answered(endpoint, id, status, retry_after.as_deref(), text)
    }

    /// `why` is `timeout`, `too_large`, or anything else for an endpoint that cannot be reached.
    pub fn failed(&mut self, endpoint: usize, id: u32, why: &str) -> u32 {
        let why = match why {
            "timeout" => Silence::Timeout,
            "too_large" => Silence::TooLarge,
            _ => Silence::Unreachable,
        };
        self.0.failed(endpoint, id, why)
    }

    /// `{done, of}`.
    pub fn progress(&self) -> Result<JsValue, JsError> {
        plain(&self.0.progress())
    }

    pub fn report(&self) -> Result<JsValue, JsError> {
        plain(&self.0.report())
    }
}

/// A plain object, with null rather than undefined.
fn plain(value: &impl Serialize) -> Result<JsValue, JsError> {
    Ok(value.serialize(&serde_wasm_bindgen::Serializer::json_compatible())?)
}
