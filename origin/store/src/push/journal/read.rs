//! Reading the journal: its retained window, and the operations after a position.

use crate::columns::DbCursor;
use crate::db_enum::DbEnum;
use crate::decode::DbChainId;
use crate::{At, StoreError};
use rds_shared::model::ids::ChainId;
use rds_shared::push::Cursor;
use rds_shared::push::cursor::Jump;
use rds_shared::push::frames::Operation;
use rds_shared::push::stream_limits::REPLAY_WINDOW_SECONDS;
use rds_shared::wire::Timestamp;
use sqlx::{FromRow, PgExecutor};

/// The range of the journal at one instant.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Extent {
    /// The oldest operation in the window; one above `tail` if the window is empty.
    #[sqlx(try_from = "DbCursor")]
    pub floor: Cursor,
    /// The newest operation.
    #[sqlx(try_from = "DbCursor")]
    pub tail: Cursor,
    /// All jumps of the numbering (`journal::step`), oldest first.
    #[sqlx(flatten, try_from = "JumpColumns")]
    pub jumps: Vec<Jump>,
}

/// Reads the range in one statement, so that its parts belong to the same instant.
pub async fn extent(db: impl PgExecutor<'_>, now: Timestamp) -> Result<Extent, StoreError> {
    let sql = "
        -- journal_extent
        SELECT s.head AS tail,
            -- Instants grow with numbers, so the first by instant is the first by number.
            coalesce((SELECT j.seq FROM journal j WHERE j.at >= $1 ORDER BY j.at, j.seq LIMIT 1), s.head + 1) AS floor,
            (SELECT coalesce(array_agg(i.from_seq ORDER BY i.from_seq), '{}') FROM incarnation i) AS jumps_from,
            (SELECT coalesce(array_agg(i.to_seq ORDER BY i.from_seq), '{}') FROM incarnation i) AS jumps_to
        FROM journal_state s";
    Ok(sqlx::query_as(sql).bind(At(now.plus_seconds(-REPLAY_WINDOW_SECONDS))).fetch_one(db).await?)
}

/// Jumps as two parallel arrays: the heads before and after each jump.
#[derive(FromRow)]
pub(super) struct JumpColumns {
    jumps_from: Vec<i64>,
    jumps_to: Vec<i64>,
}

impl From<JumpColumns> for Vec<Jump> {
    fn from(JumpColumns { jumps_from, jumps_to }: JumpColumns) -> Self {
        let cursor = |number: i64| Cursor::new(number.unsigned_abs());
        let jump = |(from, to)| Jump { from: cursor(from), to: cursor(to) };
        jumps_from.into_iter().zip(jumps_to).map(jump).collect()
    }
}

/// Limits of one read.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// Maximum number of operations.
    pub rows: u32,
    /// Maximum total size of the operations' content in bytes. The last operation may exceed this limit, so that at least one is returned.
    pub bytes: i64,
}

/// The operations after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// In order of their numbers.
    pub entries: Vec<Entry>,
    /// Whether more may follow.
    pub more: bool,
}

/// One numbered operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Sequence number.
    pub seq: u64,
    /// What a stream sends for the operation. `None` if it is not for streams, if one of its chains is withheld now, or if it does not concern
    /// the requested vault.
    pub told: Option<StreamContent>,
    /// Whether the operation still exists. It is missing only if it has left the window or was removed by hand.
    pub is_whole: bool,
}

/// What a stream sends for an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamContent {
    /// Kind of the stream's frame.
    pub operation: Operation,
    /// Vaults that the operation concerns.
    pub vaults: Vec<String>,
    /// The event as JSON, as it was when the operation was appended.
    pub row: String,
}

/// The entries above `after`, in order, within the limits `most`. With `vault`, only operations that concern it have content.
pub async fn after(
    db: impl PgExecutor<'_>,
    after: u64,
    most: ReadLimits,
    vault: Option<&str>,
) -> Result<Stretch, StoreError> {
    // Sizes are computed without reading the bodies, so bodies beyond the limit are not even decompressed.
    let sql = "
        -- journal_after
        SELECT seq, is_whole, stream_op, vault_ids, body, bytes FROM (
            SELECT j.seq, o.id IS NOT NULL AS is_whole, CASE WHEN s.told THEN o.stream_op END AS stream_op,
                CASE WHEN s.told THEN o.vault_ids END AS vault_ids, CASE WHEN s.told THEN o.body END AS body, w.own,
                sum(w.own) OVER (ORDER BY j.seq ROWS UNBOUNDED PRECEDING) AS bytes
            FROM (SELECT seq, operation_id, recorded_at FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2) j
            -- Looked up row by row, and judged once a row, however few the planner takes the rest to be: that is what the offsets are for.
            LEFT JOIN LATERAL (
                SELECT * FROM push_operation p WHERE p.id = j.operation_id AND p.recorded_at = j.recorded_at OFFSET 0) o ON TRUE
            CROSS JOIN LATERAL (
                SELECT o.stream_op IS NOT NULL AND ($3::text IS NULL OR $3 = ANY (o.vault_ids)) AND NOT EXISTS (
                    SELECT FROM chain c WHERE c.chain_id = ANY (o.chain_ids) AND NOT c.is_served) AS told OFFSET 0) s
            CROSS JOIN LATERAL (
                SELECT CASE WHEN s.told THEN octet_length(o.body) + 64 * cardinality(o.vault_ids) ELSE 0 END AS own OFFSET 0) w
        ) r
        WHERE bytes - own < $4
        ORDER BY seq";
    let rows: Vec<EntryRow> = sqlx::query_as(sql)
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(i64::from(most.rows)) // $2 limit of rows
        .bind(vault) // $3 vault_id
        .bind(most.bytes) // $4 limit of bytes
        .fetch_all(db)
        .await?;
    let more = rows.len() == most.rows as usize || rows.last().is_some_and(|row| row.bytes >= most.bytes);
    let entries = rows.into_iter().map(entry).collect::<Result<_, _>>()?;
    Ok(Stretch { entries, more })
}

#[derive(FromRow)]
struct EntryRow {
    seq: i64,
    is_whole: bool,
    stream_op: Option<DbEnum<Operation>>,
    vault_ids: Option<Vec<String>>,
    body: Option<Vec<u8>>,
    /// Size of the content up to this row.
    bytes: i64,
}

fn entry(row: EntryRow) -> Result<Entry, StoreError> {
    let told = content(row.stream_op, row.vault_ids, row.body)?;
    Ok(Entry { seq: row.seq.unsigned_abs(), told, is_whole: row.is_whole })
}

/// The content of an operation; `None` without a kind of frame.
pub(super) fn content(
    stream_op: Option<DbEnum<Operation>>,
    vault_ids: Option<Vec<String>>,
    body: Option<Vec<u8>>,
) -> Result<Option<StreamContent>, StoreError> {
    let Some(DbEnum(operation)) = stream_op else { return Ok(None) };
    let row = String::from_utf8(body.unwrap_or_default())
        .map_err(|_| StoreError::Corrupt { column: "push_operation.body", text: "not UTF-8".to_owned() })?;
    Ok(Some(StreamContent { operation, vaults: vault_ids.unwrap_or_default(), row }))
}

/// The last assigned number.
pub async fn head(db: impl PgExecutor<'_>) -> Result<u64, StoreError> {
    let head: i64 = sqlx::query_scalar("SELECT head FROM journal_state").fetch_one(db).await?;
    Ok(head.unsigned_abs())
}

/// The withheld chains, in ascending order. Their operations are not sent to anybody, even if they were captured before the chain was
/// withheld.
pub async fn withheld(db: impl PgExecutor<'_>) -> Result<Vec<ChainId>, StoreError> {
    let sql = "/* withheld_chains */ SELECT chain_id FROM chain WHERE NOT is_served ORDER BY chain_id";
    let ids: Vec<DbChainId> = sqlx::query_scalar(sql).fetch_all(db).await?;
    Ok(ids.into_iter().map(ChainId::from).collect())
}
