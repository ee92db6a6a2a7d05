//! Vaults: the batch look-up, which also finds vaults that are shut down or gone, and one file for each kind of detail.

pub mod allocation;
pub mod changes;
pub mod detail;
pub mod holders;
pub mod portfolio;
pub mod strategies;

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::namespaces;
use rds_shared::model::ids::{Address, VaultId};
use rds_shared::read_model::envelope;
use rds_shared::route::bounds::BATCH_ITEMS;
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode};
use serde_json::Value;
use std::collections::HashSet;

/// `POST /v1/vaults/batch`: rows in the order of the request, ids before addresses, each vault once. Unknown vaults are left out.
///
/// An address is looked up on every chain.
pub fn batch(live: &LiveCatalog, call: &Call) -> Result<Answer, Failure> {
    let wanted = Wanted::read(live, call)?;
    let catalog = live.get()?;
    let by_id = wanted.ids.iter().filter_map(|id| catalog.vault(id));
    let by_address = wanted.addresses.iter().flat_map(|address| catalog.vaults_at(address));
    let mut seen = HashSet::new();
    let vaults = by_id.chain(by_address).filter(|vault| seen.insert(vault.row.id.as_str()));
    let rows: Vec<_> = vaults.map(|vault| &vault.encoded.listed).collect();
    Ok(Answer::json(envelope::list(&rows, |row| row.max_len(), |row, body| row.write(call.now, body))))
}

/// The parsed body of a batch look-up.
struct Wanted {
    ids: Vec<VaultId>,
    addresses: Vec<Address>,
}

impl Wanted {
    fn read(live: &LiveCatalog, call: &Call) -> Result<Self, ApiError> {
        call.expect_json()?;
        let body: Value = serde_json::from_slice(&call.body)
            .map_err(|error| ApiError::new(ErrorCode::InvalidBody, format!("the body is not JSON: {error}")))?;
        let Value::Object(fields) = body else {
            return Err(ApiError::new(
                ErrorCode::InvalidBody,
                "the body must be a JSON object with ids, addresses, or both",
            ));
        };
        let (mut ids, mut addresses, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in fields {
            match name.as_str() {
                "ids" => ids = strings("ids", value, &mut faults),
                "addresses" => addresses = strings("addresses", value, &mut faults),
                _ => faults.push(Detail::new(In::Body, name, "is not a field of this body")),
            }
        }
        if !faults.is_empty() {
            return Err(ApiError::invalid(ErrorCode::InvalidBody, faults));
        }
        let items = ids.len() + addresses.len();
        if items > BATCH_ITEMS {
            let reason = format!("must have at most {BATCH_ITEMS} items together with addresses, not {items}");
            let detail = Detail { maximum: Some(BATCH_ITEMS as f64), ..Detail::new(In::Body, "ids", reason) };
            return Err(ApiError::invalid(ErrorCode::TooManyItems, vec![detail]));
        }
        Wanted::of(live, &ids, &addresses)
    }

    /// Parses ids and addresses. A malformed id matches no vault. A malformed address is an error, and so is an id whose address is not in
    /// its chain's format.
    fn of(live: &LiveCatalog, ids: &[String], addresses: &[String]) -> Result<Self, ApiError> {
        let mut wanted = Wanted { ids: Vec::new(), addresses: Vec::new() };
        let (mut malformed, mut mismatched) = (Vec::new(), Vec::new());
        for (position, text) in ids.iter().enumerate() {
            let Some(id) = VaultId::parse(text) else { continue };
            match namespaces::check_id(live, &id) {
                Ok(()) => wanted.ids.push(id),
                Err(reason) => mismatched.push(Detail::new(In::Body, format!("ids[{position}]"), reason)),
            }
        }
        for (position, text) in addresses.iter().enumerate() {
            match Address::parse_any(text) {
                Some((_, address)) => wanted.addresses.push(address),
                None => malformed.push(Detail::new(
                    In::Body,
                    format!("addresses[{position}]"),
                    "must be an EVM or Solana address: 0x and 40 hex digits, or base58 of 32 bytes",
                )),
            }
        }
        match (malformed.is_empty(), mismatched.is_empty()) {
            (false, _) => Err(ApiError::invalid(ErrorCode::InvalidAddress, malformed)),
            (true, false) => Err(ApiError::invalid(ErrorCode::AddressNamespaceMismatch, mismatched)),
            (true, true) => Ok(wanted),
        }
    }
}

fn strings(name: &'static str, value: Value, faults: &mut Vec<Detail>) -> Vec<String> {
    let Value::Array(items) = value else {
        faults.push(Detail::new(In::Body, name, "must be an array of strings"));
        return Vec::new();
    };
    let mut texts = Vec::with_capacity(items.len());
    for (position, item) in items.into_iter().enumerate() {
        match item {
            Value::String(text) => texts.push(text),
            _ => faults.push(Detail::new(In::Body, format!("{name}[{position}]"), "must be a string")),
        }
    }
    texts
}
