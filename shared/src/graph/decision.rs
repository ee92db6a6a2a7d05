//! Decisions: a verdict and its inputs as one canonical text, whose SHA-256 is the decision's id.
//!
//! An envelope binds portfolio, snapshot, limits, verdict, findings, methodology and signer. Scenario estimates are not part of it.

use super::check::{CheckOutcome, Verdict};
use super::limits::{Dimension, Limits};
use super::portfolio::Portfolio;
use crate::model::content_hash::ContentHash;
use crate::model::ids::{Address, Namespace};
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::scoring::{METHODOLOGY_VERSION, Ppm};
use crate::wire::time::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use core::fmt;
use serde::Deserialize;

/// Part of the methodology that checks follow.
pub const METHODOLOGY_SCOPE: &str = "graph.check";
/// Version of the envelope's format.
const VERSION: i64 = 1;

/// The content of a decision, without signer and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The caller's reference for the portfolio.
    pub portfolio_ref: String,
    /// [`Portfolio::hash`].
    pub positions_hash: ContentHash,
    pub snapshot_id: ContentHash,
    pub limits: Limits,
    pub verdict: Verdict,
    /// [`CheckOutcome::findings_hash`].
    pub findings_hash: ContentHash,
    /// [`METHODOLOGY_SCOPE`] of the build that decided.
    pub methodology_scope: String,
    /// [`METHODOLOGY_VERSION`] of the build that decided.
    pub methodology_version: String,
}

impl Subject {
    /// The subject of a check made with this build's methodology.
    pub fn of(
        portfolio_ref: &str,
        portfolio: &Portfolio,
        snapshot_id: ContentHash,
        limits: &Limits,
        outcome: &CheckOutcome,
    ) -> Self {
        Subject {
            portfolio_ref: portfolio_ref.into(),
            positions_hash: portfolio.hash(),
            snapshot_id,
            limits: limits.clone(),
            verdict: outcome.verdict,
            findings_hash: outcome.findings_hash(),
            methodology_scope: METHODOLOGY_SCOPE.into(),
            methodology_version: METHODOLOGY_VERSION.into(),
        }
    }

    /// Deduplication key: equal for repetitions of the same check, independent of signer and time.
    pub fn key(&self) -> ContentHash {
        ContentHash::of(&Canonical::object(self.members()))
    }

    fn members(&self) -> impl Iterator<Item = (&'static str, Canonical)> {
        [
            ("portfolioRef", self.portfolio_ref.as_str().into()),
            ("positionsHash", self.positions_hash.into()),
            ("snapshotId", self.snapshot_id.into()),
            ("limits", self.limits.canonical()),
            ("verdict", self.verdict.as_str().into()),
            ("findingsHash", self.findings_hash.into()),
            ("methodologyScope", self.methodology_scope.as_str().into()),
            ("methodologyVersion", self.methodology_version.as_str().into()),
        ]
        .into_iter()
    }
}

/// A decision as it is signed and stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub subject: Subject,
    /// Address of the signer whose signature the decision carries.
    pub signer_address: Address,
    /// Id of the signer's key in the registry.
    pub key_id: String,
    /// Time of the decision, to the millisecond.
    pub created_at: Timestamp,
}

impl Envelope {
    /// The decision's id: the SHA-256 of the canonical text.
    pub fn decision_id(&self) -> ContentHash {
        ContentHash::of(&self.canonical())
    }

    /// Parses an envelope. `None` unless `text` is, byte for byte, the canonical text of an envelope of this version.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_with_reason(text).ok()
    }

    /// Like [`Self::parse`], with the reason for a refusal.
    pub fn parse_with_reason(text: &str) -> Result<Self, EnvelopeFault> {
        let written: EnvelopeJson = serde_json::from_str(text).map_err(EnvelopeFault::Unreadable)?;
        let hash = |member, text: &str| ContentHash::parse(text).ok_or(EnvelopeFault::Member(member));
        if written.v != VERSION {
            return Err(EnvelopeFault::Member("v"));
        }
        let limit = |(field, limit): (&String, &i64)| Some((Dimension::of_limit_field(field)?, Ppm(*limit)));
        let limits: Option<BTreeMap<_, _>> = written.limits.iter().map(limit).collect();
        let signer = Address::parse(Namespace::Evm, &written.signer_address);
        let envelope = Envelope {
            subject: Subject {
                portfolio_ref: written.portfolio_ref,
                positions_hash: hash("positionsHash", &written.positions_hash)?,
                snapshot_id: hash("snapshotId", &written.snapshot_id)?,
                limits: limits.and_then(Limits::from_ppm).ok_or(EnvelopeFault::Member("limits"))?,
                verdict: written.verdict,
                findings_hash: hash("findingsHash", &written.findings_hash)?,
                methodology_scope: written.methodology_scope,
                methodology_version: written.methodology_version,
            },
            signer_address: signer.map_err(|_| EnvelopeFault::Member("signerAddress"))?,
            key_id: written.key_id,
            created_at: Timestamp::parse(&written.created_at).ok_or(EnvelopeFault::Member("createdAt"))?,
        };
        // The hash covers the text, so only the canonical spelling of these members is accepted.
        let canonical = envelope.canonical().to_string();
        if canonical == text { Ok(envelope) } else { Err(EnvelopeFault::NotCanonical { canonical }) }
    }
}

/// Why a text is not a valid envelope.
#[derive(Debug)]
pub enum EnvelopeFault {
    /// Not JSON, or a member is missing or unknown.
    Unreadable(serde_json::Error),
    /// This member's value is invalid.
    Member(&'static str),
    /// The members are valid, but the text is not in canonical form.
    NotCanonical {
        /// The canonical form.
        canonical: String,
    },
}

impl fmt::Display for EnvelopeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnvelopeFault::Unreadable(error) => write!(f, "it cannot be parsed: {error}"),
            EnvelopeFault::Member(member) => write!(f, "`{member}` has an invalid value"),
            EnvelopeFault::NotCanonical { .. } => {
                f.write_str("it is not in canonical form: spaces, order of members or escapes differ")
            }
        }
    }
}

impl core::error::Error for EnvelopeFault {}

impl Canonicalize for Envelope {
    fn canonical(&self) -> Canonical {
        let sealed = [
            ("v", VERSION.into()),
            ("signerAddress", self.signer_address.as_str().into()),
            ("keyId", self.key_id.as_str().into()),
            ("createdAt", Canonical::Text(self.created_at.to_string())),
        ];
        Canonical::object(self.subject.members().chain(sealed))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EnvelopeJson {
    v: i64,
    portfolio_ref: String,
    positions_hash: String,
    snapshot_id: String,
    limits: BTreeMap<String, i64>,
    verdict: Verdict,
    findings_hash: String,
    methodology_scope: String,
    methodology_version: String,
    signer_address: String,
    key_id: String,
    created_at: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::evidence::MAX_ENVELOPE;
    use crate::route::bounds::PORTFOLIO_REF_CHARS;

    #[test]
    fn the_longest_possible_envelope_can_be_stored() {
        let hash = ContentHash::from_bytes([0xff; 32]);
        for letter in ["\u{10ffff}", "\"", "\\"] {
            let subject = Subject {
                portfolio_ref: letter.repeat(PORTFOLIO_REF_CHARS),
                positions_hash: hash,
                snapshot_id: hash,
                limits: Limits::from_ppm(Dimension::ALL.iter().map(|it| (*it, Ppm(999_999)))).unwrap(),
                verdict: Verdict::Approve,
                findings_hash: hash,
                methodology_scope: METHODOLOGY_SCOPE.into(),
                methodology_version: METHODOLOGY_VERSION.into(),
            };
            let envelope = Envelope {
                subject,
                signer_address: Address::parse(Namespace::Evm, "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a").unwrap(),
                key_id: "k".repeat(64),
                created_at: Timestamp::from_seconds(1_795_219_200),
            };
            let length = envelope.canonical().to_string().len();
            assert!(length <= MAX_ENVELOPE, "{length} bytes");
        }
    }
}
