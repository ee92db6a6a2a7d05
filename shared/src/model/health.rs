//! `GET /v1/health` and `GET /ready`.
//!
//! Source: interface, "Health and status records". New fields may be added; the names here keep their meaning.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId};
use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

named_enum! {
    /// Whether the service can answer.
    pub enum HealthStatus {
        /// Everything needed answers.
        Ok = "ok",
        /// It answers with a part missing: scores are not current, or the figures here are those of the last time.
        Degraded = "degraded",
        /// It cannot answer.
        Down = "down",
    }
}

named_enum! {
    /// What the platform does when a score run cannot be trusted.
    pub enum FailSafeMode {
        /// Scores are current.
        Normal = "normal",
        /// The last good run is served.
        Degraded = "degraded",
        /// No score is served.
        FailClosed = "fail_closed",
    }
}

named_enum! {
    /// Whether the stores of the edge answer: what it counts by, and what it knows changed facts by.
    pub enum CacheBreaker {
        /// They do.
        Closed = "closed",
        /// Bounded counters and copies in its own memory stand in for them.
        Open = "open",
    }
}

/// The health record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Whether the service can answer.
    pub status: HealthStatus,
    /// The version of the service and of the document at `/v1/openapi.json`.
    pub version: &'static str,
    /// Number of active vaults.
    pub vault_count: u64,
    /// The newest vault sync.
    pub last_sync: Option<Timestamp>,
    /// When this record was made.
    pub timestamp: Timestamp,
    /// The latest completed score run; null before the first.
    pub last_score_run: Option<LastScoreRun>,
    /// How much of what vaults hold is in the asset registry.
    pub asset_registry_coverage: AssetRegistryCoverage,
    /// How many deposit assets have an approved version.
    pub asset_identity_coverage: AssetIdentityCoverage,
    /// Assets waiting for review.
    pub asset_registry_queue_backlog: u64,
    /// Who signs decisions.
    pub evidence_signer: EvidenceSigner,
    /// The platform's fail-safe mode, also before the first score run.
    pub fail_safe: FailSafe,
}

/// The latest completed score run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastScoreRun {
    /// When it completed.
    pub completed_at: Timestamp,
    /// The platform's mode now: whether what that run published is served as it is, as the last good run, or not at all.
    pub fail_safe_mode: FailSafeMode,
}

/// The platform's mode and why it is so.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailSafe {
    /// Fail-safe mode in force: `normal`, `degraded` or `fail_closed`.
    pub mode: FailSafeMode,
    /// Why, in words; null while it is normal.
    pub reason: Option<String>,
    /// Since when; null while nothing has ever changed it.
    pub since: Option<Timestamp>,
}

/// Exposures of vaults against the asset registry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssetRegistryCoverage {
    /// Exposures of active vaults.
    pub total_exposures: u64,
    /// Those whose asset has a version.
    pub with_asset_version: u64,
    /// The second over the first in percent; null when there is none to cover.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub coverage_percent: Option<f64>,
}

/// Assets that vaults name against the approved versions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssetIdentityCoverage {
    /// What makes two assets one, for example `chain_and_address`.
    pub identity_basis: &'static str,
    /// Number of distinct assets.
    pub total_identities: u64,
    /// Those with an approved version.
    pub with_approved_version: u64,
    /// The second over the first in percent; null when there is none to cover.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub coverage_percent: Option<f64>,
    /// The same for every chain.
    pub by_chain: Vec<ChainIdentityCoverage>,
}

/// [`AssetIdentityCoverage`] of one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChainIdentityCoverage {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Distinct assets there.
    pub total_identities: u64,
    /// Those with an approved version.
    pub with_approved_version: u64,
    /// The second over the first in percent; null when there is none to cover.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub coverage_percent: Option<f64>,
}

/// The signer of decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EvidenceSigner {
    /// False when the service runs without a signing key.
    pub configured: bool,
    /// The address that recovers from its signatures.
    pub signer_address: Option<Address>,
    /// Its key's id.
    pub key_id: Option<String>,
}

/// `covered` of `total` in percent with two decimals, rounded down so that 100 means all; null when there is none to
/// cover.
pub fn coverage_percent(covered: u64, total: u64) -> Option<f64> {
    let hundredths = u128::from(covered) * 10_000;
    hundredths.checked_div(u128::from(total)).map(|percent| percent as f64 / 100.0)
}

/// `GET /ready`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ready {
    /// Whether this process should get traffic.
    pub status: ReadyStatus,
    /// Whether the database answered within a second.
    pub db: DatabaseState,
    /// Whether the edge's stores answer, as the edge that was asked finds; never a reason not to be ready. The service's own doors
    /// have no such store before them, and say `closed`.
    pub cache: CacheBreaker,
    /// `off` where the clock of the process that was asked is more than 30 seconds from the database's: it is not ready then. Left out
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockState>,
    /// `failing` while the database refuses writes. Reads go on, so the process stays ready. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<WritesState>,
}

named_enum! {
    /// What is wrong with a clock.
    pub enum ClockState {
        /// It is more than 30 seconds off.
        Off = "off",
    }
}

named_enum! {
    /// What is wrong with writes.
    pub enum WritesState {
        /// The database refuses them.
        Failing = "failing",
    }
}

named_enum! {
    /// Whether a process should get traffic.
    pub enum ReadyStatus {
        /// It should.
        Ready = "ready",
        /// It should not.
        NotReady = "not_ready",
    }
}

named_enum! {
    /// Whether the database answers.
    pub enum DatabaseState {
        /// It answered in time.
        Up = "up",
        /// It did not.
        Down = "down",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_says_a_hundred_only_when_nothing_is_missing() {
        assert_eq!(coverage_percent(0, 0), None);
        assert_eq!(coverage_percent(1, 3), Some(33.33));
        assert_eq!(coverage_percent(99_999, 100_000), Some(99.99));
        assert_eq!(coverage_percent(7, 7), Some(100.0));
    }

    #[test]
    fn the_record_has_the_names_of_the_interface() {
        let record = Health {
            status: HealthStatus::Ok,
            version: "1.0.0",
            vault_count: 3,
            last_sync: None,
            timestamp: Timestamp::from_seconds(0),
            last_score_run: Some(LastScoreRun {
                completed_at: Timestamp::from_seconds(0),
                fail_safe_mode: FailSafeMode::FailClosed,
            }),
            asset_registry_coverage: AssetRegistryCoverage {
                total_exposures: 2,
                with_asset_version: 1,
                coverage_percent: coverage_percent(1, 2),
            },
            asset_identity_coverage: AssetIdentityCoverage {
                identity_basis: "chain_and_address",
                total_identities: 1,
                with_approved_version: 1,
                coverage_percent: coverage_percent(1, 1),
                by_chain: alloc::vec![ChainIdentityCoverage {
                    chain_id: ChainId(1),
                    total_identities: 1,
                    with_approved_version: 1,
                    coverage_percent: coverage_percent(1, 1),
                }],
            },
            asset_registry_queue_backlog: 0,
            evidence_signer: EvidenceSigner { configured: false, signer_address: None, key_id: None },
            fail_safe: FailSafe { mode: FailSafeMode::FailClosed, reason: Some("said so".into()), since: None },
        };
        let expected = serde_json::json!({
            "status": "ok", "version": "1.0.0", "vaultCount": 3, "lastSync": null,
            "timestamp": "1970-01-01T00:00:00.000Z",
            "lastScoreRun": {"completedAt": "1970-01-01T00:00:00.000Z", "failSafeMode": "fail_closed"},
            "assetRegistryCoverage": {"totalExposures": 2, "withAssetVersion": 1, "coveragePercent": 50.0},
            "assetIdentityCoverage": {
                "identityBasis": "chain_and_address", "totalIdentities": 1, "withApprovedVersion": 1,
                "coveragePercent": 100.0,
                "byChain": [{"chainId": 1, "totalIdentities": 1, "withApprovedVersion": 1, "coveragePercent": 100.0}],
            },
            "assetRegistryQueueBacklog": 0,
            "evidenceSigner": {"configured": false, "signerAddress": null, "keyId": null},
            "failSafe": {"mode": "fail_closed", "reason": "said so", "since": null},
        });
        assert_eq!(serde_json::to_value(record).unwrap(), expected);
    }
}
