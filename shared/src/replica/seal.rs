//! Sealed documents: the origin's MAC over what a replica is made from, so that no copy of it has to be trusted on its way.
//!
//! A sealed document is: [`FORMAT`] (two bytes, little-endian), the [`Kind`], the length of the key's id, the id, the MAC (HMAC-SHA-256,
//! 32 bytes), the content. The MAC covers [`CONTEXT`], format, kind and content.

use super::row::HASH_NANOS;
use crate::access::AssertionKey;
use crate::pace::{Pace, at_once};
use alloc::vec::Vec;
use core::fmt;
use hmac::Mac;

/// The version of the documents and of the rows in them. A holder refuses every other one: two releases whose rows differ never read each
/// other's.
pub const FORMAT: u16 = if cfg!(feature = "next-format") { 3 } else { 2 };

/// First line of what the MAC covers. Signed requests and answers begin with another line.
const CONTEXT: &[u8] = b"replica-v1\n";
const MAC_BYTES: usize = 32;
/// Bytes that are authenticated in one step.
const STEP_BYTES: usize = 128 << 10;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// [`super::Stamp`]
    Stamp = 1,
    /// [`super::Manifest`]
    Manifest = 2,
    /// [`super::Delta`]
    Delta = 3,
}

/// Why a sealed document is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealFault {
    /// It was made by a release with another [`FORMAT`].
    OtherFormat(u16),
    /// It is no document of this kind.
    Malformed,
    /// None of the verifier's keys sealed it.
    UnknownKey,
    /// Its content is not what was sealed.
    WrongMac,
}

impl fmt::Display for SealFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SealFault::OtherFormat(format) => write!(f, "has the format {format} instead of {FORMAT}"),
            SealFault::Malformed => f.write_str("is not a sealed document of the expected kind"),
            SealFault::UnknownKey => f.write_str("was sealed with an unknown key"),
            SealFault::WrongMac => f.write_str("is not what was sealed"),
        }
    }
}

impl core::error::Error for SealFault {}

/// Seals `content` with `key`.
pub fn seal(kind: Kind, content: &[u8], key: &AssertionKey) -> Vec<u8> {
    let id = key.id().as_bytes();
    let mut out = Vec::with_capacity(id.len() + content.len() + MAC_BYTES + 4);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.push(kind as u8);
    // An id has at most 32 bytes.
    out.push(u8::try_from(id.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(id);
    out.extend_from_slice(&mac(kind, key).chain_update(content).finalize().into_bytes());
    out.extend_from_slice(content);
    out
}

/// The content of a sealed document of this kind, if one of `keys` sealed it.
pub fn open<'a>(kind: Kind, sealed: &'a [u8], keys: &[AssertionKey]) -> Result<&'a [u8], SealFault> {
    at_once(open_slowly(kind, sealed, keys, &Pace::unbroken()))
}

/// Like [`open`], with pauses.
pub async fn open_slowly<'a>(
    kind: Kind,
    sealed: &'a [u8],
    keys: &[AssertionKey],
    pace: &Pace<'_>,
) -> Result<&'a [u8], SealFault> {
    let (format, rest) = sealed.split_first_chunk::<2>().ok_or(SealFault::Malformed)?;
    match u16::from_le_bytes(*format) {
        FORMAT => {}
        other => return Err(SealFault::OtherFormat(other)),
    }
    let ([said, length], rest) = rest.split_first_chunk::<2>().ok_or(SealFault::Malformed)?;
    let (id, rest) = rest.split_at_checked(usize::from(*length)).ok_or(SealFault::Malformed)?;
    let (given, content) = rest.split_at_checked(MAC_BYTES).ok_or(SealFault::Malformed)?;
    if *said != kind as u8 {
        return Err(SealFault::Malformed);
    }
    let key = keys.iter().find(|key| key.id().as_bytes() == id).ok_or(SealFault::UnknownKey)?;
    let mut mac = mac(kind, key);
    for part in content.chunks(STEP_BYTES) {
        pace.step(part.len() * HASH_NANOS).await;
        mac.update(part);
    }
    mac.verify_slice(given).map(|()| content).map_err(|_| SealFault::WrongMac)
}

/// The MAC without the content.
fn mac(kind: Kind, key: &AssertionKey) -> hmac::Hmac<sha2::Sha256> {
    let [low, high] = FORMAT.to_le_bytes();
    key.keyed(CONTEXT).chain_update([low, high, kind as u8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn key(id: &str) -> AssertionKey {
        AssertionKey::parse(&alloc::format!("{id}:{}", "5a".repeat(32))).unwrap()
    }

    #[test]
    fn a_document_opens_as_what_it_was_sealed_as_with_one_of_the_keys() {
        let sealed = seal(Kind::Delta, b"rows", &key("old"));
        let keys = [key("new"), key("old")];
        assert_eq!(open(Kind::Delta, &sealed, &keys), Ok(b"rows".as_slice()));
        assert_eq!(open(Kind::Stamp, &sealed, &keys), Err(SealFault::Malformed));
        assert_eq!(open(Kind::Delta, &sealed, &[key("new")]), Err(SealFault::UnknownKey));
        assert_eq!(open(Kind::Delta, &[9, 9], &keys), Err(SealFault::OtherFormat(0x0909)));
        assert_eq!(open(Kind::Delta, &[], &keys), Err(SealFault::Malformed));
    }

    #[test]
    fn a_key_with_the_same_name_and_another_secret_opens_nothing() {
        let other = AssertionKey::parse(&alloc::format!("old:{}", "77".repeat(32))).unwrap();
        assert_eq!(open(Kind::Stamp, &seal(Kind::Stamp, b"x", &key("old")), &[other]), Err(SealFault::WrongMac));
    }

    proptest! {
        #[test]
        fn no_changed_or_cut_document_opens(
            content in prop::collection::vec(any::<u8>(), 0..40), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let sealed = seal(Kind::Manifest, &content, &key("k"));
            let keys = [key("k")];
            let mut changed = sealed.clone();
            let place = at.index(changed.len());
            changed[place] ^= 1 << bit;
            prop_assert!(open(Kind::Manifest, &changed, &keys).is_err());
            prop_assert!(open(Kind::Manifest, &sealed[..place], &keys).is_err());
            prop_assert_eq!(open(Kind::Manifest, &sealed, &keys), Ok(content.as_slice()));
            prop_assert!(open(Kind::Manifest, &[sealed, vec![0]].concat(), &keys).is_err());
        }
    }
}
