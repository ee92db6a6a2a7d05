//! The operations that subscribers are told of: appended by whoever makes the change, in its transaction.

use super::{At, StoreError, Tx};

/// One operation, ready to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    /// Whom webhooks deliver it to; none is for the stream alone.
    pub family: Option<&'static str>,
    /// The stream's frame; none is not for the stream.
    pub stream_op: Option<&'static str>,
    /// The row's id as the API serves it.
    pub event_id: String,
    /// The vaults it concerns.
    pub vault_ids: Vec<String>,
    /// The chains it concerns.
    pub chain_ids: Vec<i64>,
    /// JSON, as the API serves the row at this instant.
    pub body: Vec<u8>,
}

/// Appends operations in their order. Takes no lock: whoever delivers them gives them their place.
pub async fn append(tx: &mut Tx<'_>, recorded_at: At, rows: &[OperationRow]) -> Result<(), StoreError> {
    for row in rows {
        sqlx::query(
            "INSERT INTO push_operation (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(recorded_at)
        .bind(row.family)
        .bind(row.stream_op)
        .bind(&row.event_id)
        .bind(&row.vault_ids)
        .bind(&row.chain_ids)
        .bind(&row.body)
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}
