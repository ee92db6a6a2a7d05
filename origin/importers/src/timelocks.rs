//! timelocks.jsonl: contracts that delay the execution of decisions. A delay that the file does not state stays null.

use super::adapter::{Adapter, Known, Observed};
use super::signer_sets::{mapping, markets_of};
use rds_facts::{Permission, Signers};
use rds_shared::model::mapping::SignerForm;
use serde::Deserialize;

pub struct Timelocks;

/// A timelock contract with its permissions.
#[derive(Deserialize)]
pub struct Row {
    chain_id: i64,
    address: String,
    name: String,
    kind: SignerForm,
    delay_seconds: Option<i64>,
    /// Sections of the permissions book that list the timelock.
    pools: Vec<String>,
    proxy_admin: Option<String>,
    permissions: Vec<Permission>,
    source: String,
}

impl Adapter for Timelocks {
    const FILE: &'static str = "timelocks.jsonl";
    type Row = Row;

    fn observe(&self, row: Row, known: &Known) -> Observed {
        let applies_to = markets_of(known, row.chain_id, &row.pools.iter().map(String::as_str).collect());
        let signers = Signers {
            form: row.kind,
            chain_id: row.chain_id,
            address: row.address,
            threshold: None,
            owners: None,
            delay_seconds: row.delay_seconds,
            proxy_admin: row.proxy_admin,
            roles: Vec::new(),
            permissions: row.permissions,
        };
        Observed::As(vec![mapping(row.source, Some(row.name), signers, applies_to)])
    }
}
