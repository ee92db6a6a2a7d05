//! A call as if accounts had other code or storage: `eth_call` with the state override, its third parameter.
//!
//! Nodes differ in what else they let a call override. Code and single words of storage are what every node with overrides serves.

use crate::abi::Word;
use crate::block::Address;
use crate::hex;
use alloc::vec::Vec;
use core::fmt;

/// What an account has instead during the call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Override {
    /// Its code.
    pub code: Option<Vec<u8>>,
    /// Words of its storage by slot, each slot once. The other words stay.
    pub state_diff: Vec<(Word, Word)>,
}

/// The overridden accounts, each once. Its text is the JSON of the parameter.
///
/// A list instead of a map: there are few, and the verifier for browsers stays small.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Overrides(pub Vec<(Address, Override)>);

/// A call of a contract with overrides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Simulation {
    /// The called account.
    pub contract: Address,
    /// The calldata.
    pub data: Vec<u8>,
    /// Gas of the call.
    pub gas: u64,
    /// What is overridden; at least one account.
    pub overrides: Overrides,
}

impl Simulation {
    /// Whether the called account has other code during the call. A node that ignores overrides answers such a call with nothing if the
    /// account has no code of its own.
    pub fn replaces_called_code(&self) -> bool {
        self.overrides.0.iter().any(|(address, account)| *address == self.contract && account.code.is_some())
    }
}

impl fmt::Display for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (place, (address, account)) in self.0.iter().enumerate() {
            write!(f, "{}\"{address}\":{account}", comma(place))?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        if let Some(code) = &self.code {
            f.write_str("\"code\":\"")?;
            hex::write(f, code)?;
            f.write_str("\"")?;
        }
        if !self.state_diff.is_empty() {
            write!(f, "{}\"stateDiff\":{{", comma(self.code.iter().len()))?;
            for (place, (slot, word)) in self.state_diff.iter().enumerate() {
                write!(f, "{}\"{slot}\":\"{word}\"", comma(place))?;
            }
            f.write_str("}")?;
        }
        f.write_str("}")
    }
}

/// What stands before the member at `place`.
fn comma(place: usize) -> &'static str {
    if place == 0 { "" } else { "," }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::string::ToString;
    use std::vec;

    #[test]
    fn the_text_is_the_parameter_of_the_method() {
        let (slot, word) = (Word::from_u128(3), Word::from_u128(4));
        let both = Override { code: Some(vec![0x60, 0x01]), state_diff: [(slot, word), (word, slot)].into() };
        let overrides = Overrides([(Address([1; 20]), both), (Address([2; 20]), Override::default())].into());
        let parsed: Value = serde_json::from_str(&overrides.to_string()).unwrap();
        let expected = json!({
            Address([1; 20]).to_string(): {
                "code": "0x6001",
                "stateDiff": { slot.to_string(): word.to_string(), word.to_string(): slot.to_string() },
            },
            Address([2; 20]).to_string(): {},
        });
        assert_eq!(parsed, expected);
    }

    proptest! {
        #[test]
        fn the_text_is_json_with_every_account_and_slot(
            accounts in prop::collection::btree_map(any::<[u8; 20]>(), (any::<Option<Vec<u8>>>(), prop::collection::btree_map(any::<[u8; 32]>(), any::<[u8; 32]>(), 0..4)), 0..4)
        ) {
            let mut overrides = Overrides::default();
            for (address, (code, slots)) in &accounts {
                let state_diff = slots.iter().map(|(slot, word)| (Word(*slot), Word(*word))).collect();
                overrides.0.push((Address(*address), Override { code: code.clone(), state_diff }));
            }
            let parsed: Value = serde_json::from_str(&overrides.to_string()).unwrap();
            prop_assert_eq!(parsed.as_object().unwrap().len(), accounts.len());
            for (address, account) in &overrides.0 {
                let shown = &parsed[address.to_string()];
                prop_assert_eq!(shown["code"].as_str().map(|code| hex::decode(code).unwrap()), account.code.clone());
                for (slot, word) in &account.state_diff {
                    prop_assert_eq!(&shown["stateDiff"][slot.to_string()], &json!(word.to_string()));
                }
            }
        }
    }
}
