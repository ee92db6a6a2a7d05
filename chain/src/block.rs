//! Addresses, block hashes, and the part of a block's header that this crate uses.

use crate::hex;
use core::fmt;
use core::str::FromStr;

/// Text that is not `0x` and the right number of hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotHex;

macro_rules! bytes_as_hex {
    ($(#[$about:meta])* $name:ident, $length:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub [u8; $length]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                hex::write(f, &self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotHex;
            fn from_str(text: &str) -> Result<Self, NotHex> {
                hex::decode_array(text).map($name).ok_or(NotHex)
            }
        }
    };
}

bytes_as_hex! {
    /// An account's address. The text form is `0x` and 40 digits, lower case when written; a checksum in the case of the digits is not
    /// verified.
    Address, 20
}

bytes_as_hex! {
    /// A block's hash. The text form is `0x` and 64 digits.
    BlockHash, 32
}

impl Address {
    /// The zero address.
    pub const ZERO: Self = Self([0; 20]);
}

/// A block by number and hash. Two blocks of one number but different hashes belong to different forks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// Number of the block: the genesis block is 0.
    pub number: u64,
    /// Hash of the block's header.
    pub hash: BlockHash,
}

/// The part of a block's header that this crate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// Number and hash.
    pub id: BlockId,
    /// Hash of the block before; zero for the genesis block.
    pub parent: BlockHash,
    /// The block's timestamp in seconds since 1970-01-01T00:00:00Z.
    pub time: u64,
}

impl Block {
    /// The block before this one; `None` for the genesis block.
    pub fn parent_id(&self) -> Option<BlockId> {
        Some(BlockId { number: self.id.number.checked_sub(1)?, hash: self.parent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn an_address_is_written_as_it_is_read() {
        let text = "0x00000000000000000000000000000000005ead00";
        let address: Address = text.parse().unwrap();
        assert_eq!(address.to_string(), text);
        assert_eq!(text.to_uppercase().replace("0X", "0x").parse(), Ok(address));
        for wrong in ["", "0x", "00000000000000000000000000000000005ead00", "0x00"] {
            assert_eq!(wrong.parse::<Address>(), Err(NotHex), "{wrong}");
        }
    }

    #[test]
    fn the_genesis_block_has_no_parent() {
        let genesis =
            Block { id: BlockId { number: 0, hash: BlockHash([1; 32]) }, parent: BlockHash::default(), time: 0 };
        assert_eq!(genesis.parent_id(), None);
    }
}
