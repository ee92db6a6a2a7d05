//! Predictions: scores recorded before their window, their outcomes, and their list.

use crate::columns::DbHorizon;
use crate::db_enum::DbEnum;
use crate::decode::{DbMilliPoints, Nullable};
use crate::{At, Db, StoreError, Tx};
use rds_shared::model::research::{PREVIEW_STAGE, Prediction};
use rds_shared::research::Horizon;
use rds_shared::research::outcome::{BASE_WITHIN_DAYS, PredictionOutcome, WindowPrices};
use rds_shared::rules::tiers::{Tier, tier_of};
use rds_shared::scoring::{MilliPoints, Ppm};
use rds_shared::wire::Timestamp;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{FromRow, Postgres};

/// Records a prediction for every active vault that passes the gate and has no open prediction over this horizon. The gate requires a
/// recent price that has moved, and a price series that is not in `broken`. Returns the number of predictions.
pub async fn record_due(tx: &mut Tx<'_>, now: At, horizon: Horizon, broken: &[&str]) -> Result<u64, StoreError> {
    let sql = format!(
        "INSERT INTO research_prediction (vault_id, horizon_days, made_at, due_at, model_version, score, tier, base_price, base_at) \
         SELECT v.id, $2, $1, $1 + make_interval(days => $2), p.methodology_version, p.score, p.tier, base.price, base.at \
         FROM vault v JOIN chain c USING (chain_id) JOIN vault_score p ON p.vault_id = v.id JOIN {window_prices} \
         WHERE v.is_active AND c.is_served AND p.score IS NOT NULL AND v.id <> ALL($4) \
           AND NOT EXISTS (SELECT FROM research_prediction o WHERE o.vault_id = v.id AND o.horizon_days = $2 AND o.due_at > $1 \
                               AND o.provided_by IS NULL) \
         ON CONFLICT DO NOTHING",
        window_prices = window_prices("v.id", "$1", "$3"),
    );
    let made = sqlx::query(&sql)
        .bind(now)
        .bind(days(horizon)) // $2 horizon_days
        .bind(i32::try_from(BASE_WITHIN_DAYS).unwrap_or(i32::MAX)) // $3 days that a base price may be old
        .bind(broken)
        .execute(&mut **tx)
        .await?;
    Ok(made.rows_affected())
}

/// SQL that joins, as `base`, the vault's last price up to the instant `at`, if that price is less than `days` days old and differs from a
/// price of the `days` days before it.
fn window_prices(vault: &str, at: &str, days: &str) -> String {
    format!(
        "LATERAL (SELECT last.price, last.at FROM ( \
             SELECT price_per_share AS price, observed_at AS at FROM vault_snapshot h WHERE h.vault_id = {vault} AND price_per_share > 0 \
                 AND observed_at <= {at} AND observed_at > {at} - make_interval(days => {days}) \
             ORDER BY observed_at DESC LIMIT 1) AS last \
         WHERE EXISTS (SELECT FROM vault_snapshot h WHERE h.vault_id = {vault} AND price_per_share > 0 AND price_per_share <> last.price \
                           AND observed_at < last.at AND observed_at > last.at - make_interval(days => {days}))) AS base ON true"
    )
}

/// A prediction of an external source.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalPrediction {
    pub vault_id: String,
    pub horizon: Horizon,
    pub made_at: At,
    pub model_version: String,
    pub score: MilliPoints,
    pub provided_by: String,
}

/// The row that the database already has for the vault, horizon and second of an external prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredPrediction {
    /// The same prediction.
    Same,
    /// Another prediction in the same second; ids have a resolution of one second.
    Other,
    /// There is no such row.
    None {
        /// Whether the vault's price is observed well enough for the gate of predictions.
        is_watched: bool,
    },
}

/// `FROM` item `r`: external predictions, bound as one array per column ([`bound`]).
const GIVEN: &str = "unnest($1::text[], $2::int[], $3::timestamptz[], $4::text[], $5::int[], $6::text[], $7::text[]) \
     WITH ORDINALITY AS r (vault_id, horizon_days, made_at, model_version, score, tier, provided_by, place)";

fn bound<'q>(sql: &'q str, rows: &'q [ExternalPrediction]) -> Query<'q, Postgres, PgArguments> {
    let text = |read: fn(&ExternalPrediction) -> &str| rows.iter().map(read).collect::<Vec<_>>();
    sqlx::query(sql)
        .bind(text(|row| &row.vault_id))
        .bind(rows.iter().map(|row| days(row.horizon)).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.made_at).collect::<Vec<_>>())
        .bind(text(|row| &row.model_version))
        .bind(rows.iter().map(|row| row.score.get()).collect::<Vec<_>>())
        .bind(text(|row| tier_of(row.score).as_str())) // $6 tier
        .bind(text(|row| &row.provided_by))
        .bind(i32::try_from(BASE_WITHIN_DAYS).unwrap_or(i32::MAX)) // $8 days that a base price may be old
}

/// The stored row of each of these predictions, in the same order.
pub async fn stored_predictions(
    tx: &mut Tx<'_>,
    rows: &[ExternalPrediction],
) -> Result<Vec<StoredPrediction>, StoreError> {
    let sql = format!(
        "SELECT p.vault_id IS NOT NULL AS is_taken, base.price IS NOT NULL AS is_watched, \
                coalesce((p.made_at, p.model_version, p.score, p.provided_by) = (r.made_at, r.model_version, r.score, r.provided_by), \
                         false) AS is_same \
         FROM {GIVEN} LEFT JOIN LATERAL ( \
             SELECT * FROM research_prediction o WHERE (o.vault_id, o.horizon_days) = (r.vault_id, r.horizon_days) \
                 AND date_trunc('second', o.made_at) = date_trunc('second', r.made_at) LIMIT 1) AS p ON true \
         LEFT JOIN {} ORDER BY r.place",
        window_prices("r.vault_id", "r.made_at", "$8")
    );
    let standing = |(is_taken, is_watched, is_same)| match (is_taken, is_same) {
        (true, true) => StoredPrediction::Same,
        (true, false) => StoredPrediction::Other,
        (false, _) => StoredPrediction::None { is_watched },
    };
    let rows = bound(&sql, rows).try_map(|row| FromRow::from_row(&row)).fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().map(standing).collect())
}

/// Stores external predictions that are not stored yet; returns their number.
pub async fn insert_external(tx: &mut Tx<'_>, rows: &[ExternalPrediction]) -> Result<u64, StoreError> {
    if rows.is_empty() {
        return Ok(0);
    }
    let sql = format!(
        "INSERT INTO research_prediction (vault_id, horizon_days, made_at, due_at, model_version, score, tier, base_price, base_at, \
                                          provided_by) \
         SELECT r.vault_id, r.horizon_days, r.made_at, r.made_at + make_interval(days => r.horizon_days), r.model_version, r.score, \
                r.tier, base.price, base.at, r.provided_by \
         FROM {GIVEN} JOIN {} ORDER BY r.place ON CONFLICT DO NOTHING",
        window_prices("r.vault_id", "r.made_at", "$8")
    );
    Ok(bound(&sql, rows).execute(&mut **tx).await?.rows_affected())
}

/// A prediction whose window has ended, with the prices in the window.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct DueRow {
    pub vault_id: String,
    pub horizon_days: i32,
    pub made_at: At,
    pub drawdown_bp: Option<i64>,
    pub last_at: Option<At>,
    pub moved_at: Option<At>,
}

impl DueRow {
    /// The values from which `rds_shared::research::outcome` decides the outcome.
    pub fn window_prices(&self) -> WindowPrices {
        let [last_at, moved_at] = [self.last_at, self.moved_at].map(|at| at.map(|At(at)| at));
        WindowPrices { drawdown_bp: self.drawdown_bp.unwrap_or(0), last_at, moved_at }
    }
}

/// Open predictions whose window has ended.
pub async fn due(tx: &mut Tx<'_>, now: At) -> Result<Vec<DueRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT p.vault_id, p.horizon_days, p.made_at, price.drawdown_bp, price.last_at, price.moved_at FROM research_prediction p \
         CROSS JOIN LATERAL ( \
             SELECT max(div((peak - pps) * 10000, peak))::bigint AS drawdown_bp, max(at) AS last_at, \
                    max(at) FILTER (WHERE pps <> before) AS moved_at FROM ( \
                 SELECT at, pps, max(pps) OVER so_far AS peak, lag(pps) OVER so_far AS before FROM ( \
                     SELECT p.base_at AS at, p.base_price::numeric AS pps \
                     UNION ALL SELECT observed_at, price_per_share::numeric FROM vault_snapshot h \
                     WHERE h.vault_id = p.vault_id AND price_per_share > 0 \
                         AND observed_at > p.made_at AND observed_at <= p.due_at) AS price \
                 WINDOW so_far AS (ORDER BY at)) AS reading \
             WHERE at > p.made_at) AS price \
         WHERE p.outcome = 'pending' AND p.due_at <= $1",
    )
    .bind(now)
    .fetch_all(&mut **tx)
    .await?)
}

/// Stores the outcomes of predictions.
pub async fn resolve(tx: &mut Tx<'_>, now: At, rows: &[(DueRow, PredictionOutcome)]) -> Result<(), StoreError> {
    let column =
        |read: fn(&DueRow) -> Option<i64>| -> Vec<Option<i64>> { rows.iter().map(|(row, _)| read(row)).collect() };
    sqlx::query(
        "UPDATE research_prediction p SET outcome = r.outcome, drawdown_bp = r.drawdown_bp, resolved_at = $1 \
         FROM unnest($2::text[], $3::int[], $4::timestamptz[], $5::text[], $6::bigint[]) \
              AS r (vault_id, horizon_days, made_at, outcome, drawdown_bp) \
         WHERE (p.vault_id, p.horizon_days, p.made_at) = (r.vault_id, r.horizon_days, r.made_at) AND p.outcome = 'pending'",
    )
    .bind(now) // $1 resolved_at
    .bind(rows.iter().map(|(row, _)| row.vault_id.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(row, _)| row.horizon_days).collect::<Vec<_>>())
    .bind(rows.iter().map(|(row, _)| row.made_at).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, outcome)| outcome.as_str()).collect::<Vec<_>>())
    .bind(column(|row| row.drawdown_bp.filter(|_| row.last_at.is_some())))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Filters of the list; `None` does not filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PredictionFilter<'a> {
    pub vault_id: Option<&'a str>,
    pub outcome: Option<&'a str>,
    pub horizon: Option<Horizon>,
}

/// The newest predictions about vaults on served chains, and the total number of matches.
pub async fn list(db: &Db, filter: PredictionFilter<'_>, limit: i64) -> Result<(Vec<Prediction>, u64), StoreError> {
    let rows: Vec<PredictionRow> = sqlx::query_as(
        "SELECT p.*, count(*) OVER () AS total FROM research_prediction p JOIN vault v ON v.id = p.vault_id JOIN chain c USING (chain_id) \
         WHERE c.is_served AND p.is_client_visible AND ($1::text IS NULL OR p.vault_id = $1) \
           AND ($2::text IS NULL OR p.outcome = $2) AND ($3::int IS NULL OR p.horizon_days = $3) \
         ORDER BY p.made_at DESC, p.vault_id COLLATE \"C\", p.horizon_days LIMIT $4",
    )
    .bind(filter.vault_id)
    .bind(filter.outcome)
    .bind(filter.horizon.map(days)) // $3 horizon_days
    .bind(limit)
    .fetch_all(&db.pool)
    .await?;
    let total = rows.first().map_or(0, |row| row.total.unsigned_abs());
    Ok((rows.into_iter().map(prediction).collect(), total))
}

/// Shows or hides a prediction. `false` if it does not exist.
pub async fn set_visible(tx: &mut Tx<'_>, id: &str, visible: bool) -> Result<bool, StoreError> {
    // An id is `{vault}/{horizon}/{instant in seconds}`, as `prediction` writes it.
    let mut parts = id.rsplitn(3, '/');
    let (made_at, ahead, vault_id) = (parts.next(), parts.next(), parts.next());
    let (made_at, ahead) = (made_at.and_then(|it| it.parse().ok()), ahead.and_then(|it| it.parse().ok()));
    let (Some(made_at), Some(ahead), Some(vault_id)) = (made_at, ahead, vault_id) else { return Ok(false) };
    let sql = "UPDATE research_prediction SET is_client_visible = $4 \
               WHERE vault_id = $1 AND horizon_days = $2 AND date_trunc('second', made_at) = $3";
    let changed = sqlx::query(sql)
        .bind(vault_id)
        .bind(days(ahead)) // $2 horizon_days
        .bind(At(Timestamp::from_seconds(made_at)))
        .bind(visible) // $4 is_client_visible
        .execute(&mut **tx)
        .await?;
    Ok(changed.rows_affected() > 0)
}

#[derive(FromRow)]
struct PredictionRow {
    vault_id: String,
    #[sqlx(try_from = "DbHorizon", rename = "horizon_days")]
    horizon: Horizon,
    made_at: At,
    due_at: At,
    model_version: String,
    score: DbMilliPoints,
    tier: DbEnum<Tier>,
    outcome: DbEnum<PredictionOutcome>,
    drawdown_bp: Option<i64>,
    #[sqlx(try_from = "Nullable<At>")]
    resolved_at: Option<Timestamp>,
    provided_by: Option<String>,
    total: i64,
}

fn prediction(row: PredictionRow) -> Prediction {
    Prediction {
        id: format!("{}/{}/{}", row.vault_id, row.horizon, row.made_at.0.as_seconds()),
        vault_id: row.vault_id,
        model_version: row.model_version,
        stage: PREVIEW_STAGE,
        horizon: row.horizon,
        made_at: row.made_at.into(),
        due_at: row.due_at.into(),
        score: row.score.into(),
        tier: row.tier.into(),
        outcome: row.outcome.into(),
        drawdown: row.drawdown_bp.map(|bp| Ppm(bp * 100)),
        resolved_at: row.resolved_at,
        provided_by: row.provided_by,
    }
}

fn days(horizon: Horizon) -> i32 {
    i32::try_from(horizon.days()).unwrap_or(i32::MAX)
}

/// The horizon with this number of days.
pub fn horizon(days: i32) -> Option<Horizon> {
    Horizon::ALL.iter().copied().find(|horizon| horizon.days() == i64::from(days))
}
