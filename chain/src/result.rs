//! The results of the JSON-RPC methods that this service uses: byte strings, quantities and block headers.

use crate::block::{Block, BlockHash, BlockId};
use crate::hex;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The bytes that `eth_call` returned, at most `max`; `None` if the result is no byte string or is longer.
pub fn bytes(result: &RawValue, max: usize) -> Option<Vec<u8>> {
    let text = text(result)?;
    if text.len() > max.saturating_mul(2).saturating_add(2) {
        return None;
    }
    hex::decode(&text)
}

/// A quantity below 2^64, such as the result of `eth_chainId`.
pub fn quantity(result: &RawValue) -> Option<u64> {
    parse_quantity(&text(result)?)
}

/// The header in the result of `eth_getBlockByNumber` or `eth_getBlockByHash`; `None` if a member is missing or malformed.
pub fn block(result: &RawValue) -> Option<Block> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Header<'a> {
        #[serde(borrow)]
        number: Cow<'a, str>,
        #[serde(borrow)]
        hash: Cow<'a, str>,
        #[serde(borrow)]
        parent_hash: Cow<'a, str>,
        #[serde(borrow)]
        timestamp: Cow<'a, str>,
    }
    let header: Header<'_> = serde_json::from_str(result.get()).ok()?;
    let id = BlockId { number: parse_quantity(&header.number)?, hash: BlockHash(hex::decode_array(&header.hash)?) };
    let parent = BlockHash(hex::decode_array(&header.parent_hash)?);
    Some(Block { id, parent, time: parse_quantity(&header.timestamp)? })
}

fn text(result: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str(result.get()).ok().map(|Text(text)| text)
}

/// Parses `0x` and hexadecimal digits without leading zeros, as the specification of JSON-RPC writes quantities.
pub(crate) fn parse_quantity(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if canonical && plain { u64::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn bytes_and_quantities_are_read_strictly() {
        assert_eq!(bytes(raw(r#""0x0aFF""#), 2), Some([0x0a, 0xff].into()));
        assert_eq!(bytes(raw(r#""0x0aFF""#), 1), None, "longer than allowed");
        assert_eq!(quantity(raw(r#""0x7a69""#)), Some(31_337));
        assert_eq!(quantity(raw(r#""0xffffffffffffffff""#)), Some(u64::MAX));
        for wrong in [r#""0x""#, r#""0x07""#, r#""7""#, "7", "null", r#""0x+1""#, r#""0x10000000000000000""#] {
            assert_eq!(quantity(raw(wrong)), None, "{wrong}");
        }
        assert_eq!(bytes(raw("{}"), 9), None);
    }

    #[test]
    fn a_header_without_a_member_is_refused() {
        let hash = "11".repeat(32);
        let header = std::format!(
            r#"{{"number":"0x7","hash":"0x{hash}","parentHash":"0x{hash}","timestamp":"0x5","extra":[]}}"#
        );
        assert_eq!(block(raw(&header)).map(|block| (block.id.number, block.time)), Some((7, 5)));
        for member in ["number", "hash", "parentHash", "timestamp"] {
            assert_eq!(block(raw(&header.replace(&std::format!("\"{member}\""), "\"other\""))), None, "{member}");
        }
        // A pending block has no number yet.
        assert_eq!(block(raw(&header.replace("\"0x7\"", "null"))), None);
    }
}
