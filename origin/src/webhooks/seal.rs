//! Signing secrets at rest: AES-256-GCM under a key that is derived from the master key, bound to the subscription they are of.
//!
//! A sealed secret is a version byte, the nonce, and the ciphertext with its tag. Whoever copies one into another row gets
//! nothing that opens. Of several master keys the first seals and all open, so that one can take another's place.

use crate::config;
use crate::entropy;
use rds_shared::push::signature::Secret;
use rds_shared::wire::unhex;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// The form of sealed secrets.
const VERSION: u8 = 1;
/// What the derived key is for; another use of the master key derives another.
const PURPOSE: &[u8] = b"webhook signing secrets, 1";

/// Seals and opens secrets.
pub struct Sealer {
    seals: LessSafeKey,
    /// Other keys, under which there may still be secrets.
    opens: Vec<LessSafeKey>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(…)")
    }
}

/// A sealed secret that does not open: another master key, another row, or other bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a webhook's signing secret does not open: RDS_MASTER_KEY is not the one it was sealed with, or the row was changed"
)]
pub struct Unopenable;

impl Sealer {
    /// A sealer under master keys of 64 hex digits, separated by commas. `None` when one is none.
    pub fn new(master_keys: &config::Secret) -> Option<Self> {
        let mut keys = master_keys.expose().split(',').map(|key| derived(key.trim())).collect::<Option<Vec<_>>>()?;
        let seals = keys.remove(0);
        Some(Sealer { seals, opens: keys })
    }

    /// Seals the secret of `subscription`. `None` only for a secret longer than any that exists.
    pub fn seal(&self, subscription: i64, secret: &Secret) -> Option<Vec<u8>> {
        let nonce = entropy::random_bytes::<NONCE_LEN>();
        let mut text = secret.expose().as_bytes().to_vec();
        let bound = Aad::from(subscription.to_be_bytes());
        self.seals.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut text).ok()?;
        Some([&[VERSION], nonce.as_slice(), &text].concat())
    }

    /// Opens what was sealed for `subscription`.
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

    /// The same secret sealed under the first key; `None` where it is already.
    pub fn resealed(&self, subscription: i64, sealed: &[u8]) -> Result<Option<Vec<u8>>, Unopenable> {
        let under_first = sealed.get(1..).and_then(|rest| rest.split_first_chunk::<NONCE_LEN>());
        if under_first.is_some_and(|(nonce, text)| open_under(&self.seals, subscription, *nonce, text).is_some()) {
            return Ok(None);
        }
        let secret = self.open(subscription, sealed)?;
        self.seal(subscription, &secret).map(Some).ok_or(Unopenable)
    }
}

/// What secrets are sealed under, out of a master key. `None` when that is none.
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
    fn a_secret_opens_under_its_key_and_in_its_row_only() {
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
    fn while_master_keys_are_changed_the_first_seals_and_all_open() {
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
    fn nothing_of_a_secret_shows_in_what_is_stored() {
        let (ours, secret) = (sealer('a'), Secret::from_random([7; 32]));
        let (one, other) = (ours.seal(5, &secret).unwrap(), ours.seal(5, &secret).unwrap());
        assert_ne!(one, other, "each sealing has a nonce of its own");
        assert!(!String::from_utf8_lossy(&one).contains("whsec_"));
        assert!(Sealer::new(&"short".to_owned().into()).is_none());
    }
}
