//! How the database and what runs in it stand, for operators.

use super::{At, Db, StoreError, scores};
use rds_shared::wire::Timestamp;

/// How things stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// When the latest run over every vault completed, and how many vaults it evaluated and published scores it changed.
    pub last_run: Option<(Timestamp, (i64, i64))>,
    /// Since when a run over every vault has been awaited: the latest that was published, or where there is none yet, the first scores.
    pub run_since: Option<Timestamp>,
    /// Webhooks that are active, paused and disabled.
    pub webhooks: [i64; 3],
    /// Bytes of the database on its disk.
    pub size_bytes: i64,
    /// Connections of everybody to the server.
    pub connections: i64,
    /// How many it takes.
    pub connections_limit: i64,
    /// Seconds since the oldest transaction began that has written something and is still open.
    pub oldest_writer_seconds: i64,
}

/// Seconds since the oldest transaction began that has written something and is still open, as an expression.
pub(super) const OLDEST_WRITER_SECONDS: &str = "(select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::bigint \
      from pg_stat_activity where backend_xid is not null and datname = current_database())";

/// Reads it.
pub async fn standing(db: &Db) -> Result<Standing, StoreError> {
    let run = "
        -- standing_run
        select completed_at, vaults, changes from score_run where scope = 'all' order by version desc limit 1";
    let run: Option<(At, i64, i64)> = sqlx::query_as(run).fetch_optional(&db.pool).await?;
    let rest = format!(
        "
        -- standing
        select (select count(*) filter (where status = 'active') from webhook_subscription),
               (select count(*) filter (where status = 'paused') from webhook_subscription),
               (select count(*) filter (where status = 'disabled') from webhook_subscription),
               pg_database_size(current_database()),
               (select count(*) from pg_stat_activity where backend_type = 'client backend'),
               current_setting('max_connections')::bigint,
               {OLDEST_WRITER_SECONDS}"
    );
    let (active, paused, disabled, size_bytes, connections, connections_limit, oldest_writer_seconds): (
        i64,
        i64,
        i64,
        i64,
        i64,
        i64,
        i64,
    ) = sqlx::query_as(&rest).fetch_one(&db.pool).await?;
    Ok(Standing {
        run_since: scores::last_whole_run(&db.pool).await?.map(Timestamp::from),
        last_run: run.map(|(at, vaults, changes)| (at.into(), (vaults, changes))),
        webhooks: [active, paused, disabled],
        size_bytes,
        connections,
        connections_limit,
        oldest_writer_seconds,
    })
}
