//! The answer of the change feed, `GET /v1/vaults/changes`.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::vault_score::VaultScoreRow;
use crate::wire::page::write_u64;

/// `data` of `GET /v1/vaults/changes`: one page of the feed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultChanges {
    /// Rows in their current state, in the order in which their changes became visible.
    pub vaults: Vec<VaultScoreRow>,
    /// Value of `since` for the next request. It is always present, also on the last page, where it selects the changes that follow later.
    pub cursor: String,
}

/// `meta` of `GET /v1/vaults/changes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangesMeta {
    /// Number of rows from `since` on, including those of this page.
    pub total: u64,
    /// Rows per page, after clamping.
    pub limit: u64,
    /// Whether more rows follow this page.
    pub has_more: bool,
}

impl ChangesMeta {
    /// Appends `"meta":{…}` as JSON text. It is written without serde, because the response is concatenated from rows that are already
    /// encoded.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"meta\":{\"total\":");
        write_u64(self.total, out);
        out.extend_from_slice(b",\"limit\":");
        write_u64(self.limit, out);
        out.extend_from_slice(if self.has_more { b",\"has_more\":true}" } else { b",\"has_more\":false}" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hand_written_meta_is_what_serde_would_write() {
        for has_more in [true, false] {
            let meta = ChangesMeta { total: 12_345, limit: 500, has_more };
            let mut out = alloc::vec![b'{'];
            meta.write_json(&mut out);
            out.push(b'}');
            let wrapped: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(wrapped["meta"], serde_json::to_value(meta).unwrap());
        }
    }
}
