//! Numbering of a few operations in one statement, which also returns their content: the process that numbered them need not read them.

use crate::db_enum::DbEnum;
use crate::push::journal::read::{Entry, content};
use crate::{At, StoreError};
use rds_shared::model::ids::ChainId;
use rds_shared::push::frames::Operation;
use rds_shared::wire::Timestamp;
use sqlx::{FromRow, PgConnection};

/// Maximum operations of the statement.
const MAX_OPERATIONS: i64 = 1_000;
/// Maximum size of the returned content in bytes. Larger operations are numbered, but not returned.
const MAX_BYTES: i64 = 8 << 20;

/// The result of [`number`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing has become visible since the last tick. `is_busy`: producers send no notifications.
    Nothing { head: u64, is_busy: bool },
    /// Another process holds the lock, or has numbered since this statement began.
    Taken { head: u64 },
    /// There are more operations than this statement numbers; none was numbered.
    TooMany { head: u64 },
    /// These operations were numbered.
    Numbered(Fresh),
}

/// Operations that were just numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// Number of operations.
    pub count: u64,
    /// The number of the last operation.
    pub head: u64,
    /// The operations in order, without gaps; `None` if their content is too large.
    pub entries: Option<Vec<Entry>>,
    /// The withheld chains by which the entries' content was chosen, in ascending order.
    pub withheld: Vec<ChainId>,
    /// When the oldest operation was recorded.
    pub recorded_at: Timestamp,
    /// Whether producers send no notifications from now on.
    pub is_busy: bool,
}

/// Numbers the operations that became visible since the last tick, unless they are too many.
///
/// All parts of the statement share one snapshot, which is taken before the lock. The operations are numbered only if the locked version of
/// the row is the one that the snapshot sees: then no tick has committed in between, and the snapshot is newer than the stored one. If
/// nothing is due, the statement takes no lock and writes nothing.
pub(super) async fn number(connection: &mut PgConnection, now: Timestamp) -> Result<Outcome, StoreError> {
    let sql = "
        -- journal_tick_of_few
        WITH cur AS MATERIALIZED (SELECT pg_current_snapshot() AS s),
        seen AS MATERIALIZED (SELECT ctid AS version, head, snap, is_busy FROM journal_state),
        -- As in the ticks of many: what the current snapshot sees and the stored one did not.
        fresh AS MATERIALIZED (
            (SELECT o.id, o.xid, o.recorded_at, o.stream_op, o.vault_ids, o.chain_ids, o.body FROM push_operation o, cur
             WHERE o.xid = ANY (ARRAY(SELECT pg_snapshot_xip((SELECT snap FROM seen)))) AND pg_visible_in_snapshot(o.xid, cur.s)
             UNION ALL
             SELECT o.id, o.xid, o.recorded_at, o.stream_op, o.vault_ids, o.chain_ids, o.body FROM push_operation o, cur
             WHERE o.xid >= (SELECT pg_snapshot_xmax(snap) FROM seen) AND o.xid < (SELECT pg_snapshot_xmax(s) FROM cur)
               AND pg_visible_in_snapshot(o.xid, cur.s))
            LIMIT $2 + 1),
        total AS MATERIALIZED (
            SELECT count(*) AS n, count(DISTINCT xid) AS producers, min(recorded_at) AS recorded_at,
                coalesce(sum(octet_length(body) + 64 * cardinality(vault_ids)), 0) AS bytes
            FROM fresh),
        turn AS MATERIALIZED (
            SELECT j.ctid AS version, j.head, greatest(j.head_at, $1) AS at FROM journal_state j, total
            WHERE total.n BETWEEN 1 AND $2 FOR UPDATE OF j SKIP LOCKED),
        placed AS MATERIALIZED (
            SELECT turn.head + row_number() OVER (ORDER BY fresh.id) AS seq, turn.at, fresh.*
            FROM fresh, turn, seen WHERE turn.version = seen.version),
        numbered AS (
            INSERT INTO journal (seq, operation_id, recorded_at, at) SELECT seq, id, recorded_at, at FROM placed RETURNING seq),
        advanced AS (
            UPDATE journal_state j
            SET head = j.head + total.n, head_at = turn.at, snap = cur.s, is_busy = j.is_busy OR total.producers > 1
            FROM turn, total, cur WHERE EXISTS (SELECT FROM numbered)
            RETURNING j.is_busy, pg_notify('journal', j.head::text)),
        withheld AS MATERIALIZED (
            SELECT coalesce(array_agg(chain_id ORDER BY chain_id), '{}') AS ids FROM chain WHERE NOT is_served)
        SELECT seen.head, total.n AS due, total.recorded_at, total.bytes <= $3 AS is_small, withheld.ids AS withheld,
            coalesce((SELECT is_busy FROM advanced), seen.is_busy) AS is_busy, placed.seq,
            CASE WHEN shown.told THEN placed.stream_op END AS stream_op, CASE WHEN shown.told THEN placed.vault_ids END AS vault_ids,
            CASE WHEN shown.told THEN placed.body END AS body
        FROM total CROSS JOIN seen CROSS JOIN withheld LEFT JOIN placed ON TRUE
        CROSS JOIN LATERAL (SELECT placed.stream_op IS NOT NULL AND total.bytes <= $3 AND NOT placed.chain_ids && withheld.ids AS told) shown
        ORDER BY placed.seq";
    let rows: Vec<FreshRow> = sqlx::query_as(sql)
        .bind(At(now)) // $1 at
        .bind(MAX_OPERATIONS)
        .bind(MAX_BYTES)
        .fetch_all(connection)
        .await?;
    let Some(first) = rows.first() else { return Ok(Outcome::Taken { head: 0 }) };
    let head = first.head.unsigned_abs();
    match (first.due, first.seq, first.recorded_at) {
        (0, ..) => Ok(Outcome::Nothing { head, is_busy: first.is_busy }),
        (due, ..) if due > MAX_OPERATIONS => Ok(Outcome::TooMany { head }),
        (due, Some(_), Some(At(recorded_at))) => {
            let (is_busy, is_small) = (first.is_busy, first.is_small);
            let count = due.unsigned_abs();
            let withheld = first.withheld.iter().map(|id| ChainId(id.unsigned_abs())).collect();
            let entries = match is_small {
                true => Some(rows.into_iter().map(entry).collect::<Result<_, _>>()?),
                false => None,
            };
            Ok(Outcome::Numbered(Fresh { count, head: head + count, entries, withheld, recorded_at, is_busy }))
        }
        _ => Ok(Outcome::Taken { head }),
    }
}

/// One row for each numbered operation, or one without a number if none was numbered.
#[derive(FromRow)]
struct FreshRow {
    /// The head before this statement.
    head: i64,
    /// Number of operations without a number, counted up to one more than the maximum.
    due: i64,
    recorded_at: Option<At>,
    is_small: bool,
    withheld: Vec<i64>,
    is_busy: bool,
    seq: Option<i64>,
    stream_op: Option<DbEnum<Operation>>,
    vault_ids: Option<Vec<String>>,
    body: Option<Vec<u8>>,
}

fn entry(row: FreshRow) -> Result<Entry, StoreError> {
    let told = content(row.stream_op, row.vault_ids, row.body)?;
    Ok(Entry { seq: row.seq.unwrap_or_default().unsigned_abs(), told, is_whole: true })
}
