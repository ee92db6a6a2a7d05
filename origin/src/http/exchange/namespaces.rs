//! Checks of addresses in ids, keys and bodies: an address in a format that its chain does not use is refused, because it would
//! match nothing.

use crate::catalog::LiveCatalog;
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId, VaultKey};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode};

/// Refuses an id whose address is not of its chain's namespace. On an unknown chain every address is accepted.
pub(in crate::http) fn check_id(live: &LiveCatalog, id: &VaultId) -> Result<(), String> {
    match id.place() {
        Some((chain, found)) => check(live, chain, found),
        None => Ok(()),
    }
}

/// Like [`check_id`], for a vault's key.
pub(in crate::http) fn check_key(live: &LiveCatalog, key: &VaultKey) -> Result<(), String> {
    Address::parse_any(key.address.as_str()).map_or(Ok(()), |(found, _)| check(live, key.chain_id, found))
}

fn check(live: &LiveCatalog, chain: ChainId, found: Namespace) -> Result<(), String> {
    match live.namespaces()(chain) {
        Some(wanted) if wanted != found => {
            Err(format!("must contain an address of the namespace of chain {chain} ({})", wanted.as_str()))
        }
        _ => Ok(()),
    }
}

/// The 400 error for the query parameter `parameter`.
pub(in crate::http) fn refused(parameter: &'static str, reason: String) -> ApiError {
    ApiError::invalid(ErrorCode::AddressNamespaceMismatch, vec![Detail::new(In::Query, parameter, reason)])
}
