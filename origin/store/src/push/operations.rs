//! Operations that subscribers receive, appended in the transaction of the change.

use crate::ingest::facts::json_array;
use crate::{At, StoreError, Tx};
use rds_shared::push::event_type::EventType;

/// The notification channel for appended operations; it wakes the sequencers. A lost notification only delays the numbering, because
/// sequencers also poll.
///
/// Commits that notify wait for each other, so while several producers commit at the same time, none notifies: the sequencer then numbers on
/// its own beat (`journal_state.is_busy`).
pub const CHANNEL: &str = "operations";

/// An operation to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    /// Event type for webhooks; `None` if only streams get it.
    pub family: Option<EventType>,
    /// Kind of frame for streams; `None` if streams do not get it.
    pub stream_op: Option<&'static str>,
    /// Id of the row as the API serves it.
    pub event_id: String,
    /// Vaults that the operation concerns.
    pub vault_ids: Vec<String>,
    /// Chains that the operation concerns.
    pub chain_ids: Vec<i64>,
    /// The row as the API serves it at this instant, as JSON.
    pub body: String,
}

/// Appends operations in the given order. Takes no lock; the sequencer, which the commit wakes, assigns their numbers.
pub async fn append(tx: &mut Tx<'_>, recorded_at: At, rows: &[OperationRow]) -> Result<(), StoreError> {
    match rows {
        [] => Ok(()),
        [row] => append_one(tx, recorded_at, row).await,
        rows => append_all(tx, recorded_at, rows).await,
    }
}

/// Most transactions append one operation, which needs no unpacking and sorting.
async fn append_one(tx: &mut Tx<'_>, recorded_at: At, row: &OperationRow) -> Result<(), StoreError> {
    let OperationRow { family, stream_op, event_id, vault_ids, chain_ids, body } = row;
    let sql = format!(
        "/* append_operation */ WITH appended AS (\
             INSERT INTO push_operation (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)) \
         SELECT pg_notify('{CHANNEL}', '') FROM journal_state WHERE NOT is_busy"
    );
    sqlx::query(&sql)
        .bind(recorded_at)
        .bind(family.map(EventType::as_str))
        .bind(stream_op)
        .bind(event_id)
        .bind(vault_ids)
        .bind(chain_ids)
        .bind(body.as_bytes())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

async fn append_all(tx: &mut Tx<'_>, recorded_at: At, rows: &[OperationRow]) -> Result<(), StoreError> {
    fn column<'r, T>(rows: &'r [OperationRow], read: impl Fn(&'r OperationRow) -> T) -> Vec<T> {
        rows.iter().map(read).collect()
    }
    let vaults = rows.iter().map(|row| json_array(&row.vault_ids)).collect::<Result<Vec<_>, _>>()?;
    let chains = rows.iter().map(|row| json_array(&row.chain_ids)).collect::<Result<Vec<_>, _>>()?;
    // Ids are drawn after the sort, so they follow the given order.
    let sql = format!(
        "/* append_operations */ WITH appended AS (\
         INSERT INTO push_operation (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body) \
         SELECT $1, r.family, r.stream_op, r.event_id, ARRAY(SELECT json_array_elements_text(r.vault_ids::json)), \
                ARRAY(SELECT json_array_elements_text(r.chain_ids::json)::bigint), convert_to(r.body, 'UTF8') \
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY \
              AS r (family, stream_op, event_id, vault_ids, chain_ids, body, place) \
         ORDER BY r.place) \
         SELECT pg_notify('{CHANNEL}', '') FROM journal_state WHERE NOT is_busy"
    );
    sqlx::query(&sql)
        .bind(recorded_at)
        .bind(column(rows, |row| row.family.map(EventType::as_str)))
        .bind(column(rows, |row| row.stream_op))
        .bind(column(rows, |row| row.event_id.as_str()))
        .bind(vaults) // $5 vault_ids
        .bind(chains) // $6 chain_ids
        .bind(column(rows, |row| row.body.as_str()))
        .execute(&mut **tx)
        .await?;
    Ok(())
}
