//! Daily sums of a vault's observations, so that a score run reads what changed instead of a year of every vault.
//!
//! A trigger marks every day whose observations change, whoever writes them (`vault_day_change`). [`refresh`] recomputes the sums of marked
//! days from the observations, so late observations, corrections and deletions are handled like new ones. A vault has sums once it has a
//! row in `vault_sums`; until then its observations are read directly.
//!
//! # Invariants
//!
//! - Daily sums follow from `vault_snapshot` alone. A trigger marks every day whose observations change, whoever writes them; a run computes marked
//!   days again under the writers' lock. A vault without sums is scored from its observations (`origin/tests/it/vaults/days.rs`).

mod signals;
mod sql;

pub use signals::{signals, signals_at};
pub(crate) use sql::HIGH_UTILIZATION;

use crate::{At, Db, StoreError, Tx};
use sqlx::PgExecutor;
use std::collections::HashSet;

/// Key of the advisory lock for first-time summing: one process does it, because two would do the same work.
const FILL_LOCK: i64 = 0x7264_735f_6461_7973;

/// Vaults per statement: summing their changed days takes about a second, and a statement must stay well below minutes.
const VAULTS_PER_STATEMENT: usize = 1_000;

/// The ids that have daily sums.
pub async fn summed(executor: impl PgExecutor<'_>, ids: &[String]) -> Result<HashSet<String>, StoreError> {
    let sql = "SELECT vault_id FROM vault_sums WHERE vault_id = ANY($1)";
    let summed: Vec<String> = sqlx::query_scalar(sql).bind(ids).fetch_all(executor).await?;
    Ok(summed.into_iter().collect())
}

/// Recomputes the marked days of those of `ids` that have daily sums; returns the number of days.
///
/// The caller holds the writers' lock: of two transactions that sum one day, each would miss the other's uncommitted rows.
pub async fn refresh(tx: &mut Tx<'_>, ids: &[String]) -> Result<u64, StoreError> {
    let mut days = 0;
    for ids in ids.chunks(VAULTS_PER_STATEMENT) {
        days += refresh_some(tx, ids).await?;
    }
    Ok(days)
}

async fn refresh_some(tx: &mut Tx<'_>, ids: &[String]) -> Result<u64, StoreError> {
    let any = "SELECT EXISTS (SELECT FROM vault_day_change WHERE vault_id = ANY($1))";
    if !sqlx::query_scalar::<_, bool>(any).bind(ids).fetch_one(&mut **tx).await? {
        return Ok(0);
    }
    // Marks and observations are read in one snapshot: a mark that is deleted here belongs to observations that are counted here.
    let sql = format!(
        "WITH told AS ( \
             DELETE FROM vault_day_change c USING vault_sums k \
             WHERE c.vault_id = ANY($1) AND k.vault_id = c.vault_id RETURNING c.vault_id, c.day \
         ), asked AS MATERIALIZED ( \
             SELECT vault_id, day FROM told \
             UNION SELECT t.vault_id, next.day FROM (SELECT DISTINCT vault_id, day FROM told) AS t \
                   CROSS JOIN LATERAL (SELECT d.day FROM vault_day d \
                                       WHERE d.vault_id = t.vault_id AND d.day > t.day AND d.high IS NOT NULL \
                                       ORDER BY d.day LIMIT 1) AS next \
         ), sums AS MATERIALIZED ({sums}), gone AS ( \
             DELETE FROM vault_day d USING asked a WHERE d.vault_id = a.vault_id AND d.day = a.day \
                 AND NOT EXISTS (SELECT FROM sums s WHERE s.vault_id = a.vault_id AND s.day = a.day) \
         ), opened AS ( \
             UPDATE vault_sums k SET closed_to = NULL \
             FROM (SELECT vault_id, min(day) AS day FROM told GROUP BY vault_id) AS t \
             WHERE t.vault_id = k.vault_id AND t.day <= k.closed_to \
         ) {write}",
        sums = sql::day_sums("asked"),
        write = sql::write_days("sums"),
    );
    let days: Vec<(String, i32)> = sqlx::query_as(&sql).bind(ids).fetch_all(&mut **tx).await?;
    note_leaps(tx, &days).await?;
    Ok(days.len() as u64)
}

/// Sets `leapt_at` of days that were just written, if the day's first price leapt from the last price of an earlier day
/// ([`sql::note_leaps`]).
async fn note_leaps(tx: &mut Tx<'_>, days: &[(String, i32)]) -> Result<(), StoreError> {
    let (vaults, numbers): (Vec<&str>, Vec<i32>) = days.iter().map(|(vault, number)| (vault.as_str(), *number)).unzip();
    sqlx::query(&sql::note_leaps()).bind(vaults).bind(numbers).execute(&mut **tx).await?;
    Ok(())
}

/// Recomputes all marked days of all vaults with daily sums; returns the number of days.
///
/// The caller holds the writers' lock.
pub async fn refresh_all(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let sql = "SELECT DISTINCT vault_id FROM vault_day_change JOIN vault_sums USING (vault_id)";
    let ids: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut **tx).await?;
    refresh(tx, &ids).await
}

/// Sums at most `n` vaults for the first time, in one transaction, and closes their days as of `now`. Returns the number of vaults; 0 while
/// another process does it.
///
/// It does not wait for writers and does not block them: the marks of concurrent writes remain.
pub async fn fill(db: &Db, n: u32, now: At) -> Result<u64, StoreError> {
    db.run_tx("daily sums", move |tx| {
        Box::pin(async move {
            let turn = "SELECT pg_try_advisory_xact_lock($1)";
            if !sqlx::query_scalar::<_, bool>(turn).bind(FILL_LOCK).fetch_one(&mut **tx).await? {
                return Ok(0);
            }
            let ids: Vec<String> = sqlx::query_scalar(
                "SELECT v.id FROM vault v WHERE NOT EXISTS (SELECT FROM vault_sums k WHERE k.vault_id = v.id) \
                 ORDER BY v.id COLLATE \"C\" LIMIT $1",
            )
            .bind(i64::from(n))
            .fetch_all(&mut **tx)
            .await?;
            if ids.is_empty() {
                return Ok(0);
            }
            // Marks are deleted first: a mark that is visible here belongs to observations that the next statement sees.
            let forget = "DELETE FROM vault_day_change WHERE vault_id = ANY($1)";
            sqlx::query(forget).bind(&ids).execute(&mut **tx).await?;
            // A vault that had sums before, and is summed again, still has days.
            let clear = "DELETE FROM vault_day WHERE vault_id = ANY($1)";
            sqlx::query(clear).bind(&ids).execute(&mut **tx).await?;
            let begin = "INSERT INTO vault_sums (vault_id) SELECT unnest($1::text[])";
            sqlx::query(begin).bind(&ids).execute(&mut **tx).await?;
            let sum = format!(
                "WITH asked AS MATERIALIZED ( \
                     SELECT v.id AS vault_id, vault_day_of(span.first_at) + day AS day FROM unnest($1::text[]) AS v (id) \
                     CROSS JOIN LATERAL (SELECT min(observed_at) AS first_at, max(observed_at) AS last_at \
                                         FROM vault_snapshot h WHERE h.vault_id = v.id) AS span \
                     CROSS JOIN LATERAL generate_series(0, vault_day_of(span.last_at) - vault_day_of(span.first_at)) AS day \
                 ), sums AS MATERIALIZED ({sums}) {write}",
                sums = sql::day_sums("asked"),
                write = sql::write_days("sums"),
            );
            let days: Vec<(String, i32)> = sqlx::query_as(&sum).bind(&ids).fetch_all(&mut **tx).await?;
            note_leaps(tx, &days).await?;
            // Closing a year of days takes long. It is done here, where it delays no score run.
            signals::close_days(tx, &ids, now).await?;
            Ok::<u64, StoreError>(ids.len() as u64)
        })
    })
    .await
}
