//! The parameters of the graph family. Source: interface, "Decisioning (graph family)".

use super::param::Param;
use crate::model::spelling;

/// Room for fifty keys of the longest chains and addresses, and then some.
const KEYS_CHARS: usize = 6_000;

pub(super) const VAULT_KEYS: Param =
    Param::text("vaults", KEYS_CHARS, "Keys of vaults, at most 50, separated by commas: chain number, colon, address.")
        .written(spelling::VAULT_KEYS)
        .required();
