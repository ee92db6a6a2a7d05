//! Encryption of stored signing secrets: AES-256-GCM under a key derived from the master key, bound to the subscription.
//!
//! A sealed secret is a version byte, the nonce, and the ciphertext with its tag. Copied into another row, it cannot be decrypted. If
//! there are several master keys, the first encrypts and all decrypt, so that the master key can be changed.

use crate::config;
use rds_engine::entropy;
use rds_shared::push::signature::Secret;
use rds_shared::wire::unhex;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// Version of the format of sealed secrets.
const VERSION: u8 = 1;
/// Purpose of the derived key; another use of the master key derives another key.
const PURPOSE: &[u8] = b"webhook signing secrets, 1";

/// Encrypts and decrypts signing secrets.
pub struct Sealer {
    seals: LessSafeKey,
    /// Other keys, under which stored secrets may still be encrypted.
    opens: Vec<LessSafeKey>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(…)")
    }
}

/// A sealed secret that cannot be decrypted: another master key, another row, or changed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a webhook's signing secret cannot be decrypted: it was encrypted under another RDS_MASTER_KEY, or the row was changed"
)]
pub struct Unopenable;

impl Sealer {
    /// A sealer for master keys of 64 hex digits, separated by commas. `None` if a key is invalid.
    pub fn new(master_keys: &config::Secret) -> Option<Self> {
        let mut keys = master_keys.expose().split(',').map(|key| derived(key.trim())).collect::<Option<Vec<_>>>()?;
        let seals = keys.remove(0);
        Some(Sealer { seals, opens: keys })
    }

    /// Encrypts the secret of `subscription`. `None` only if the secret exceeds the size limit of AES-GCM.
    pub fn seal(&self, subscription: i64, secret: &Secret) -> Option<Vec<u8>> {
        let nonce = entropy::random_bytes::<NONCE_LEN>();
        let mut text = secret.expose().as_bytes().to_vec();
        let bound = Aad::from(subscription.to_be_bytes());
        self.seals.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut text).ok()?;
        Some([&[VERSION], nonce.as_slice(), &text].concat())
    }

    /// Decrypts a secret that was sealed for `subscription`.
    pub fn open(&self, subscription: i64, sealed: &[u8]) -> Result<Secret, Unopenable> {
        let (version, rest) = sealed.split_first().ok_or(Unopenable)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Unopenable)?;
        if *version != VERSION {
            return Err(Unopenable);
        }
        let keys = std::iter::once(&self.seals).chain(&self.opens);
        let opened = keys.into_iter().find_map(|key| open_under(key, subscription, *nonce, text));
        opened.ok_or(Unopenable)
    }

    /// The same secret encrypted under the first key; `None` if it already is.
    pub fn resealed(&self, subscription: i64, sealed: &[u8]) -> Result<Option<Vec<u8>>, Unopenable> {
        let under_first = sealed.get(1..).and_then(|rest| rest.split_first_chunk::<NONCE_LEN>());
        if under_first.is_some_and(|(nonce, text)| open_under(&self.seals, subscription, *nonce, text).is_some()) {
            return Ok(None);
        }
        let secret = self.open(subscription, sealed)?;
        self.seal(subscription, &secret).map(Some).ok_or(Unopenable)
    }
}

/// The encryption key derived from a master key. `None` if the master key is invalid.
fn derived(master_key: &str) -> Option<LessSafeKey> {
    let master = unhex(master_key).filter(|bytes| bytes.len() == 32)?;
    let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &master), PURPOSE);
    Some(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, derived.as_ref()).ok()?))
}

fn open_under(key: &LessSafeKey, subscription: i64, nonce: [u8; NONCE_LEN], text: &[u8]) -> Option<Secret> {
    let mut text = text.to_vec();
    let bound = Aad::from(subscription.to_be_bytes());
    let opened = key.open_in_place(Nonce::assume_unique_for_key(nonce), bound, &mut text).ok()?;
    std::str::from_utf8(opened).ok().and_then(Secret::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(digit: char) -> Sealer {
        Sealer::new(&String::from_iter([digit; 64]).into()).unwrap()
    }

    #[test]
    fn a_secret_is_decrypted_only_with_its_key_and_in_its_row() {
        let (ours, secret) = (sealer('a'), Secret::from_random([7; 32]));
        let sealed = ours.seal(5, &secret).unwrap();
        assert_eq!(ours.open(5, &sealed).unwrap(), secret);
        assert_eq!(ours.open(6, &sealed), Err(Unopenable), "another row");
        assert_eq!(sealer('b').open(5, &sealed), Err(Unopenable), "another master key");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(ours.open(5, &changed), Err(Unopenable), "byte {at}");
        }
        assert_eq!(ours.open(5, &[]), Err(Unopenable));
    }

    #[test]
    fn of_several_master_keys_the_first_encrypts_and_all_decrypt() {
        let (key_a, key_b) = ("a".repeat(64), "b".repeat(64));
        let both = Sealer::new(&format!("{key_b}, {key_a}").into()).unwrap();
        let secret = Secret::from_random([7; 32]);
        let old = sealer('a').seal(5, &secret).unwrap();
        assert_eq!(both.open(5, &old).unwrap(), secret);
        let new = both.resealed(5, &old).unwrap().expect("it was under the other key");
        assert_eq!(sealer('b').open(5, &new).unwrap(), secret);
        assert_eq!(sealer('a').open(5, &new), Err(Unopenable));
        assert_eq!(both.resealed(5, &new), Ok(None), "nothing is left to do");
        assert_eq!(both.resealed(6, &old), Err(Unopenable), "another row");
        assert_eq!(sealer('c').resealed(5, &old), Err(Unopenable), "a key that is gone");
        assert!(Sealer::new(&format!("{key_a},").into()).is_none());
    }

    #[test]
    fn a_stored_secret_reveals_nothing() {
        let (ours, secret) = (sealer('a'), Secret::from_random([7; 32]));
        let (one, other) = (ours.seal(5, &secret).unwrap(), ours.seal(5, &secret).unwrap());
        assert_ne!(one, other, "each sealing has a nonce of its own");
        assert!(!String::from_utf8_lossy(&one).contains("whsec_"));
        assert!(Sealer::new(&"short".to_owned().into()).is_none());
    }
}
