//! Parses one line of NDJSON to one observation.

use rds_facts::{
    AnswerAttestation, Asset, AssetAnswer, AssetReview, Attestation, Basket, BasketMethodology, Chain, ChainCandidate,
    ChainReading, ChainRetraction, ChainSync, Curator, EventRecord, Exposure, HolderSnapshot, HubAsset, IncidentLink,
    LossCase, Mapping, Market, MarketEmode, MarketReserve, MarketState, OracleFeed, Position, Protocol, ProtocolAnswer,
    ResearchPrediction, ResearchRecord, Reviewer, Reward, RwaCandidate, RwaObservation, RwaSource, SecurityReport,
    SignalReport, Vault, VaultState, VaultStrategy,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Declares the kinds from one list: the enum, the names in the order in which a batch is written, the parser and the schemas.
macro_rules! kinds {
    ($($variant:ident($fact:ty) = $name:literal,)+) => {
        /// One observation of any kind.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Observation {
            $($variant($fact),)+
        }

        /// The names of the kinds, in the order in which a batch is written.
        pub const KINDS: [&str; 40] = [$($name),+];

        impl Observation {
            /// The name of the observation's kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Observation::$variant(_) => $name,)+
                }
            }
        }

        /// Parses a line of this kind; `None` if there is no such kind.
        fn read_kind(kind: &str, line: &str) -> Option<Result<Observation, Complaint>> {
            Some(match kind {
                $($name => fields(line).map(Observation::$variant),)+
                _ => return None,
            })
        }

        /// The schema of a kind's lines as the fields' types give it; `None` if there is no such kind.
        #[cfg(feature = "schema")]
        pub fn schema(kind: &str, generator: &mut schemars::SchemaGenerator) -> Option<schemars::Schema> {
            Some(match kind {
                $($name => <$fact as schemars::JsonSchema>::json_schema(generator),)+
                _ => return None,
            })
        }
    };
}

kinds! {
    Chain(Chain) = "chain",
    Protocol(Protocol) = "protocol",
    Curator(Curator) = "curator",
    Asset(Box<Asset>) = "asset",
    AssetReview(Box<AssetReview>) = "asset_review",
    AssetAnswer(Box<AssetAnswer>) = "asset_answer",
    ProtocolAnswer(Box<ProtocolAnswer>) = "protocol_answer",
    Vault(Box<Vault>) = "vault",
    VaultState(VaultState) = "vault_state",
    Reward(Reward) = "reward",
    Exposure(Exposure) = "exposure",
    HolderSnapshot(HolderSnapshot) = "holder_snapshot",
    Strategy(Box<VaultStrategy>) = "strategy",
    IncidentLink(Box<IncidentLink>) = "incident_link",
    Event(Box<EventRecord>) = "event",
    Market(Box<Market>) = "market",
    MarketState(MarketState) = "market_state",
    MarketReserve(Box<MarketReserve>) = "market_reserve",
    MarketEmode(Box<MarketEmode>) = "market_emode",
    HubAsset(Box<HubAsset>) = "hub_asset",
    OracleFeed(Box<OracleFeed>) = "oracle_feed",
    Position(Position) = "position",
    Mapping(Box<Mapping>) = "mapping",
    Reviewer(Reviewer) = "reviewer",
    Attestation(Attestation) = "attestation",
    AnswerAttestation(AnswerAttestation) = "answer_attestation",
    RwaSource(RwaSource) = "rwa_source",
    RwaObservation(RwaObservation) = "rwa_observation",
    RwaCandidate(RwaCandidate) = "rwa_candidate",
    SecurityEvent(Box<SecurityReport>) = "security_event",
    LossCase(Box<LossCase>) = "loss_case",
    Signal(Box<SignalReport>) = "signal",
    Basket(Basket) = "basket",
    BasketMethodology(Box<BasketMethodology>) = "basket_methodology",
    ResearchRecord(Box<ResearchRecord>) = "research_record",
    ResearchPrediction(ResearchPrediction) = "research_prediction",
    ChainReading(Box<ChainReading>) = "chain_reading",
    ChainSync(ChainSync) = "chain_sync",
    ChainCandidate(ChainCandidate) = "chain_candidate",
    ChainRetraction(ChainRetraction) = "chain_retraction",
}

/// The faulty field (`None` for the whole line), and what is wrong with it.
pub type Complaint = (Option<String>, String);

/// The field `kind` of a line, which determines how the line is parsed.
#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
}

/// The kind that a line names, whether there is such a kind or not; `None` if it names none.
pub fn kind_of(line: &str) -> Option<String> {
    let header: Header<'_> = serde_json::from_str(line).ok()?;
    header.kind.map(Cow::into_owned)
}

/// Parses a line; the error names the field.
pub fn read(line: &str) -> Result<Observation, Complaint> {
    let header: Header<'_> = serde_json::from_str(line)
        .map_err(|error| (error.is_data().then(|| "kind".to_owned()), json_reason(&error)))?;
    let Some(kind) = header.kind else { return Err((Some("kind".to_owned()), "is missing".to_owned())) };
    read_kind(&kind, line).unwrap_or_else(|| {
        let known = || format!("known kinds are {}", KINDS.join(", "));
        let reason = format!("{kind:?} is not a kind; {}", hint(&kind).map_or_else(known, str::to_owned));
        Err((Some("kind".to_owned()), reason))
    })
}

/// The kind to send instead, for names of research lists that are not kinds.
fn hint(unknown: &str) -> Option<&'static str> {
    Some(match unknown {
        "validation_report" | "claim" | "backtest" | "model_health" | "research" => {
            "send external findings as research_record, with the list's name in record"
        }
        "prediction" => "send external predictions as research_prediction",
        "research_source" => {
            "it cannot be sent: the list of sources is counted from the facts that each source has sent"
        }
        "sample" | "outcome" | "research_sample" | "research_outcome" => {
            "the service computes samples and outcomes itself: send prices (vault_state) and incidents (incident_link), or external \
             findings as research_record"
        }
        _ => return None,
    })
}

pub(super) fn fields<T: DeserializeOwned>(line: &str) -> Result<T, Complaint> {
    let mut json = serde_json::Deserializer::from_str(line);
    serde_path_to_error::deserialize(&mut json).map_err(|error| to_complaint(&error))
}

/// Serde's error with the field that it concerns.
pub(super) fn to_complaint(error: &serde_path_to_error::Error<serde_json::Error>) -> Complaint {
    let reason = json_reason(error.inner());
    let path = error.path().to_string();
    let field = match named_in(&reason) {
        Some(name) if path == "." => Some(name),
        // The path of a missing field is that of the object that lacks it.
        Some(name) if path.rsplit(['.', ']']).next() != Some(&name) => Some(format!("{path}.{name}")),
        _ => Some(path).filter(|path| path != "."),
    };
    (field, reason)
}

/// The field of "missing field `x`", "unknown field `x`" and "duplicate field `x`", which the error's path may omit.
fn named_in(reason: &str) -> Option<String> {
    let (before, rest) = reason.split_once('`')?;
    before.contains("field").then(|| rest.split('`').next().map(str::to_owned)).flatten()
}

/// The parser's message without its position.
fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(line: &str) -> (String, String) {
        let (field, reason) = read(line).unwrap_err();
        (field.unwrap_or_default(), reason)
    }

    #[test]
    fn an_invalid_line_is_refused_with_the_field() {
        let cases = [
            (r#"{"kind":"price"}"#, "kind"),
            (r#"{"observed_at":"2026-01-01T00:00:00Z"}"#, "kind"),
            (r#"{"kind":"curator","source":"t","id":"a","name":"A"}"#, "observed_at"),
            (r#"{"kind":"curator","observed_at":"yesterday","source":"t","id":"a","name":"A"}"#, "observed_at"),
            (r#"{"kind":"curator","observed_at":"2026-01-01T00:00:00Z","source":"t","id":"a","name":1}"#, "name"),
            (
                r#"{"kind":"curator","observed_at":"2026-01-01T00:00:00Z","source":"t","id":"a","name":"A","tvl":1}"#,
                "tvl",
            ),
            (
                r#"{"kind":"asset_review","observed_at":"2026-01-01T00:00:00Z","source":"t","asset_id":"a",
                    "review_status":"reviewed","dimensions":{"liquidity":7.123}}"#,
                "dimensions.liquidity",
            ),
        ];
        for (line, field) in cases {
            let (found, reason) = complaint(line);
            assert_eq!(found, field, "{line}: {reason}");
        }
    }

    #[test]
    fn names_of_research_lists_are_refused_with_a_hint() {
        for (word, kind) in [
            ("validation_report", "research_record"),
            ("backtest", "research_record"),
            ("prediction", "research_prediction"),
            ("research_sample", "vault_state"),
            ("research_source", "counted"),
        ] {
            let (field, reason) = complaint(&format!(r#"{{"kind":"{word}"}}"#));
            assert!(field == "kind" && reason.contains(kind) && reason.len() < 300, "{reason}");
        }
    }

    #[test]
    fn every_kind_is_read() {
        for kind in KINDS {
            let (field, reason) = complaint(&format!(r#"{{"kind":"{kind}"}}"#));
            assert_ne!(field, "kind", "{reason}");
        }
    }

    #[test]
    fn invalid_json_is_refused_without_a_position() {
        let (field, reason) = read("{\"kind\":").unwrap_err();
        assert_eq!(field, None);
        assert!(!reason.contains("column"), "{reason}");
        assert!(read(r#"{"kind":"vault_state","observed_at":"2026-01-01T00:00:00Z","source":"t","vault_id":"v","tvl_usd":1e999}"#).is_err());
    }
}
