//! Verifies signed decisions on a stranger's own machine and tells each step: in a browser, in Node, or in Rust.
//!
//! Nothing here asks anybody anything. What the service says of a decision is an argument like every other text, and counts
//! only where a hash or a signature bears it out. The rules are those of [`rds_shared::graph`]; this crate reads what
//! people paste, and says what was compared with what.
//!
//! | module | knows |
//! |---|---|
//! | [`given`] | the forms in which a decision is handed on |
//! | [`seal`] | the envelope, its id, its signature, and the registry of signers |
//! | [`content`] | what the envelope seals by hash: positions, findings, the snapshot |
//! | [`published`] | hashes made again from what was published |
//! | [`report`] | the steps, and what they come to |
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
pub mod given;
pub mod published;
pub mod report;
pub mod seal;

use given::{Given, Unreadable};
use report::Report;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};

/// What there is to verify: JSON texts, as they were received or pasted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// A check's answer, the decision in it, or a bare envelope.
    pub decision: String,
    /// The id that the decision is known by, where that was learned otherwise; 64 hex characters.
    pub decision_id: Option<String>,
    /// The signature, where it does not stand in `decision`.
    pub signature: Option<String>,
    /// The registry of signers, as `/v1/graph/signers` answers.
    pub signers: Option<String>,
    /// What was asked: the check's body, or its positions alone.
    pub request: Option<String>,
    /// What was found: the check's answer, where `decision` is not that.
    pub findings: Option<String>,
    /// The snapshot's manifest, as `/v1/graph/snapshot/{id}` answers.
    pub snapshot: Option<String>,
}

/// Goes through every step that the evidence allows.
///
/// # Errors
/// Where `decision` is nothing that a decision is handed on in, or `decisionId` is no id. Whatever else cannot be read is
/// told at its step.
pub fn verify(evidence: &Evidence) -> Result<Report, Unreadable> {
    let given = Given::read(evidence)?;
    let (seal, sealed) = seal::steps(&given);
    let content = content::steps(&given, sealed.envelope.as_ref());
    Ok(Report::of(sealed, seal.into_iter().chain(content).collect()))
}

/// `verify` for JavaScript: takes and gives plain objects, and throws an `Error` that says what cannot be read.
#[wasm_bindgen(js_name = verify)]
pub fn verify_js(evidence: JsValue) -> Result<JsValue, JsError> {
    let evidence: Evidence = serde_wasm_bindgen::from_value(evidence)?;
    let report = verify(&evidence)?;
    // Null and not undefined, as in every answer of the service.
    let plain = serde_wasm_bindgen::Serializer::json_compatible();
    Ok(report.serialize(&plain)?)
}
