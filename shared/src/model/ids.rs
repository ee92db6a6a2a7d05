//! Ids of chains, addresses and vaults.

use alloc::string::String;
use core::fmt;
use serde::{Serialize, Serializer};

/// Number of a chain: its EIP-155 id, or a number from the registry if it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ChainId(pub u64);

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Format of the addresses of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Namespace {
    /// `0x` and 40 hex digits. Upper and lower case are equal; lower case is served.
    Evm,
    /// Base58 of 32 bytes, as on Solana; case-sensitive.
    Svm,
}

impl Namespace {
    /// The name in the registry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Namespace::Evm => "evm",
            Namespace::Svm => "svm",
        }
    }

    /// Parses the name in the registry.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "evm" => Some(Namespace::Evm),
            "svm" => Some(Namespace::Svm),
            _ => None,
        }
    }
}

/// An address in its canonical spelling: lower-case hex on EVM chains, base58 as given on Solana.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(String);

/// Why a text is not an address of the expected namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressError {
    /// The text is not a valid address in any namespace.
    Malformed,
    /// The text is an address of this other namespace.
    WrongNamespace(Namespace),
}

impl Address {
    /// Parses an address of either namespace; the format decides which.
    pub fn parse_any(text: &str) -> Option<(Namespace, Address)> {
        if is_evm(text) {
            return Some((Namespace::Evm, Address(text.to_ascii_lowercase())));
        }
        is_base58_of_32_bytes(text).then(|| (Namespace::Svm, Address(String::from(text))))
    }

    /// Parses an address of `namespace`.
    pub fn parse(namespace: Namespace, text: &str) -> Result<Address, AddressError> {
        match Self::parse_any(text) {
            None => Err(AddressError::Malformed),
            Some((found, address)) if found == namespace => Ok(address),
            Some((found, _)) => Err(AddressError::WrongNamespace(found)),
        }
    }

    /// The EVM address with these 20 bytes.
    pub fn from_evm_bytes(bytes: [u8; 20]) -> Self {
        Address(alloc::format!("0x{}", crate::wire::hex(&bytes)))
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The canonical text, without a copy.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

fn is_evm(text: &str) -> bool {
    text.strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .is_some_and(|hex| hex.len() == 40 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_base58_of_32_bytes(text: &str) -> bool {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    if !(32..=44).contains(&text.len()) {
        return false;
    }
    let mut value = [0u8; 33];
    for character in text.bytes() {
        let Some(digit) = ALPHABET.iter().position(|&c| c == character) else { return false };
        let mut carry = digit as u32;
        for byte in value.iter_mut().rev() {
            carry += u32::from(*byte) * 58;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            return false;
        }
    }
    let leading_ones = text.bytes().take_while(|&b| b == b'1').count();
    let leading_zero_bytes = value.iter().take_while(|&&b| b == 0).count();
    // The value fits into 32 of the 33 bytes if the first is zero; each leading '1' encodes exactly one further zero byte.
    leading_zero_bytes >= 1 && leading_zero_bytes - 1 == leading_ones
}

/// Whether the text has the form of a protocol id, ignoring letter case: ASCII letters and digits, and after the first character also
/// `-`, `_` and `.`.
fn is_slug(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Parses a chain's number: 1 to 19 decimal digits without a sign or a leading zero, so that each number has one spelling.
fn chain_number(text: &str) -> Option<ChainId> {
    let is_number = (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || text.starts_with('0') {
        return None;
    }
    text.parse().ok().map(ChainId)
}

/// Id of a vault in lists and paths: `{protocol_id}-{chain_id}-{address}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VaultId(String);

impl VaultId {
    /// The id of the vault at `address`.
    pub fn new(protocol_id: &str, chain_id: ChainId, address: &Address) -> Self {
        VaultId(alloc::format!("{protocol_id}-{chain_id}-{address}"))
    }

    /// Parses an id; the protocol id and an EVM address become lower case. `None` if the text does not have the form of an id.
    pub fn parse(text: &str) -> Option<Self> {
        let (front, address) = text.rsplit_once('-')?;
        let (protocol_id, chain) = front.rsplit_once('-')?;
        let chain_id = chain_number(chain)?;
        let (_, address) = Address::parse_any(address)?;
        is_slug(protocol_id).then(|| Self::new(&protocol_id.to_ascii_lowercase(), chain_id, &address))
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The chain and the namespace of the address, as the id states them.
    pub fn place(&self) -> Option<(ChainId, Namespace)> {
        let (front, address) = self.0.rsplit_once('-')?;
        let (_, chain) = front.rsplit_once('-')?;
        let (namespace, _) = Address::parse_any(address)?;
        Some((chain_number(chain)?, namespace))
    }
}

impl fmt::Display for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for VaultId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Key of a vault in the graph and signal routes: `{chainId}:{address}`, the address in canonical spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VaultKey {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Address of the vault's share token.
    pub address: Address,
}

impl VaultKey {
    /// Parses `1:0x…`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_on(text, |_| None)
    }

    /// Parses a key. `namespace` returns the namespace of a chain, `None` if it is unknown; an address of another namespace is refused.
    pub fn parse_on(text: &str, namespace: impl Fn(ChainId) -> Option<Namespace>) -> Option<Self> {
        let (chain, address) = text.split_once(':')?;
        let chain_id = chain_number(chain)?;
        let (found, address) = Address::parse_any(address)?;
        namespace(chain_id).is_none_or(|wanted| wanted == found).then_some(VaultKey { chain_id, address })
    }
}

impl fmt::Display for VaultKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.chain_id, self.address)
    }
}

impl<'de> serde::Deserialize<'de> for VaultKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        VaultKey::parse(&text).ok_or_else(|| serde::de::Error::custom("must be <chain id>:<address>"))
    }
}

impl Serialize for VaultKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const EVM: &str = "0x00B6f2c15e4439749f192d10c70f65354848cf4b";
    const SYSTEM_PROGRAM: &str = "11111111111111111111111111111111";
    const TOKEN_PROGRAM: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";

    #[test]
    fn evm_addresses_fold_their_case_and_solana_addresses_keep_it() {
        assert_eq!(Address::parse(Namespace::Evm, EVM).unwrap().as_str(), EVM.to_ascii_lowercase());
        assert_eq!(Address::parse(Namespace::Svm, TOKEN_PROGRAM).unwrap().as_str(), TOKEN_PROGRAM);
        assert!(Address::parse(Namespace::Svm, SYSTEM_PROGRAM).is_ok());
    }

    #[test]
    fn an_address_of_the_other_namespace_is_distinguished_from_malformed_text() {
        assert_eq!(Address::parse(Namespace::Evm, TOKEN_PROGRAM), Err(AddressError::WrongNamespace(Namespace::Svm)));
        assert_eq!(Address::parse(Namespace::Svm, EVM), Err(AddressError::WrongNamespace(Namespace::Evm)));
        for bad in [
            "",
            "0x",
            "0x12",
            "hello",
            "0xzz",
            &EVM[..41],
            "l1111111111111111111111111111111",
            "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        ] {
            assert_eq!(Address::parse(Namespace::Evm, bad), Err(AddressError::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_vault_id_keeps_hyphens_of_its_protocol_and_folds_its_address() {
        let id = VaultId::parse(&alloc::format!("llama-lend-1-{EVM}")).unwrap();
        assert_eq!(id.to_string(), alloc::format!("llama-lend-1-{}", EVM.to_ascii_lowercase()));
        assert!(VaultId::parse("nothing").is_none());
        assert!(VaultId::parse(&alloc::format!("-1-{EVM}")).is_none());
        for front in ["aave-x", "aave-+1", "aave-01", "aave-0", "a ve-1", "-aave-1", "ä-1", "aave-10000000000000000000"]
        {
            assert!(VaultId::parse(&alloc::format!("{front}-{EVM}")).is_none(), "{front}");
        }
    }

    #[test]
    fn a_vault_key_reads_back_as_written() {
        let key = VaultKey::parse(&alloc::format!("1:{EVM}")).unwrap();
        assert_eq!(VaultKey::parse(&key.to_string()), Some(key));
    }

    #[test]
    fn a_vault_key_has_one_spelling_and_its_chains_namespace() {
        for chain in ["", "0", "01", "+1", "-1", " 1", "1 ", "0x1", "18446744073709551616"] {
            assert_eq!(VaultKey::parse(&alloc::format!("{chain}:{EVM}")), None, "{chain:?}");
        }
        let namespace = |chain: ChainId| match chain.0 {
            1 => Some(Namespace::Evm),
            900 => Some(Namespace::Svm),
            _ => None,
        };
        for (key, fits) in [
            (alloc::format!("1:{EVM}"), true),
            (alloc::format!("1:{TOKEN_PROGRAM}"), false),
            (alloc::format!("900:{TOKEN_PROGRAM}"), true),
            (alloc::format!("900:{EVM}"), false),
            (alloc::format!("7:{EVM}"), true),
            (alloc::format!("7:{TOKEN_PROGRAM}"), true),
        ] {
            assert_eq!(VaultKey::parse_on(&key, namespace).is_some(), fits, "{key}");
        }
    }
}
