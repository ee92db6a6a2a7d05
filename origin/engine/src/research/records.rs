//! Converts a document to a record with its id, content digest and gate.

use super::Run;
use rds_shared::model::research::{Claim, RecordKind};
use rds_shared::research::gates::{self, Unmet};
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_store::research::{self as table, NewRecord};
use rds_store::{At, StoreError, Tx};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes of the digest in a record's id, after its kind.
const ID_BYTES: usize = 8;

/// Stores the records of one run and counts them.
pub struct Kept {
    run: (i64, At),
    chain_ids: Vec<i64>,
    records: u64,
    promoted: u64,
}

impl Kept {
    pub fn new(run: (i64, At), chain_ids: Vec<i64>) -> Self {
        Kept { run, chain_ids, records: 0, promoted: 0 }
    }

    /// Stores a document. It passes its gate if `counted`, the number of rows that it is based on, is above 0.
    pub async fn document(
        &mut self,
        tx: &mut Tx<'_>,
        kind: RecordKind,
        key: &str,
        document: &impl Serialize,
        counted: u64,
    ) -> Result<(), StoreError> {
        let record = self.record(kind, key, document, gates::figure(counted))?;
        self.keep(tx, record).await
    }

    /// Stores a backtest with the unmet conditions of its gate.
    pub async fn backtest(
        &mut self,
        tx: &mut Tx<'_>,
        (key, outcome): (&str, &'static str),
        document: &impl Serialize,
        unmet: Vec<Unmet>,
    ) -> Result<(), StoreError> {
        let record = self.record(RecordKind::Backtest, key, document, unmet)?;
        self.keep(tx, NewRecord { outcome: Some(outcome), ..record }).await
    }

    /// Stores a claim with the unmet conditions of its gate.
    pub async fn claim(
        &mut self,
        tx: &mut Tx<'_>,
        key: &str,
        claim: &Claim,
        unmet: Vec<Unmet>,
    ) -> Result<(), StoreError> {
        let record = self.record(RecordKind::Claim, key, claim, unmet)?;
        self.keep(tx, of_claim(record, claim)).await
    }

    fn record(
        &self,
        kind: RecordKind,
        key: &str,
        document: &impl Serialize,
        unmet: Vec<Unmet>,
    ) -> Result<NewRecord, StoreError> {
        let model_version = (kind != RecordKind::Source).then(|| METHODOLOGY_VERSION.to_owned());
        Ok(NewRecord { model_version, ..new_record((kind, key), &self.run.0.to_be_bytes(), document, unmet)? })
    }

    async fn keep(&mut self, tx: &mut Tx<'_>, record: NewRecord) -> Result<(), StoreError> {
        let (run_id, now) = self.run;
        if table::keep(tx, (Some(run_id), now), &self.chain_ids, &record).await? {
            self.records += 1;
            self.promoted += u64::from(record.unmet.is_empty());
        }
        Ok(())
    }

    pub fn into_run(self) -> Run {
        Run { records: self.records, promoted: self.promoted, ..Run::default() }
    }
}

/// A record of a document. The record's id is derived from the key, the content, and `said`: the number of the run, or the instant of the
/// source's statement.
pub(super) fn new_record(
    (kind, key): (RecordKind, &str),
    said: &[u8],
    document: &impl Serialize,
    unmet: Vec<Unmet>,
) -> Result<NewRecord, StoreError> {
    let encode = |error: serde_json::Error| StoreError::Internal(sqlx::Error::Encode(error.into()));
    let text = serde_json::to_string(document).map_err(encode)?;
    let content_hash: [u8; 32] = Sha256::digest(&text).into();
    let named = Sha256::new().chain_update(key).chain_update(said).chain_update(content_hash);
    let mut id = kind.as_str().replace('_', "-");
    id.push('-');
    for byte in &named.finalize()[..ID_BYTES] {
        // Writing to a `String` cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    let body: Value = serde_json::from_str(&text).map_err(encode)?;
    Ok(NewRecord {
        id,
        kind,
        record_key: key.to_owned(),
        model_version: None,
        level: None,
        surface: None,
        outcome: None,
        provided_by: None,
        body,
        content_hash,
        unmet: unmet.into_iter().map(|lack| lack.as_str().to_owned()).collect(),
    })
}

/// Adds level and surface, by which claims are filtered.
pub(super) fn of_claim(record: NewRecord, claim: &Claim) -> NewRecord {
    NewRecord { level: Some(claim.level.as_str()), surface: Some(claim.surface.clone().into_owned()), ..record }
}
