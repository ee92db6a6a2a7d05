//! Facts: one struct per fact kind. Its fields are the fields of an ingest line and the columns of a table.
//!
//! Ingest parses facts, the store writes them, and all code that scores or serves uses these types.

mod answer;
mod asset;
mod at;
mod attestation;
mod basket;
mod event;
pub mod fact;
mod holders;
mod incident;
mod mapping;
mod market;
mod oracle;
mod reading;
mod registry;
mod research;
mod rwa;
#[cfg(feature = "schema")]
mod schema;
mod security;
mod signal;
mod strategy;
mod values;
mod vault;

pub use answer::{AnswerAttestation, AssetAnswer, ProtocolAnswer};
pub use asset::{Asset, AssetReview, BackingProfile, FlagEvent, FlagOverride, Institutional, Issuer, Provenance};
pub use at::At;
pub use attestation::{Attestation, Reviewer, ReviewerKey};
pub use basket::{Basket, BasketMethodology, Eligibility};
pub use event::{EventRecord, Publication};
pub use holders::{Holder, HolderRow, HolderSnapshot, StoredHolder};
pub use incident::{Event, EventLink, EventScope, IncidentLink, Reference, event_id};
pub use mapping::{Bridge, BridgeEnd, Mapping, Permission, Signers, Subject};
pub use market::{Gates, HubAsset, HubGate, Market, MarketEmode, MarketReserve, MarketState, SpokeGate, contract};
pub use oracle::{OracleFeed, Position};
pub use reading::{ChainCandidate, ChainReading, ChainRetraction, ChainSync, ReadField, ReadTable};
pub use registry::{Chain, Curator, Protocol};
pub use research::{
    ExternalBacktest, ExternalBand, ExternalClaim, ExternalFigure, ExternalHealth, ExternalKind, ExternalReport,
    Finding, ResearchPrediction, ResearchRecord,
};
pub use rwa::{RwaCandidate, RwaObservation, RwaSource};
pub use security::{Contamination, LossCase, SecurityReport, security_event_id};
pub use signal::{Entity, SignalReport, StatedVault};
pub use strategy::{VaultStrategy, YieldSource};
pub use values::{Percent, Points, Share, SignerSet, Signing, SigningKeyword, Usd};
pub use vault::{
    Exposure, ExposureBasis, ExposurePart, IncentivesStatus, PartBridge, Reward, Snapshot, Vault, VaultState,
};

/// Default of boolean fields that are true when a line omits them.
fn yes() -> bool {
    true
}
