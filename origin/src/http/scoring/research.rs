//! `GET /v1/research/*`: promoted and client-visible records.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::{encoded, namespaces};
use rds_shared::model::ids::VaultId;
use rds_shared::model::research::{Level, RecordKind, ResearchMeta};
use rds_shared::route::{params, routes};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, WithMeta};
use rds_store::Db;
use rds_store::research::predictions::{self, PredictionFilter};
use rds_store::research::{self, RecordFilter};
use serde::Serialize;

/// `GET /v1/research/validation-reports`.
pub async fn validation_reports(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::ValidationReports>,
) -> Result<Answer, Failure> {
    let filter = RecordFilter { model_version: call.get(params::ModelVersion), ..RecordFilter::default() };
    records(live, db, &call, RecordKind::ValidationReport, filter, call.get(params::ResearchLimit)).await
}

/// `GET /v1/research/claims`.
pub async fn claims(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::Claims>) -> Result<Answer, Failure> {
    let (level, surface) = (Some(call.get(params::Level)), call.get(params::Surface));
    let filter = RecordFilter { level, surface, ..RecordFilter::default() };
    records(live, db, &call, RecordKind::Claim, filter, call.get(params::ResearchLimit)).await
}

/// `GET /v1/research/sources`.
pub async fn sources(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::ResearchSources>,
) -> Result<Answer, Failure> {
    records(live, db, &call, RecordKind::Source, RecordFilter::default(), call.get(params::SourceLimit)).await
}

/// `GET /v1/research/backtests`.
pub async fn backtests(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::Backtests>) -> Result<Answer, Failure> {
    let (model_version, outcome) = (call.get(params::ModelVersion), call.get(params::BacktestOutcome));
    let filter = RecordFilter { model_version, outcome, ..RecordFilter::default() };
    records(live, db, &call, RecordKind::Backtest, filter, call.get(params::ResearchLimit)).await
}

/// `GET /v1/research/model-health`.
pub async fn model_health(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::ModelHealth>,
) -> Result<Answer, Failure> {
    records(live, db, &call, RecordKind::ModelHealth, RecordFilter::default(), call.get(params::ResearchLimit)).await
}

/// Answers with the newest `limit` records of `kind` that pass `filter`, and the total number of such records.
async fn records(
    live: &LiveCatalog,
    db: &Db,
    call: &Call,
    kind: RecordKind,
    filter: RecordFilter<'_>,
    limit: u32,
) -> Result<Answer, Failure> {
    let (data, total) = research::list(db, kind, filter, limit.into()).await?;
    // The default level of claims, `public`, does not count as a filter.
    let unfiltered = RecordFilter {
        level: filter.level.filter(|level| *level == Level::Public.as_str()),
        ..RecordFilter::default()
    };
    let meta = ResearchMeta::new(limit.into(), total, kind.is_preview(), filter != unfiltered);
    answer(live, call, WithMeta { data, meta })
}

/// Predictions, newest first.
pub async fn predictions(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::Predictions>,
) -> Result<Answer, Failure> {
    let limit = call.get(params::ResearchLimit);
    let vault_id =
        call.get(params::PredictedVault).map(|text| vault_id(live, text)).transpose()?.map(|id| id.to_string());
    let filter = PredictionFilter {
        vault_id: vault_id.as_deref(),
        outcome: call.get(params::PredictionOutcome),
        horizon: call.get(params::Horizon).and_then(|word| word.parse().ok()),
    };
    let (data, total) = predictions::list(db, filter, limit.into()).await?;
    let meta = ResearchMeta::new(limit.into(), total, true, filter != PredictionFilter::default());
    answer(live, &call, WithMeta { data, meta })
}

fn answer<T: Serialize>(
    live: &LiveCatalog,
    call: &Call,
    list: WithMeta<Vec<T>, ResearchMeta>,
) -> Result<Answer, Failure> {
    let version = live.current().map_or(0, |catalog| catalog.version);
    encoded::json_with_body_etag(call, version, &list)
}

fn vault_id(live: &LiveCatalog, text: &str) -> Result<VaultId, ApiError> {
    let fault = || vec![Detail::new(In::Query, "vault_id", "must be a vault id: <protocol id>-<chain id>-<address>")];
    let id = VaultId::parse(text).ok_or_else(|| ApiError::invalid(ErrorCode::InvalidParameter, fault()))?;
    namespaces::check_id(live, &id).map_err(|reason| namespaces::refused("vault_id", reason))?;
    Ok(id)
}
