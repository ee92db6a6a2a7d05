//! Decisions: a verdict with all that it rests on, as one canonical text whose hash is its id.
//!
//! Source: interface, "Decisioning": a decision binds portfolio, snapshot, limits, verdict, findings, methodology and
//! signer; scenario estimates are not part of it.

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

/// Which part of the methodology decides.
pub const METHODOLOGY_SCOPE: &str = "graph.check";
/// The form of the envelope.
const VERSION: i64 = 1;

/// What is decided, before anyone signs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The customer's name for the portfolio.
    pub portfolio_ref: String,
    /// [`Portfolio::hash`].
    pub positions_hash: ContentHash,
    /// The snapshot it was checked against.
    pub snapshot_id: ContentHash,
    /// The limits it was checked against.
    pub limits: Limits,
    /// What the check came to.
    pub verdict: Verdict,
    /// [`CheckOutcome::findings_hash`].
    pub findings_hash: ContentHash,
    /// Which part of the methodology decided.
    pub methodology_scope: String,
    /// In which version.
    pub methodology_version: String,
}

impl Subject {
    /// A check that was made, by the methodology of this build.
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

    /// What a decision is recognised by when the same check is asked again, whoever signs it and whenever.
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
    /// What was decided.
    pub subject: Subject,
    /// Whose signature it is to carry.
    pub signer_address: Address,
    /// The registry's name for the signer's key.
    pub key_id: String,
    /// When; milliseconds are kept.
    pub created_at: Timestamp,
}

impl Envelope {
    /// Its id: the SHA-256 of its text.
    pub fn decision_id(&self) -> ContentHash {
        ContentHash::of(&self.canonical())
    }

    /// Reads an envelope's text. Null unless it is the canonical text of an envelope of this form, byte for byte.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text).ok()
    }

    /// The same, with the reason why a text is none.
    pub fn read(text: &str) -> Result<Self, EnvelopeFault> {
        let written: Written = serde_json::from_str(text).map_err(EnvelopeFault::Unreadable)?;
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
        // One text for one envelope: another spelling of the same members is not it.
        let canonical = envelope.canonical().to_string();
        if canonical == text { Ok(envelope) } else { Err(EnvelopeFault::OtherSpelling { canonical }) }
    }
}

/// Why a text is no envelope.
#[derive(Debug)]
pub enum EnvelopeFault {
    /// Not JSON, or not the members of an envelope and no others.
    Unreadable(serde_json::Error),
    /// This member says nothing that an envelope can say there.
    Member(&'static str),
    /// An envelope, but not in the one spelling that is hashed.
    OtherSpelling {
        /// What that would be.
        canonical: String,
    },
}

impl fmt::Display for EnvelopeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnvelopeFault::Unreadable(error) => write!(f, "it cannot be read as one: {error}"),
            EnvelopeFault::Member(member) => write!(f, "`{member}` is not of its form"),
            EnvelopeFault::OtherSpelling { .. } => {
                f.write_str("it is spelled otherwise than what was hashed: spaces, order or escapes differ")
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

/// An envelope's members as they are written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
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
    fn the_longest_envelope_there_is_can_be_stored() {
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
