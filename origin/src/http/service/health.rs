//! `GET /v1/health` and `GET /ready`: JSON objects without an envelope. They never answer 500.

use crate::app::App;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::status::{clocks, in_time};
use rds_shared::VERSION;
use rds_shared::graph::evidence::Signer;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::model::health::{
    AssetIdentityCoverage, AssetRegistryCoverage, CacheBreaker, ChainIdentityCoverage, ClockState, DatabaseState,
    EvidenceCoverage, EvidenceSigner, FailSafeMode, Health, HealthStatus, LastScoreRun, Ready, ReadyStatus,
    WritesState, coverage_percent,
};
use rds_shared::model::ids::ChainId;
use rds_shared::wire::Timestamp;
use rds_store::StoreError;
use rds_store::scoring::fail_safe;
use rds_store::service::health::{HealthFacts, clock, facts};
use std::sync::Arc;

/// `Retry-After` of a failed probe, in seconds.
const RETRY_AFTER: u32 = 5;

/// `GET /v1/health`: the current figures, or 503 with the last known ones while the database is unavailable.
///
/// Reading the fail-safe mode shows whether the database answers. If counting takes too long, the last counts are served and the
/// status is `degraded`; if there are none yet, the response is 503.
pub async fn health(app: &Arc<App>, call: &Call) -> Result<Answer, Failure> {
    let (standing, counted) = tokio::join!(in_time(fail_safe::read(&app.db.pool)), in_time(count(app)));
    match (standing, app.last_health.load_full()) {
        (Some(standing), Some(known)) => {
            let status = match standing.in_force() {
                FailSafeMode::Normal if counted.is_some() => HealthStatus::Ok,
                _ => HealthStatus::Degraded,
            };
            let facts = HealthFacts { fail_safe: standing, ..HealthFacts::clone(&known) };
            Answer::value(&record(app, &facts, status, call.now))
        }
        (_, known) => {
            let known = known.unwrap_or_default();
            Ok(Answer::value(&record(app, &known, HealthStatus::Down, call.now))?.unavailable(RETRY_AFTER))
        }
    }
}

/// Counts in a separate task: a count that takes longer than this request may wait is still stored for the next request. If another request
/// is already counting, waits until that count has ended.
async fn count(app: &Arc<App>) -> Result<(), StoreError> {
    let Ok(turn) = app.counting.clone().try_lock_owned() else {
        drop(app.counting.lock().await);
        return Ok(());
    };
    let counting = tokio::spawn({
        let app = app.clone();
        async move {
            let counted = facts(&app.db).await;
            drop(turn);
            counted.map(|facts| app.last_health.store(Some(facts.into())))
        }
    });
    counting.await.unwrap_or(Ok(()))
}

/// `GET /ready`: 200 if the database answers within a second, the clock is right, the first catalog is loaded, and the process is not
/// shutting down.
pub async fn ready(app: &App) -> Result<Answer, Failure> {
    let database_now = in_time(clock(&app.db)).await;
    let db = if database_now.is_some() { DatabaseState::Up } else { DatabaseState::Down };
    let clock = database_now.filter(|now| clocks::is_off(&app.clock, &app.metrics, *now)).map(|_| ClockState::Off);
    let is_ready = db == DatabaseState::Up && clock.is_none() && app.catalog.current().is_some() && !app.is_leaving();
    let status = if is_ready { ReadyStatus::Ready } else { ReadyStatus::NotReady };
    // Refused writes do not make a process unready: a balancer would remove every origin, although reads still work.
    let writes = app.writes.are_refused().then_some(WritesState::Failing);
    // Only the edge has a cache that can fail, and the edge reports its state itself.
    let answer = Answer::value(&Ready { status, db, cache: CacheBreaker::Closed, clock, writes })?;
    Ok(if is_ready { answer } else { answer.unavailable(RETRY_AFTER) })
}

fn record(app: &App, facts: &HealthFacts, status: HealthStatus, now: Timestamp) -> Health {
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
        evidence_coverage: evidence_coverage(facts),
        asset_registry_queue_backlog: facts.review_backlog,
        evidence_signer: evidence_signer(app, facts, now),
        fail_safe: facts.fail_safe.to_health_record(),
    }
}

fn evidence_coverage(facts: &HealthFacts) -> EvidenceCoverage {
    let (all, scored, known) = facts.tvl;
    EvidenceCoverage {
        asset_answers: facts.evidence.asset_answers,
        answered_assets: facts.evidence.answered_assets,
        protocol_answers: facts.evidence.protocol_answers,
        scored_tvl_percent: coverage_percent(scored, all),
        known_exposures_tvl_percent: coverage_percent(known, all),
    }
}

fn last_score_run(facts: &HealthFacts) -> Option<LastScoreRun> {
    Some(LastScoreRun { completed_at: facts.last_run?, fail_safe_mode: facts.fail_safe.in_force() })
}

/// The signer of decisions: this process's key, with the key id under which the registry lets it sign now.
fn evidence_signer(app: &App, facts: &HealthFacts, now: Timestamp) -> EvidenceSigner {
    let address = app.signing_key.as_ref().map(DecisionKey::address);
    let may_sign =
        |signer: &&Signer| signer.activated_at <= now && signer.retired_at.is_none_or(|retired| now < retired);
    let named = address
        .as_ref()
        .and_then(|address| facts.signers.iter().filter(may_sign).find(|signer| signer.address == address.as_str()));
    EvidenceSigner {
        configured: address.is_some(),
        key_id: named.map(|signer| signer.key_id.clone()),
        signer_address: address,
    }
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
