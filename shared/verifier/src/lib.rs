//! Verifies signed decisions step by step on the user's own machine: in a browser, in Node, or in Rust. Reads on their chains again what
//! scores rest on.
//!
//! The verifier makes no requests; [`read_again`] says which ones its host is to send. Answers of the service are inputs like any other text and count only where a hash or a
//! signature confirms them. The rules come from [`rds_shared::graph`]; this crate parses pasted texts and reports what was
//! compared.
//!
//! | module | subject |
//! |---|---|
//! | [`input`] | the accepted forms of a decision |
//! | [`envelope`] | the envelope, its id, its signature, and the signer registry |
//! | [`content`] | data that the envelope contains as hashes: positions, findings, the snapshot |
//! | [`published`] | hashes recomputed from published data |
//! | [`read_again`] | inputs of scores that were read on a chain, and nodes that confirm them |
//! | [`report`] | the steps and the overall outcome |
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

pub mod content;
pub mod envelope;
pub mod input;
pub mod published;
pub mod read_again;
pub mod report;

use input::{ParsedEvidence, Unreadable};
use report::Report;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};

/// The input of a verification: JSON texts as received or pasted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// A check's answer, its `decision`, or a bare envelope.
    pub decision: String,
    /// The decision's id from another source, if known; 64 hex characters.
    pub decision_id: Option<String>,
    /// The signature, if `decision` does not contain it.
    pub signature: Option<String>,
    /// The signer registry: the answer of `/v1/graph/signers`.
    pub signers: Option<String>,
    /// The check's request body, or its positions alone.
    pub request: Option<String>,
    /// The check's answer, if `decision` is not the answer.
    pub findings: Option<String>,
    /// The snapshot's manifest: the answer of `/v1/graph/snapshot/{id}`.
    pub snapshot: Option<String>,
}

/// Runs every step that the evidence allows.
///
/// # Errors
/// If `decision` has none of the accepted forms or `decisionId` is not an id. Other unreadable inputs are reported by their step.
pub fn verify(evidence: &Evidence) -> Result<Report, Unreadable> {
    let input = ParsedEvidence::read(evidence)?;
    let (steps, result) = envelope::steps(&input);
    let content = content::steps(&input, result.envelope.as_ref());
    Ok(Report::of(result, steps.into_iter().chain(content).collect()))
}

/// `verify` for JavaScript: takes and returns plain objects, and throws an `Error` that names the unreadable input.
#[wasm_bindgen(js_name = verify)]
pub fn verify_js(evidence: JsValue) -> Result<JsValue, JsError> {
    let evidence: Evidence = serde_wasm_bindgen::from_value(evidence)?;
    let report = verify(&evidence)?;
    // Writes null rather than undefined, like every answer of the service.
    let plain = serde_wasm_bindgen::Serializer::json_compatible();
    Ok(report.serialize(&plain)?)
}
