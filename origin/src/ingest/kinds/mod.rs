//! The kinds of observation. A struct's fields are the fields of its line and the columns of its table.

mod asset;
mod attestation;
mod incident;
mod registry;
mod rwa;
mod values;
mod vault;

pub use asset::{Asset, AssetReview, BackingProfile, FlagEvent, FlagOverride, Institutional, Issuer, Provenance};
pub use attestation::{Attestation, Reviewer, ReviewerKey};
pub use incident::{Event, EventLink, EventScope, IncidentLink, Reference, event_id};
pub use registry::{Chain, Curator, Protocol};
pub use rwa::{RwaCandidate, RwaObservation, RwaSource};
pub use values::{Points, Share, SignerSet, Signing, SigningWord};
pub use vault::{Exposure, ExposurePart, IncentivesStatus, Reward, Snapshot, Vault, VaultState};
