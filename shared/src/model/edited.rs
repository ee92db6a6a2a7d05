//! An encoded row as the difference to another one: a vault's row of the bulk scores repeats most of its row in the list.

use super::encoded::EncodedRow;
use crate::wire::SharedBytes;
use crate::wire::edits;
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// What makes an encoded row of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedRow {
    /// The record of the edits.
    edits: SharedBytes,
    slot: Option<usize>,
    last_synced_at: Option<Timestamp>,
    version: u64,
}

impl EditedRow {
    /// What makes `row` of `other`.
    pub fn between(other: &EncodedRow, row: &EncodedRow) -> Self {
        let mut record = Vec::new();
        edits::put(&edits::between(&other.bytes, &row.bytes), &mut record);
        EditedRow { edits: record.into(), slot: row.slot, last_synced_at: row.last_synced_at, version: row.version }
    }

    /// Appends it as a record, without the instant that the row's freshness counts from.
    pub fn write_record(&self, out: &mut Vec<u8>) {
        record::put_u64(self.version, out);
        record::put_variable(self.slot.map_or(0, |slot| slot as u64), out);
        record::put_bytes(&self.edits, out);
    }

    /// Reads what [`write_record`](Self::write_record) wrote. `None` if it does not make a row of `other`.
    pub fn read_record(reader: &mut Reader<'_>, other: &EncodedRow, last_synced_at: Option<Timestamp>) -> Option<Self> {
        let (version, slot, edits) = (reader.u64()?, usize::try_from(reader.variable()?).ok()?, reader.part()?);
        let len = edits::made_len(&edits, other.bytes.len())?;
        // The slot follows its key, so it is not at the start.
        (slot <= len).then_some(EditedRow { edits, slot: (slot > 0).then_some(slot), last_synced_at, version })
    }

    /// The row that it makes of `other`, for which it was made. `None` for a row that is too short.
    pub fn of(&self, other: &EncodedRow) -> Option<EncodedRow> {
        Some(EncodedRow {
            bytes: edits::made(&self.edits, &other.bytes)?.into(),
            slot: self.slot,
            last_synced_at: self.last_synced_at,
            version: self.version,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::vault::tests::row;
    use super::super::vault_score::{ScoreFacts, VaultScoreRow};
    use super::*;

    const ID: &str = "demo-31337-0x00000000000000000000000000000000000000aa";

    #[test]
    fn a_score_row_takes_a_part_of_its_own_length_beside_the_list_row() {
        let synced = Some(Timestamp::from_seconds(1_795_219_200));
        let mut vault = row(ID);
        vault.last_synced_at = synced;
        let facts = ScoreFacts {
            is_active: true,
            run_id: Some("run-7".into()),
            computed_at: Some(Timestamp::from_seconds(1_795_219_100)),
            needs_risk_review: false,
        };
        let listed = EncodedRow::encode(&vault, synced).unwrap();
        let scores = EncodedRow::encode(&VaultScoreRow::of(&vault, facts), synced).unwrap();
        let edited = EditedRow::between(&listed, &scores);
        assert_eq!(edited.of(&listed), Some(scores.clone()));
        let mut record = Vec::new();
        edited.write_record(&mut record);
        assert!(record.len() * 2 < scores.bytes.len(), "{} of {} bytes", record.len(), scores.bytes.len());
        let read = |record: &[u8], other: &EncodedRow| EditedRow::read_record(&mut Reader::new(record), other, synced);
        assert_eq!(read(&record, &listed), Some(edited));
        assert_eq!(read(&record[..record.len() - 1], &listed), None);
        let short = EncodedRow::encode(&"short", None).unwrap();
        assert_eq!(read(&record, &short), None);
    }
}
