//! `GET /v1/health` and `GET /ready`: plain objects, and never 500.
//!
//! Source: interface, "Identity, health and status" and "Health and status records".

use super::answer::{Answer, Failure};
use super::call::Call;
use crate::app::{App, VERSION};
use crate::store::StoreError;
use crate::store::health::{HealthFacts, facts, ping};
use rds_shared::model::health::{
    AssetIdentityCoverage, AssetRegistryCoverage, CacheBreaker, ChainIdentityCoverage, DatabaseState, EvidenceSigner,
    Health, HealthStatus, LastScoreRun, Ready, ReadyStatus, coverage_percent,
};
use rds_shared::model::ids::ChainId;
use rds_shared::wire::Timestamp;
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// How long the database may take to count as answering. Source: interface, "Delivery limits", readiness database query.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Seconds after which a failed probe makes sense again.
const RETRY_AFTER: u32 = 5;

/// `GET /v1/health`: with the database, what it says now; without it, 503 and what was last known.
pub async fn health(app: &App, call: &Call) -> Result<Answer, Failure> {
    match in_time(facts(&app.db)).await {
        Some(facts) => {
            let answer = Answer::value(&record(&facts, HealthStatus::Ok, call.now));
            app.last_health.store(Some(facts.into()));
            answer
        }
        None => {
            let known = app.last_health.load_full().unwrap_or_default();
            Ok(Answer::value(&record(&known, HealthStatus::Down, call.now))?.unavailable(RETRY_AFTER))
        }
    }
}

/// `GET /ready`: 200 when the database answers within a second, the first catalog is there, and the process is not going away.
pub async fn ready(app: &App) -> Result<Answer, Failure> {
    let db = match in_time(ping(&app.db)).await {
        Some(()) => DatabaseState::Up,
        None => DatabaseState::Down,
    };
    let is_ready = db == DatabaseState::Up && app.catalog.current().is_some() && !app.is_draining();
    let status = if is_ready { ReadyStatus::Ready } else { ReadyStatus::NotReady };
    // No cache store is in use yet, so its breaker has nothing to open for.
    let answer = Answer::value(&Ready { status, db, cache: CacheBreaker::Closed })?;
    Ok(if is_ready { answer } else { answer.unavailable(RETRY_AFTER) })
}

/// The answer of the database, unless it fails or takes too long.
async fn in_time<T>(asking: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match timeout(ANSWER_WITHIN, asking).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the database did not answer a probe");
            None
        }
        Err(_) => {
            tracing::warn!("the database did not answer a probe in time");
            None
        }
    }
}

fn record(facts: &HealthFacts, status: HealthStatus, now: Timestamp) -> Health {
    let (exposures, with_asset_version) = facts.exposures;
    Health {
        status,
        version: VERSION,
        vault_count: facts.vaults,
        last_sync: facts.last_sync,
        timestamp: now,
        last_score_run: last_score_run(facts),
        asset_registry_coverage: AssetRegistryCoverage {
            total_exposures: exposures,
            with_asset_version,
            coverage_percent: coverage_percent(with_asset_version, exposures),
        },
        asset_identity_coverage: identities(facts),
        asset_registry_queue_backlog: facts.review_backlog,
        // Decisions are not signed yet.
        evidence_signer: EvidenceSigner { configured: false, signer_address: None, key_id: None },
    }
}

fn last_score_run(facts: &HealthFacts) -> Option<LastScoreRun> {
    let (completed_at, mode) = facts.last_run.as_ref()?;
    Some(LastScoreRun { completed_at: *completed_at, fail_safe_mode: mode.parse().ok()? })
}

fn identities(facts: &HealthFacts) -> AssetIdentityCoverage {
    let chains = &facts.identities;
    let (total, approved) =
        chains.iter().fold((0, 0), |(total, approved), chain| (total + chain.total, approved + chain.approved));
    AssetIdentityCoverage {
        identity_basis: "chain_and_address",
        total_identities: total,
        with_approved_version: approved,
        coverage_percent: coverage_percent(approved, total),
        by_chain: chains
            .iter()
            .map(|chain| ChainIdentityCoverage {
                chain_id: ChainId(chain.chain_id),
                total_identities: chain.total,
                with_approved_version: chain.approved,
                coverage_percent: coverage_percent(chain.approved, chain.total),
            })
            .collect(),
    }
}
