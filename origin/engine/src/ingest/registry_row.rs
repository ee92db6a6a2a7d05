//! Rows of the evidence registry: one answer about a product, a contract, a protocol or a vault.
//!
//! The form is shorter than an ingest line, so that a file of answers can be read and reviewed as a pull request. A product may have many
//! deployments; an importer makes one observation for each.

use super::observation::{Complaint, fields};
use rds_facts::fact::Kind;
use rds_facts::{AssetAnswer, At, ProtocolAnswer};
use rds_shared::scoring::asset::Dimension;
use rds_shared::scoring::rubric::{ProtocolInput, SourceKind};
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;
use rds_shared::wire::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

/// An answer about a product or a contract.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssetRow {
    /// Slug of a product, or `{chain_id}:{address}`.
    pub asset: String,
    pub dimension: Dimension,
    pub question: String,
    pub answer: String,
    pub source_title: String,
    pub source_url: String,
    pub source_kind: SourceKind,
    /// When the source showed the answer: YYYY-MM-DD, or an instant.
    pub observed_at: String,
    pub note: Option<String>,
    /// When the answer was withdrawn: YYYY-MM-DD, or an instant.
    pub withdrawn_at: Option<String>,
    /// The reviewer who gave the answer.
    pub reviewer: Option<String>,
}

/// An answer about a protocol or a vault.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolRow {
    /// Id of a protocol, or of a vault.
    #[serde(alias = "vault")]
    pub protocol: String,
    pub input: ProtocolInput,
    pub value: Value,
    pub source_title: String,
    pub source_url: String,
    pub source_kind: SourceKind,
    /// When the source showed the value: YYYY-MM-DD, or an instant.
    pub observed_at: String,
    pub note: Option<String>,
    /// When the answer was withdrawn: YYYY-MM-DD, or an instant.
    pub withdrawn_at: Option<String>,
    /// The reviewer who gave the answer.
    pub reviewer: Option<String>,
}

/// A row of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum RegistryRow {
    Asset(Box<AssetRow>),
    Protocol(Box<ProtocolRow>),
    /// A row that names its subject in `vault`.
    Vault(Box<ProtocolRow>),
}

impl RegistryRow {
    /// Parses a line; `None` if it is not a registry row, such as an ingest line. The error names the field.
    pub fn read(line: &str) -> Option<Result<Self, Complaint>> {
        let header: Map<String, Value> = serde_json::from_str(line).ok()?;
        let has = |field: &&str| header.contains_key(*field);
        if has(&"kind") {
            return None;
        }
        let wrong = |field: &str, reason: &str| Some(Err((Some(field.to_owned()), reason.to_owned())));
        match ["asset", "protocol", "vault"].map(|field| has(&field)) {
            [true, ..] => Some(fields(line).map(RegistryRow::Asset)),
            [_, true, true] => wrong("vault", "must not stand beside protocol"),
            [_, true, _] => Some(fields(line).map(RegistryRow::Protocol)),
            [.., true] => Some(fields(line).map(RegistryRow::Vault)),
            _ if ["dimension", "question", "answer"].iter().any(has) => wrong("asset", "is missing"),
            _ if ["input", "value"].iter().any(has) => wrong("protocol", "is missing"),
            _ => Some(Err((None, "must have asset, protocol or vault".to_owned()))),
        }
    }

    /// A fault of the observation that was made from the row, with the row's names of fields.
    pub fn complaint(&self, (field, reason): Complaint) -> Complaint {
        let (subject, withdrawn_at) = match self {
            RegistryRow::Asset(row) => ("asset", &row.withdrawn_at),
            RegistryRow::Protocol(row) => ("protocol", &row.withdrawn_at),
            RegistryRow::Vault(row) => ("vault", &row.withdrawn_at),
        };
        // Only a withdrawal is observed at another time than the answer.
        let observed_at = if withdrawn_at.is_some() { "withdrawn_at" } else { "observed_at" };
        match field.as_deref() {
            Some("asset_id") => {
                (Some(subject.to_owned()), format!("{reason}, or {{chain_id}}:{{address}} of a contract"))
            }
            Some("subject") => (Some(subject.to_owned()), reason),
            Some("as_of") => (Some("observed_at".to_owned()), reason.replace("observed_at", observed_at)),
            Some("observed_at") => (Some(observed_at.to_owned()), reason),
            Some("source") => (Some("reviewer".to_owned()), reason),
            _ => (field, reason),
        }
    }
}

impl AssetRow {
    /// The observation about one deployment. `source` is used where the row names no reviewer.
    pub fn observation(&self, asset_id: String, source: &str) -> Result<AssetAnswer, Complaint> {
        let (as_of, observed_at) = instants(&self.observed_at, self.withdrawn_at.as_deref())?;
        Ok(AssetAnswer {
            kind: Kind,
            observed_at,
            source: self.reviewer.clone().unwrap_or_else(|| source.to_owned()),
            asset_id,
            dimension: self.dimension,
            question: self.question.clone(),
            answer: self.answer.clone(),
            as_of,
            source_title: self.source_title.clone(),
            source_url: self.source_url.clone(),
            source_kind: self.source_kind,
            note: stated(self.note.as_ref()),
            evidence: None,
            withdrawn: self.withdrawn_at.is_some(),
            rubric_version: RUBRIC_VERSION.to_owned(),
        })
    }
}

impl ProtocolRow {
    /// The observation. `source` is used where the row names no reviewer.
    pub fn observation(&self, source: &str) -> Result<ProtocolAnswer, Complaint> {
        let (as_of, observed_at) = instants(&self.observed_at, self.withdrawn_at.as_deref())?;
        Ok(ProtocolAnswer {
            kind: Kind,
            observed_at,
            source: self.reviewer.clone().unwrap_or_else(|| source.to_owned()),
            subject: self.protocol.clone(),
            input: self.input,
            value: self.value.clone(),
            as_of,
            source_title: self.source_title.clone(),
            source_url: self.source_url.clone(),
            source_kind: self.source_kind,
            note: stated(self.note.as_ref()),
            withdrawn: self.withdrawn_at.is_some(),
            rubric_version: RUBRIC_VERSION.to_owned(),
        })
    }
}

fn stated(note: Option<&String>) -> Option<String> {
    note.filter(|note| !note.is_empty()).cloned()
}

/// The instants of the answer and of its last observation, which is the withdrawal if there is one.
fn instants(observed_at: &str, withdrawn_at: Option<&str>) -> Result<(At, At), Complaint> {
    let as_of = instant("observed_at", observed_at)?;
    Ok((as_of, withdrawn_at.map_or(Ok(as_of), |at| instant("withdrawn_at", at))?))
}

fn instant(field: &str, text: &str) -> Result<At, Complaint> {
    let read = Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")));
    read.map(At).ok_or_else(|| (Some(field.to_owned()), "must be a date, YYYY-MM-DD, or an instant".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSET: &str = r#"{"asset":"usdx","dimension":"redeemability","question":"who","answer":"any_onchain","source_title":"Terms","source_url":"https://issuer.example/terms","source_kind":"document","observed_at":"2026-11-01","note":""}"#;

    #[test]
    fn a_row_about_a_product_becomes_an_answer_about_each_deployment() {
        let Some(Ok(RegistryRow::Asset(row))) = RegistryRow::read(ASSET) else { panic!("not an asset row") };
        let answer = row.observation("usdx-1-0x01".to_owned(), "evidence").unwrap();
        assert_eq!((answer.asset_id.as_str(), answer.source.as_str(), answer.note), ("usdx-1-0x01", "evidence", None));
        assert_eq!(answer.as_of.0.to_string(), "2026-11-01T00:00:00.000Z");
        assert!(!answer.withdrawn && answer.observed_at == answer.as_of);
        let withdrawn = ASSET.replace(r#""note":"""#, r#""withdrawn_at":"2026-11-05","reviewer":"ada""#);
        let Some(Ok(RegistryRow::Asset(row))) = RegistryRow::read(&withdrawn) else { panic!("not an asset row") };
        let answer = row.observation("usdx-1-0x01".to_owned(), "evidence").unwrap();
        assert!(answer.withdrawn && answer.observed_at > answer.as_of && answer.source == "ada");
    }

    #[test]
    fn a_fault_of_a_row_names_its_field() {
        let fault = |line: &str| match RegistryRow::read(line) {
            Some(Ok(RegistryRow::Asset(row))) => row.observation(String::new(), "t").unwrap_err().0,
            Some(Err((field, _))) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(fault(&ASSET.replace("2026-11-01", "soon")).as_deref(), Some("observed_at"));
        assert_eq!(fault(&ASSET.replace("redeemability", "charm")).as_deref(), Some("dimension"));
        assert_eq!(fault(&ASSET.replace(r#""note":"""#, r#""color":1"#)).as_deref(), Some("color"));
        assert_eq!(fault("{}"), None);
        assert!(RegistryRow::read(r#"{"kind":"asset","asset":"x"}"#).is_none() && RegistryRow::read("[]").is_none());
    }
}
