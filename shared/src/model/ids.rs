//! Identities: chains, addresses, vault ids and vault keys.
//!
//! Source: interface, "Conventions" and "Vault detail" (path parameters).

use alloc::string::String;
use core::fmt;
use serde::{Serialize, Serializer};

/// A chain's number: EIP-155 where there is one, else the number the registry gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ChainId(pub u64);

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a chain writes its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Namespace {
    /// `0x` and 40 hex digits; case carries no meaning and is folded.
    Evm,
    /// Base58 of 32 bytes; case-sensitive (Solana).
    Svm,
}

impl Namespace {
    /// The registry's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Namespace::Evm => "evm",
            Namespace::Svm => "svm",
        }
    }

    /// Reads the registry's word.
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

/// Why a text is no address of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressError {
    /// No address anywhere.
    Malformed,
    /// An address, of this other namespace.
    WrongNamespace(Namespace),
}

impl Address {
    /// Reads an address of whichever namespace its spelling says.
    pub fn parse_any(text: &str) -> Option<(Namespace, Address)> {
        if is_evm(text) {
            return Some((Namespace::Evm, Address(text.to_ascii_lowercase())));
        }
        is_base58_of_32_bytes(text).then(|| (Namespace::Svm, Address(String::from(text))))
    }

    /// Reads an address of `namespace`.
    pub fn parse(namespace: Namespace, text: &str) -> Result<Address, AddressError> {
        match Self::parse_any(text) {
            None => Err(AddressError::Malformed),
            Some((found, address)) if found == namespace => Ok(address),
            Some((found, _)) => Err(AddressError::WrongNamespace(found)),
        }
    }

    /// The EVM address of these 20 bytes.
    pub fn from_evm_bytes(bytes: [u8; 20]) -> Self {
        Address(alloc::format!("0x{}", crate::wire::hex(&bytes)))
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The canonical text, owned.
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
    // 33 slots for 32 bytes: one slot must stay empty, and each leading '1' stands for exactly one zero byte.
    leading_zero_bytes >= 1 && leading_zero_bytes - 1 == leading_ones
}

/// Whether this may be a protocol's id, in any case: letters, digits, and `-`, `_`, `.` behind the first.
fn is_slug(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// A chain's number in its one spelling: decimal, without a sign and without zeros in front; at most nineteen digits.
fn chain_number(text: &str) -> Option<ChainId> {
    let is_number = (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || text.starts_with('0') {
        return None;
    }
    text.parse().ok().map(ChainId)
}

/// `{protocol_id}-{chain_id}-{address}`: a vault's id in lists and paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VaultId(String);

impl VaultId {
    /// The id of a vault.
    pub fn new(protocol_id: &str, chain_id: ChainId, address: &Address) -> Self {
        VaultId(alloc::format!("{protocol_id}-{chain_id}-{address}"))
    }

    /// Reads an id and folds the case of what carries no case. `None` when it has not the form of one.
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

    /// Its chain, and how its address is written.
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

/// `{chainId}:{lowercaseAddress}`: a vault's key in the graph and signal families.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VaultKey {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// The share token's address.
    pub address: Address,
}

impl VaultKey {
    /// Reads `1:0x…`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_on(text, |_| None)
    }

    /// The same where it is known how chains write addresses: one of another namespace than its chain's is none.
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
        VaultKey::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("must be a chain's number, a colon, and an address"))
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
    fn an_address_of_the_other_namespace_is_told_apart_from_garbage() {
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
