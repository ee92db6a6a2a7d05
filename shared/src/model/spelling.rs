//! How callers write identifiers, as ECMA-262 regular expressions for the OpenAPI document.
//!
//! The expressions accept the same texts as the parsers in [`super::ids`]; a test of the OpenAPI document compares both. One rule of the
//! parsers cannot be expressed: a base58 address must decode to exactly 32 bytes. The expressions therefore accept every base58 text of 32
//! to 44 characters.

macro_rules! address {
    () => {
        "(0[xX][0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})"
    };
}
macro_rules! vault_key {
    () => {
        concat!("[1-9][0-9]{0,18}:", address!())
    };
}

/// An address in any namespace: [`Address::parse_any`](super::ids::Address::parse_any).
pub const ADDRESS: &str = concat!("^", address!(), "$");
/// A vault's id: [`VaultId::parse`](super::ids::VaultId::parse).
pub const VAULT_ID: &str = concat!("^[A-Za-z0-9][A-Za-z0-9._-]*-[1-9][0-9]{0,18}-", address!(), "$");
/// A vault's key: [`VaultKey::parse`](super::ids::VaultKey::parse).
pub const VAULT_KEY: &str = concat!("^", vault_key!(), "$");
/// One to fifty vault keys, separated by commas.
pub const VAULT_KEYS: &str = concat!("^", vault_key!(), "(,", vault_key!(), "){0,49}$");
/// An address, or `native` for the chain's own coin.
pub const ADDRESS_OR_NATIVE: &str = concat!("^(native|", address!(), ")$");
/// A cursor of the change feed. The same parameter also accepts instants; an instant begins with a digit, a cursor never does.
pub const CHANGE_CURSOR: &str = "^[A-Za-z_-][A-Za-z0-9_-]*$";
/// A text without control characters.
pub const TEXT: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
