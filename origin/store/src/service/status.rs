//! Samples and response counts of the status feed, and the time of the newest state observation.

use crate::decode::Nullable;
use crate::{At, Db, StoreError};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// Length of the shorter uptime window in minutes.
pub const DAY_MINUTES: u64 = 1_440;
/// Length of the longer uptime window in minutes: 30 days.
pub const MONTH_MINUTES: u64 = 30 * DAY_MINUTES;
/// Number of days for which samples are kept.
const KEPT_DAYS: i64 = 31;
/// Number of seconds for which response counts are kept. The comment on the table states the same number.
const TRAFFIC_SECONDS: i64 = 3_600;

/// Counts of responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct Tally {
    /// Number of all responses.
    #[sqlx(try_from = "i64")]
    pub requests: u64,
    /// Responses with a status of 500 or higher.
    #[sqlx(try_from = "i64")]
    pub failed: u64,
}

impl Tally {
    /// The sum of both tallies.
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            requests: self.requests.saturating_add(other.requests),
            failed: self.failed.saturating_add(other.failed),
        }
    }
}

/// Figures derived from the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Samples {
    /// Minutes of uptime in the last day; `None` while the samples do not go back that far.
    #[sqlx(try_from = "Nullable<i64>")]
    pub day: Option<u64>,
    /// Minutes of uptime in the last 30 days; `None` while the samples do not go back that far.
    #[sqlx(try_from = "Nullable<i64>")]
    pub month: Option<u64>,
    /// Number of consecutive failed samples from outside up to the newest; `None` without such a sample in the last 15 minutes.
    #[sqlx(try_from = "Nullable<i64>")]
    pub failed_in_a_row: Option<u64>,
}

/// The figures at `now`. The current minute does not count.
pub async fn samples(db: &Db, now: Timestamp) -> Result<Samples, StoreError> {
    let sql = "
        -- status_samples
        WITH until AS (SELECT date_trunc('minute', $1::timestamptz) AS at),
             first AS (SELECT min(minute) AS at FROM status_sample),
             ups AS (
                 SELECT count(*) FILTER (WHERE minute >= until.at - interval '1 day') AS day, count(*) AS month
                 FROM status_sample, until
                 WHERE is_up AND minute >= until.at - interval '30 days' AND minute < until.at
             ),
             tried AS (
                 SELECT minute, reached FROM status_sample, until
                 WHERE reached IS NOT NULL AND minute > until.at - interval '1 day' AND minute <= until.at
             )
        SELECT CASE WHEN first.at <= until.at - interval '1 day' THEN ups.day END AS day,
               CASE WHEN first.at <= until.at - interval '30 days' THEN ups.month END AS month,
               CASE WHEN (SELECT max(minute) > until.at - interval '15 minutes' FROM tried)
                    THEN (SELECT count(*) FROM tried
                          WHERE minute > coalesce((SELECT max(minute) FROM tried WHERE reached), '-infinity')) END AS failed_in_a_row
        FROM until, first, ups";
    Ok(sqlx::query_as(sql).bind(At(now)).fetch_one(&db.pool).await?)
}

/// Records whether a process found the service up in the minute of `now`; returns whether this was the minute's first record.
pub async fn note_sample(db: &Db, now: Timestamp, is_up: bool) -> Result<bool, StoreError> {
    let sql = "
        -- note_status_sample
        INSERT INTO status_sample (minute, is_up) VALUES (date_trunc('minute', $1::timestamptz), $2)
        ON CONFLICT (minute) DO UPDATE SET is_up = status_sample.is_up OR excluded.is_up
        RETURNING xmax = 0";
    Ok(sqlx::query_scalar(sql).bind(At(now)).bind(is_up).fetch_one(&db.pool).await?)
}

/// Records whether the service was reached from outside in the minute of `now`.
pub async fn note_reached(db: &Db, now: Timestamp, reached: bool) -> Result<(), StoreError> {
    let sql = "
        -- note_status_reached
        UPDATE status_sample SET reached = $2 WHERE minute = date_trunc('minute', $1::timestamptz)";
    sqlx::query(sql).bind(At(now)).bind(reached).execute(&db.pool).await?;
    Ok(())
}

/// Records a process's responses in the minute of `at` so far.
pub async fn note_traffic(db: &Db, at: Timestamp, process: i64, tally: Tally) -> Result<(), StoreError> {
    let sql = "
        -- note_status_traffic
        INSERT INTO status_traffic (minute, process, requests, failed)
        VALUES (date_trunc('minute', $1::timestamptz), $2, $3, $4)
        ON CONFLICT (minute, process) DO UPDATE SET requests = excluded.requests, failed = excluded.failed";
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query(sql)
        .bind(At(at)) // $1 minute
        .bind(process)
        .bind(number(tally.requests))
        .bind(number(tally.failed))
        .execute(&db.pool)
        .await?;
    Ok(())
}

/// Records the responses that an edge has given without the origin, per minute. A count lower than the stored one arrived late and changes
/// nothing. Returns by how much the stored counts grew.
pub async fn note_edge_answers(db: &Db, source: i64, minutes: &[(Timestamp, Tally)]) -> Result<Tally, StoreError> {
    let sql = "
        -- note_edge_answers
        WITH told AS (
            SELECT date_trunc('minute', minute) AS minute, max(requests) AS requests, max(least(failed, requests)) AS failed
            FROM unnest($2::timestamptz[], $3::bigint[], $4::bigint[]) AS told (minute, requests, failed) GROUP BY 1
        ), before AS (
            SELECT minute, stored.requests, stored.failed
            FROM status_traffic AS stored JOIN told USING (minute) WHERE process = $1
        ), noted AS (
            INSERT INTO status_traffic (minute, process, requests, failed) SELECT minute, $1, requests, failed FROM told
            ON CONFLICT (minute, process) DO UPDATE
            SET requests = greatest(status_traffic.requests, excluded.requests),
                failed = least(greatest(status_traffic.failed, excluded.failed), greatest(status_traffic.requests, excluded.requests))
            RETURNING minute, requests, failed
        )
        SELECT coalesce(sum(noted.requests - coalesce(before.requests, 0)), 0)::bigint AS requests,
               coalesce(sum(noted.failed - coalesce(before.failed, 0)), 0)::bigint AS failed
        FROM noted LEFT JOIN before USING (minute)";
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let grown = sqlx::query_as(sql)
        .bind(source) // $1 process
        .bind(minutes.iter().map(|(at, _)| At(*at)).collect::<Vec<_>>()) // $2 minute
        .bind(minutes.iter().map(|(_, tally)| number(tally.requests)).collect::<Vec<_>>())
        .bind(minutes.iter().map(|(_, tally)| number(tally.failed)).collect::<Vec<_>>())
        .fetch_one(&db.pool)
        .await?;
    Ok(grown)
}

/// Responses of all processes except `process` in the minutes that began after `since`.
pub async fn traffic_of_others(db: &Db, process: i64, since: Timestamp) -> Result<Tally, StoreError> {
    let sql = "
        -- status_traffic_of_others
        SELECT coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(failed), 0)::bigint AS failed
        FROM status_traffic WHERE minute > $1 AND process <> $2";
    Ok(sqlx::query_as(sql).bind(At(since)).bind(process).fetch_one(&db.pool).await?)
}

/// Deletes samples and counts that are too old to be used.
pub async fn forget(db: &Db, now: Timestamp) -> Result<(), StoreError> {
    let sql = "/* forget_status_samples */ DELETE FROM status_sample WHERE minute < $1";
    sqlx::query(sql).bind(At(now.plus_seconds(-KEPT_DAYS * 86_400))).execute(&db.pool).await?;
    let sql = "/* forget_status_traffic */ DELETE FROM status_traffic WHERE minute < $1";
    sqlx::query(sql).bind(At(now.plus_seconds(-TRAFFIC_SECONDS))).execute(&db.pool).await?;
    Ok(())
}

/// Time of the newest state observation of a served vault, or of the newest block at which a served chain was read.
pub async fn newest_sync(db: &Db) -> Result<Option<Timestamp>, StoreError> {
    let sql = "
        -- newest_sync
        SELECT greatest(max(greatest(s.observed_at, s.read_at)),
                        (SELECT max(r.observed_at) FROM chain_sync r JOIN chain c USING (chain_id) WHERE c.is_served))
        FROM vault_state s JOIN vault v ON v.id = s.vault_id JOIN chain c ON c.chain_id = v.chain_id WHERE c.is_served";
    Ok(sqlx::query_scalar::<_, Option<At>>(sql).fetch_one(&db.pool).await?.map(Timestamp::from))
}
