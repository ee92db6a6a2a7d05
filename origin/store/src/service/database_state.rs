//! State of the database and of the service's work in it, for operators.

use crate::scoring::scores;
use crate::{At, Db, StoreError};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// The state at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub struct ServiceState {
    /// The latest run over all vaults: completion time, number of vaults evaluated, number of published scores changed.
    #[sqlx(skip)]
    pub last_run: Option<(Timestamp, (i64, i64))>,
    /// Completion time of the latest published run over all vaults; before there is one, of the first run of any scope.
    #[sqlx(skip)]
    pub run_since: Option<Timestamp>,
    /// Number of active, paused and disabled webhook subscriptions.
    pub webhooks: [i64; 3],
    /// Size of the database in bytes.
    pub size_bytes: i64,
    /// Client connections to the server, from all clients.
    pub connections: i64,
    /// The server's `max_connections`.
    pub connections_limit: i64,
    /// Age in seconds of the oldest open transaction that has written something.
    pub oldest_writer_seconds: i64,
}

pub async fn read(db: &Db) -> Result<ServiceState, StoreError> {
    let run = "
        -- service_state_run
        SELECT completed_at, vaults, changes FROM score_run WHERE scope = 'all' ORDER BY version DESC LIMIT 1";
    let run: Option<(At, i64, i64)> = sqlx::query_as(run).fetch_optional(&db.pool).await?;
    let rest = "
        -- service_state
        SELECT (SELECT ARRAY[count(*) FILTER (WHERE status = 'active'), count(*) FILTER (WHERE status = 'paused'),
                             count(*) FILTER (WHERE status = 'disabled')] FROM webhook_subscription) AS webhooks,
               pg_database_size(current_database()) AS size_bytes,
               client_connections() AS connections,
               current_setting('max_connections')::bigint AS connections_limit,
               oldest_writer_seconds() AS oldest_writer_seconds";
    let rest: ServiceState = sqlx::query_as(rest).fetch_one(&db.pool).await?;
    Ok(ServiceState {
        run_since: scores::last_whole_run(&db.pool).await?.map(Timestamp::from),
        last_run: run.map(|(at, vaults, changes)| (at.into(), (vaults, changes))),
        ..rest
    })
}
