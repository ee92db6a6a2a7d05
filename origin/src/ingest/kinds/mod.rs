//! The kinds of observation. A struct's fields are the fields of its line and the columns of its table.

mod asset;
mod attestation;
mod event;
mod holders;
mod incident;
mod market;
mod oracle;
mod registry;
mod rwa;
mod strategy;
mod values;
mod vault;

pub use asset::{Asset, AssetReview, BackingProfile, FlagEvent, FlagOverride, Institutional, Issuer, Provenance};
pub use attestation::{Attestation, Reviewer, ReviewerKey};
pub use event::{EventRecord, Publication};
pub use holders::{Holder, HolderRow, HolderSnapshot, StoredHolder};
pub use incident::{Event, EventLink, EventScope, IncidentLink, Reference, event_id};
pub use market::{Gates, HubGate, Market, MarketEmode, MarketReserve, MarketState, SpokeGate, contract};
pub use oracle::{OracleFeed, Position};
pub use registry::{Chain, Curator, Protocol};
pub use rwa::{RwaCandidate, RwaObservation, RwaSource};
pub use strategy::{VaultStrategy, YieldSource};
pub use values::{Points, Share, SignerSet, Signing, SigningWord};
pub use vault::{Exposure, ExposurePart, IncentivesStatus, Reward, Snapshot, Vault, VaultState};
