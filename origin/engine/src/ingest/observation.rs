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

/// One observation of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    Chain(Chain),
    Protocol(Protocol),
    Curator(Curator),
    Asset(Box<Asset>),
    AssetReview(Box<AssetReview>),
    AssetAnswer(Box<AssetAnswer>),
    ProtocolAnswer(Box<ProtocolAnswer>),
    Vault(Box<Vault>),
    VaultState(VaultState),
    Reward(Reward),
    Exposure(Exposure),
    HolderSnapshot(HolderSnapshot),
    Strategy(Box<VaultStrategy>),
    IncidentLink(Box<IncidentLink>),
    Event(Box<EventRecord>),
    Market(Box<Market>),
    MarketState(MarketState),
    MarketReserve(Box<MarketReserve>),
    MarketEmode(Box<MarketEmode>),
    HubAsset(Box<HubAsset>),
    OracleFeed(Box<OracleFeed>),
    Position(Position),
    Mapping(Box<Mapping>),
    Reviewer(Reviewer),
    Attestation(Attestation),
    AnswerAttestation(AnswerAttestation),
    RwaSource(RwaSource),
    RwaObservation(RwaObservation),
    RwaCandidate(RwaCandidate),
    SecurityEvent(Box<SecurityReport>),
    LossCase(Box<LossCase>),
    Signal(Box<SignalReport>),
    Basket(Basket),
    BasketMethodology(Box<BasketMethodology>),
    ResearchRecord(Box<ResearchRecord>),
    ResearchPrediction(ResearchPrediction),
    ChainReading(Box<ChainReading>),
    ChainSync(ChainSync),
    ChainCandidate(ChainCandidate),
    ChainRetraction(ChainRetraction),
}

/// The names of the kinds, in the order in which a batch is written.
pub const KINDS: [&str; 40] = [
    "chain",
    "protocol",
    "curator",
    "asset",
    "asset_review",
    "asset_answer",
    "protocol_answer",
    "vault",
    "vault_state",
    "reward",
    "exposure",
    "holder_snapshot",
    "strategy",
    "incident_link",
    "event",
    "market",
    "market_state",
    "market_reserve",
    "market_emode",
    "hub_asset",
    "oracle_feed",
    "position",
    "mapping",
    "reviewer",
    "attestation",
    "answer_attestation",
    "rwa_source",
    "rwa_observation",
    "rwa_candidate",
    "security_event",
    "loss_case",
    "signal",
    "basket",
    "basket_methodology",
    "research_record",
    "research_prediction",
    "chain_reading",
    "chain_sync",
    "chain_candidate",
    "chain_retraction",
];

/// The faulty field (`None` for the whole line), and what is wrong with it.
pub type Complaint = (Option<String>, String);

/// The field `kind` of a line, which determines how the line is parsed.
#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
}

/// Parses a line; the error names the field.
pub fn read(line: &str) -> Result<Observation, Complaint> {
    let header: Header<'_> = serde_json::from_str(line)
        .map_err(|error| (error.is_data().then(|| "kind".to_owned()), json_reason(&error)))?;
    let Some(kind) = header.kind else { return Err((Some("kind".to_owned()), "is missing".to_owned())) };
    Ok(match kind.as_ref() {
        "chain" => Observation::Chain(fields(line)?),
        "protocol" => Observation::Protocol(fields(line)?),
        "curator" => Observation::Curator(fields(line)?),
        "asset" => Observation::Asset(Box::new(fields(line)?)),
        "asset_review" => Observation::AssetReview(Box::new(fields(line)?)),
        "asset_answer" => Observation::AssetAnswer(Box::new(fields(line)?)),
        "protocol_answer" => Observation::ProtocolAnswer(Box::new(fields(line)?)),
        "vault" => Observation::Vault(fields(line)?),
        "vault_state" => Observation::VaultState(fields(line)?),
        "reward" => Observation::Reward(fields(line)?),
        "exposure" => Observation::Exposure(fields(line)?),
        "holder_snapshot" => Observation::HolderSnapshot(fields(line)?),
        "strategy" => Observation::Strategy(fields(line)?),
        "incident_link" => Observation::IncidentLink(fields(line)?),
        "event" => Observation::Event(fields(line)?),
        "market" => Observation::Market(fields(line)?),
        "market_state" => Observation::MarketState(fields(line)?),
        "market_reserve" => Observation::MarketReserve(fields(line)?),
        "market_emode" => Observation::MarketEmode(fields(line)?),
        "hub_asset" => Observation::HubAsset(Box::new(fields(line)?)),
        "oracle_feed" => Observation::OracleFeed(fields(line)?),
        "position" => Observation::Position(fields(line)?),
        "mapping" => Observation::Mapping(Box::new(fields(line)?)),
        "reviewer" => Observation::Reviewer(fields(line)?),
        "attestation" => Observation::Attestation(fields(line)?),
        "answer_attestation" => Observation::AnswerAttestation(fields(line)?),
        "rwa_source" => Observation::RwaSource(fields(line)?),
        "rwa_observation" => Observation::RwaObservation(fields(line)?),
        "rwa_candidate" => Observation::RwaCandidate(fields(line)?),
        "security_event" => Observation::SecurityEvent(Box::new(fields(line)?)),
        "loss_case" => Observation::LossCase(Box::new(fields(line)?)),
        "signal" => Observation::Signal(Box::new(fields(line)?)),
        "basket" => Observation::Basket(fields(line)?),
        "basket_methodology" => Observation::BasketMethodology(Box::new(fields(line)?)),
        "research_record" => Observation::ResearchRecord(Box::new(fields(line)?)),
        "research_prediction" => Observation::ResearchPrediction(fields(line)?),
        "chain_reading" => Observation::ChainReading(Box::new(fields(line)?)),
        "chain_sync" => Observation::ChainSync(fields(line)?),
        "chain_candidate" => Observation::ChainCandidate(fields(line)?),
        "chain_retraction" => Observation::ChainRetraction(fields(line)?),
        unknown => {
            let known = || format!("known kinds are {}", KINDS.join(", "));
            let reason = format!("{unknown:?} is not a kind; {}", hint(unknown).map_or_else(known, str::to_owned));
            return Err((Some("kind".to_owned()), reason));
        }
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
    let field = if path == "." { named_in(&reason) } else { Some(path) };
    (field, reason)
}

/// The field of "missing field `x`" and "unknown field `x`", which the error's path omits.
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
