//! The name of a state: equal rows have equal names, whichever process holds them.

use super::family::Family;
use super::row::Rows;
use crate::wire::hex::{hex, unhex_array};
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// The sum modulo 2^256 of the digests of all rows. A change of one row adds and removes one digest, so that a holder can check after each
/// step that it has exactly the rows which the origin named.
///
/// It tells states apart that one signer names; it is no proof against somebody who chooses all rows of both states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct StateId([u8; 32]);

/// Error: no 64 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotHex;

impl fmt::Display for NotHex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be 64 hex digits")
    }
}

impl core::error::Error for NotHex {}

impl StateId {
    /// The name of these rows. Every row is hashed.
    pub fn of(rows: &Rows) -> Self {
        let mut id = StateId::default();
        for family in Family::ALL {
            rows.of(family).iter().for_each(|row| id.add(&row.digest(family)));
        }
        id
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        StateId(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The state with one more row, which has this digest.
    pub fn add(&mut self, digest: &[u8; 32]) {
        let mut carry = false;
        self.each_word(digest, |ours, theirs| {
            let (sum, first) = ours.overflowing_add(theirs);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            sum
        });
    }

    /// The state without a row that has this digest.
    pub fn remove(&mut self, digest: &[u8; 32]) {
        let mut borrow = false;
        self.each_word(digest, |ours, theirs| {
            let (rest, first) = ours.overflowing_sub(theirs);
            let (rest, second) = rest.overflowing_sub(u64::from(borrow));
            borrow = first || second;
            rest
        });
    }

    /// Replaces each word, the least significant first, by what `step` makes of it and of the word of `digest`.
    fn each_word(&mut self, digest: &[u8; 32], mut step: impl FnMut(u64, u64) -> u64) {
        for (ours, theirs) in self.0.as_chunks_mut::<8>().0.iter_mut().zip(digest.as_chunks::<8>().0) {
            *ours = step(u64::from_le_bytes(*ours), u64::from_le_bytes(*theirs)).to_le_bytes();
        }
    }
}

impl fmt::Display for StateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for StateId {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        unhex_array(text).map(StateId).ok_or(NotHex)
    }
}

impl From<StateId> for String {
    fn from(id: StateId) -> String {
        hex(&id.0)
    }
}

impl TryFrom<String> for StateId {
    type Error = NotHex;

    fn try_from(text: String) -> Result<Self, NotHex> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_of_steps_does_not_matter_and_a_removal_undoes_an_addition(
            digests in prop::collection::vec(prop_oneof![any::<[u8; 32]>(), Just([0xff; 32])], 1..12),
        ) {
            let (mut forth, mut back) = (StateId::default(), StateId::default());
            digests.iter().for_each(|digest| forth.add(digest));
            digests.iter().rev().for_each(|digest| back.add(digest));
            prop_assert_eq!(forth, back);
            prop_assert_eq!(forth.to_string().parse(), Ok(forth));
            digests.iter().for_each(|digest| forth.remove(digest));
            prop_assert_eq!(forth, StateId::default());
        }
    }

    #[test]
    fn a_carry_runs_through_all_words() {
        let mut one = [0; 32];
        one[0] = 1;
        let mut id = StateId::from_bytes([0xff; 32]);
        id.add(&one);
        assert_eq!(id, StateId::default());
        id.remove(&one);
        assert_eq!(id, StateId::from_bytes([0xff; 32]));
        assert_eq!("00".parse::<StateId>(), Err(NotHex));
    }
}
