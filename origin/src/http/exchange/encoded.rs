//! Answers assembled from encoded rows: the rows' bytes are copied into one buffer of known size and are not serialised again.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use rds_shared::model::EncodedRow;
use rds_shared::model::vault_changes::ChangesMeta;
use rds_shared::wire::{Data, Timestamp};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Maximum bytes of the envelope around the rows.
const ENVELOPE_BYTES: usize = 160;

/// `{"data":{"vaults":[…],"cursor":"…"},"meta":{…}}`: a page of the change feed. `cursor` needs no escapes.
pub fn changes(rows: &[EncodedRow], cursor: &str, meta: ChangesMeta, now: Timestamp) -> Vec<u8> {
    let rows_len = rows.iter().map(|row| row.max_len() + 1).sum::<usize>();
    let mut body = Vec::with_capacity(ENVELOPE_BYTES + cursor.len() + rows_len);
    body.extend_from_slice(b"{\"data\":{\"vaults\":");
    EncodedRow::write_array(rows, now, &mut body);
    body.extend_from_slice(b",\"cursor\":\"");
    body.extend_from_slice(cursor.as_bytes());
    body.extend_from_slice(b"\"},");
    meta.write_json(&mut body);
    body.push(b'}');
    body
}

/// `{"data":…}` of a value that does not depend on the clock: serialised once, for the ETag and for the body.
pub fn data_with_body_etag<T: Serialize>(call: &Call, version: i64, data: &T) -> Result<Answer, Failure> {
    json_with_body_etag(call, version, &Data { data })
}

/// A serialised value. Its ETag is made from `content`: the same value without its clock-dependent parts.
pub fn json_with_etag_of<C: Serialize, T: Serialize>(
    call: &Call,
    version: i64,
    content: &C,
    body: impl FnOnce() -> T,
) -> Result<Answer, Failure> {
    let mut etag = call.etag();
    etag.add(&serde_json::to_vec(content)?);
    call.try_answer(etag, version, || Ok(serde_json::to_vec(&body())?))
}

/// A serialised value that does not depend on the clock: its ETag is made from the body.
pub fn json_with_body_etag(call: &Call, version: i64, value: &impl Serialize) -> Result<Answer, Failure> {
    let body = serde_json::to_vec(value)?;
    let mut etag = call.etag();
    etag.add(&body);
    Ok(call.answer(etag, version, || body))
}

/// An encoded row inside a serialised value.
#[derive(Debug, Clone, Copy)]
pub enum EmbeddedRow<'a> {
    /// The row's bytes as of this instant.
    At(&'a EncodedRow, Timestamp),
    /// The row's version only, for an ETag.
    Version(&'a EncodedRow),
}

impl Serialize for EmbeddedRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error;
        match self {
            EmbeddedRow::Version(row) => row.version().serialize(serializer),
            EmbeddedRow::At(row, now) => {
                let mut bytes = Vec::with_capacity(row.max_len());
                row.write(*now, &mut bytes);
                let raw: &RawValue = serde_json::from_slice(&bytes).map_err(S::Error::custom)?;
                raw.serialize(serializer)
            }
        }
    }
}
