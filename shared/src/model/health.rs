//! `GET /v1/health` and `GET /ready`. New fields may be added; the fields named here keep their meaning.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId};
use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

named_enum! {
    /// Whether the service can answer requests.
    pub enum HealthStatus {
        /// The database responds, the figures of this record are current, and the fail-safe mode is `normal`.
        Ok = "ok",
        /// The service answers, but the fail-safe mode is not `normal`, or the figures of this record are those of an earlier request.
        Degraded = "degraded",
        /// The database does not respond: the figures are the last known ones, or zeros if there are none, and the HTTP status is 503.
        Down = "down",
    }
}

named_enum! {
    /// Which scores the service serves when a score run cannot be trusted.
    pub enum FailSafeMode {
        /// The scores of the latest run are served.
        Normal = "normal",
        /// The scores of the last good run are served.
        Degraded = "degraded",
        /// No score is served.
        FailClosed = "fail_closed",
    }
}

named_enum! {
    /// Whether the Durable Objects of the edge respond, which count requests and track tag versions.
    pub enum CacheBreaker {
        /// The Durable Objects respond.
        Closed = "closed",
        /// The Durable Objects do not respond: the edge isolate uses its fallback limiter and its cached responses, both bounded.
        Open = "open",
    }
}

/// The health record of the service.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Whether the service can answer requests.
    pub status: HealthStatus,
    /// Version of the service and of the document at `/v1/openapi.json`.
    pub version: &'static str,
    /// Number of active vaults.
    pub vault_count: u64,
    /// Instant of the newest sync of any vault; null before the first.
    pub last_sync: Option<Timestamp>,
    /// Instant of this response.
    pub timestamp: Timestamp,
    /// The latest completed score run; null before the first.
    pub last_score_run: Option<LastScoreRun>,
    /// How many of the vaults' exposures have an asset with a review.
    pub asset_registry_coverage: AssetRegistryCoverage,
    /// How many of the vaults' deposit assets have an approved review.
    pub asset_identity_coverage: AssetIdentityCoverage,
    /// How much of the published scores rests on evidence.
    pub evidence_coverage: EvidenceCoverage,
    /// Number of assets without an approved review.
    pub asset_registry_queue_backlog: u64,
    /// The signer of decisions.
    pub evidence_signer: EvidenceSigner,
    /// The fail-safe mode and its reason; never null, not even before the first score run.
    pub fail_safe: FailSafe,
}

/// The latest completed score run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastScoreRun {
    /// Instant at which the run completed.
    pub completed_at: Timestamp,
    /// Fail-safe mode in force now: whether the run's scores are served as current, as those of the last good run, or not at all.
    pub fail_safe_mode: FailSafeMode,
}

/// The fail-safe mode and its reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailSafe {
    /// Fail-safe mode in force: `normal`, `degraded` or `fail_closed`.
    pub mode: FailSafeMode,
    /// Reason for the mode, as plain text; null while it is `normal`.
    pub reason: Option<String>,
    /// Instant since which the mode has been in force; null if it has never changed.
    pub since: Option<Timestamp>,
}

/// How much of the active vaults' published scores rests on evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EvidenceCoverage {
    /// Number of answers about assets that are not withdrawn.
    pub asset_answers: u64,
    /// Number of assets with at least one such answer.
    pub answered_assets: u64,
    /// Number of answers about protocols and vaults that are not withdrawn.
    pub protocol_answers: u64,
    /// Part of the observed TVL that is in vaults with a score, in percent with two decimals, rounded down; null without an observed TVL.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub scored_tvl_percent: Option<f64>,
    /// Part of the observed TVL that is in vaults whose exposures are known, at least by their members, in percent with two decimals, rounded
    /// down; null without an observed TVL.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub known_exposures_tvl_percent: Option<f64>,
}

/// Coverage of the vaults' exposures by the asset registry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssetRegistryCoverage {
    /// Number of exposures of active vaults.
    pub total_exposures: u64,
    /// Number of exposures of active vaults whose asset has a version of a review.
    pub with_asset_version: u64,
    /// `withAssetVersion` divided by `totalExposures`, in percent with two decimals, rounded down; null if there are no exposures.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub coverage_percent: Option<f64>,
}

/// Coverage of the vaults' deposit assets by approved reviews.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssetIdentityCoverage {
    /// What identifies an asset, always `chain_and_address`.
    pub identity_basis: &'static str,
    /// Number of distinct deposit assets of active vaults.
    pub total_identities: u64,
    /// Number of distinct deposit assets of active vaults that have an approved review.
    pub with_approved_version: u64,
    /// `withApprovedVersion` divided by `totalIdentities`, in percent with two decimals, rounded down; null if there are no deposit assets.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub coverage_percent: Option<f64>,
    /// The same figures for each chain.
    pub by_chain: Vec<ChainIdentityCoverage>,
}

/// Coverage of one chain's deposit assets by approved reviews.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChainIdentityCoverage {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Number of distinct deposit assets of active vaults on the chain.
    pub total_identities: u64,
    /// Number of distinct deposit assets of active vaults on the chain that have an approved review.
    pub with_approved_version: u64,
    /// `withApprovedVersion` divided by `totalIdentities`, in percent with two decimals, rounded down; null if there are no deposit assets.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub coverage_percent: Option<f64>,
}

/// The signer of decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EvidenceSigner {
    /// False if the service runs without a signing key.
    pub configured: bool,
    /// Address that the signatures recover to; null without a signing key.
    pub signer_address: Option<Address>,
    /// Id of the key in the registry of signers; null if the registry does not let the key sign now.
    pub key_id: Option<String>,
}

/// `covered` of `total` in percent with two decimals, rounded down so that 100 means all; `None` if `total` is 0.
pub fn coverage_percent(covered: u64, total: u64) -> Option<f64> {
    let hundredths = u128::from(covered) * 10_000;
    hundredths.checked_div(u128::from(total)).map(|percent| percent as f64 / 100.0)
}

/// The readiness record, `GET /ready`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ready {
    /// Whether this process should receive traffic.
    pub status: ReadyStatus,
    /// Whether the database responded within a second.
    pub db: DatabaseState,
    /// Whether the edge's Durable Objects respond, as far as the edge isolate that serves the request knows. It never affects `status`. The origin's
    /// own listeners always report `closed`.
    pub cache: CacheBreaker,
    /// `off` if the process's clock differs from the database's by more than 30 seconds and no request of the edge confirmed it recently; the process
    /// is then not ready. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockState>,
    /// `failing` while the database refuses writes. Reads still work, so the process stays ready. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<WritesState>,
}

named_enum! {
    /// State of a clock that is wrong.
    pub enum ClockState {
        /// The clock differs by more than 30 seconds.
        Off = "off",
    }
}

named_enum! {
    /// State of writes that do not work.
    pub enum WritesState {
        /// The database refuses writes.
        Failing = "failing",
    }
}

named_enum! {
    /// Whether a process should receive traffic.
    pub enum ReadyStatus {
        /// The process should receive traffic.
        Ready = "ready",
        /// The process should not receive traffic.
        NotReady = "not_ready",
    }
}

named_enum! {
    /// Whether the database responds.
    pub enum DatabaseState {
        /// The database responded in time.
        Up = "up",
        /// The database did not respond in time.
        Down = "down",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_100_percent_only_if_nothing_is_missing() {
        assert_eq!(coverage_percent(0, 0), None);
        assert_eq!(coverage_percent(1, 3), Some(33.33));
        assert_eq!(coverage_percent(99_999, 100_000), Some(99.99));
        assert_eq!(coverage_percent(7, 7), Some(100.0));
    }

    #[test]
    fn the_record_has_the_documented_field_names() {
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
            evidence_coverage: EvidenceCoverage {
                asset_answers: 0,
                answered_assets: 0,
                protocol_answers: 0,
                scored_tvl_percent: None,
                known_exposures_tvl_percent: None,
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
            "evidenceCoverage": {
                "assetAnswers": 0, "answeredAssets": 0, "protocolAnswers": 0, "scoredTvlPercent": null,
                "knownExposuresTvlPercent": null,
            },
            "assetRegistryQueueBacklog": 0,
            "evidenceSigner": {"configured": false, "signerAddress": null, "keyId": null},
            "failSafe": {"mode": "fail_closed", "reason": "said so", "since": null},
        });
        assert_eq!(serde_json::to_value(record).unwrap(), expected);
    }
}
