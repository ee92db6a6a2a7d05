//! `GET /v1/research/*`: promoted and client-visible records.

use crate::app::App;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::{encoded, namespaces};
use crate::store::research::predictions::{self, PredictionFilter};
use crate::store::research::{self, RecordFilter};
use rds_shared::model::ids::VaultId;
use rds_shared::model::research::{Level, RecordKind, ResearchMeta};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, WithMeta};
use serde::Serialize;

/// The records of one kind, with the filters of its route.
pub async fn records(app: &App, call: &Call, kind: RecordKind) -> Result<Answer, Failure> {
    let (query, limit) = (&call.query, call.query.int("limit"));
    let filter = RecordFilter {
        model_version: query.text("model_version"),
        level: query.choice("level"),
        surface: query.text("surface"),
        outcome: query.choice("outcome"),
    };
    let (data, total) = research::list(&app.db, kind, filter, limit).await?;
    // Claims are filtered by level even if the caller names none.
    let unfiltered = RecordFilter {
        level: filter.level.filter(|level| *level == Level::Public.as_str()),
        ..RecordFilter::default()
    };
    let meta = ResearchMeta::new(limit.unsigned_abs(), total, kind.is_preview(), filter != unfiltered);
    answer(app, call, WithMeta { data, meta })
}

/// Predictions, newest first.
pub async fn predictions(app: &App, call: &Call) -> Result<Answer, Failure> {
    let (query, limit) = (&call.query, call.query.int("limit"));
    let vault_id = query.text("vault_id").map(|text| vault_id(app, text)).transpose()?.map(|id| id.to_string());
    let filter = PredictionFilter {
        vault_id: vault_id.as_deref(),
        outcome: query.choice("outcome"),
        horizon: query.choice("horizon").and_then(|word| word.parse().ok()),
    };
    let (data, total) = predictions::list(&app.db, filter, limit).await?;
    let meta = ResearchMeta::new(limit.unsigned_abs(), total, true, filter != PredictionFilter::default());
    answer(app, call, WithMeta { data, meta })
}

fn answer<T: Serialize>(app: &App, call: &Call, list: WithMeta<Vec<T>, ResearchMeta>) -> Result<Answer, Failure> {
    let version = app.catalog.current().map_or(0, |catalog| catalog.version);
    encoded::exact(call, version, &list)
}

fn vault_id(app: &App, text: &str) -> Result<VaultId, ApiError> {
    let fault = || {
        vec![Detail::new(
            In::Query,
            "vault_id",
            "must be a protocol, a chain's number and an address, joined by hyphens",
        )]
    };
    let id = VaultId::parse(text).ok_or_else(|| ApiError::invalid(ErrorCode::InvalidParameter, fault()))?;
    namespaces::check_id(app, &id).map_err(|reason| namespaces::refused("vault_id", reason))?;
    Ok(id)
}
