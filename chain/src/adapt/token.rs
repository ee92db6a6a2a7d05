//! Powers over an ERC-20 token: who may mint, stop or freeze it, as far as its functions show.
//!
//! A power is recognised by the *name* of a function that answers. A contract may have the same power under another name, so "not found"
//! does not mean that the power does not exist. A contract that answers any function, such as one with a fallback, shows nothing.
//!
//! Whether a token's code can be replaced says [`Graph::is_upgradeable`](super::governance::Graph::is_upgradeable), and by whom
//! [`Graph::weakest`](super::governance::Graph::weakest).

use super::{CallAnswer, Unknown, Value, erc4626, returned, word};
use crate::abi::{Data, Function, Word};
use crate::block::Address;
use crate::plan::Reading;
use crate::reader::Field;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum length of a name or symbol in bytes. Real ones are much shorter.
pub const MAX_TEXT_BYTES: usize = 128;

/// The names under which tokens in use say whether an address is frozen.
pub const FREEZING: [Function; 7] = [
    Function::IsBlacklisted,
    Function::IsBlackListed,
    Function::GetBlackListStatus,
    Function::IsBlocked,
    Function::IsFrozen,
    Function::Frozen,
    Function::IsDenied,
];

/// The names under which tokens in use say who may mint.
pub const MINTING: [Function; 4] = [Function::MinterRole, Function::Minter, Function::MasterMinter, Function::IsMinter];

const GENERAL: [Function; 5] =
    [Function::Decimals, Function::TotalSupply, Function::Paused, Function::Owner, Function::NoSuchFunction];

/// The functions that are read of a token, in the order of the fields.
fn functions() -> impl Iterator<Item = Function> {
    GENERAL.into_iter().chain(MINTING).chain(FREEZING)
}

/// The fields to read. Functions of an address are asked for `holder`: any address but zero, which some tokens refuse.
pub fn fields(holder: Address) -> Vec<Field> {
    let field = |function: Function| {
        if function.signature().ends_with("(address)") {
            Field::with(function, Word::from_address(holder))
        } else {
            Field::new(function)
        }
    };
    functions().map(field).collect()
}

/// A token, as its functions show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// At most [`erc4626::MAX_DECIMALS`].
    pub decimals: Value<u8>,
    /// Amount that exists, in the smallest unit.
    pub total_supply: Value<Word>,
    /// Whether transfers are stopped now. [`Unknown::NoAnswer`] if the token cannot be stopped, or not by this name.
    pub paused: Value<bool>,
    /// The owner; `None` if it was given up. [`Unknown::NoAnswer`] if the token has no such function.
    pub owner: Value<Option<Address>>,
    /// The functions of [`MINTING`] that the token has.
    pub minting: Value<Vec<Function>>,
    /// The functions of [`FREEZING`] that the token has.
    pub freezing: Value<Vec<Function>>,
}

impl Token {
    /// The readings of [`fields`], in their order. A missing reading is [`Unknown::Unread`].
    pub fn from_readings(readings: &[Option<Reading>]) -> Self {
        let of = |function| {
            let position = functions().position(|it| it == function);
            word(position.and_then(|position| readings.get(position)).and_then(Option::as_ref))
        };
        // What the functions are that the token has, if its answers show that.
        let found = |names: &[Function], is_answer: fn(Function, Word) -> bool| {
            match of(Function::NoSuchFunction) {
                Ok(_) => return Err(Unknown::Implausible),
                Err(Unknown::Unread) => return Err(Unknown::Unread),
                Err(_) => {}
            }
            let mut found = Vec::new();
            for name in names {
                match of(*name) {
                    Ok(word) if is_answer(*name, word) => found.push(*name),
                    Ok(_) | Err(Unknown::NoAnswer | Unknown::Implausible) => {}
                    // Refused with a reason: the function may exist and be restricted, or a fallback refused it.
                    Err(unknown @ (Unknown::Unread | Unknown::Refused)) => return Err(unknown),
                }
            }
            Ok(found)
        };
        Self {
            decimals: of(Function::Decimals).and_then(erc4626::decimals),
            total_supply: of(Function::TotalSupply),
            paused: of(Function::Paused).and_then(|word| Ok(word.to_bool()?)),
            owner: of(Function::Owner).and_then(|word| Ok(Some(word.to_address()?).filter(|it| *it != Address::ZERO))),
            minting: found(&MINTING, |name, word| match name {
                // The role's name is a hash.
                Function::MinterRole => word != Word::ZERO,
                Function::IsMinter => word.to_bool().is_ok(),
                _ => word.to_address().is_ok(),
            }),
            freezing: found(&FREEZING, |_, word| word.to_bool().is_ok()),
        }
    }
}

/// The answer to `name()`, `symbol()` or another function that returns a text of at most `max` bytes.
///
/// Old tokens return `bytes32`, filled up with zeros. The text is made safe to show: see [`safe_text`]. Empty is [`Unknown::Implausible`].
pub fn text(answer: Option<&CallAnswer>, max: usize) -> Value<String> {
    let bytes = returned(answer)?;
    let text = if bytes.len() == 32 {
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        let content = bytes.get(..end.min(max)).unwrap_or_default();
        core::str::from_utf8(content).map_err(|_| Unknown::Implausible)?
    } else {
        Data::new(bytes).string(0, max)?
    };
    let text = safe_text(text);
    if text.is_empty() { Err(Unknown::Implausible) } else { Ok(text) }
}

/// The text without surrounding white space. Characters that do not show, or that change how the text around them shows, are replaced by
/// U+FFFD: control characters, direction marks, characters without width, tags and private ones.
pub fn safe_text(text: &str) -> String {
    let is_unsafe = |char: char| {
        char.is_control()
            || matches!(char,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{10ffff}')
    };
    text.trim().chars().map(|char| if is_unsafe(char) { '\u{fffd}' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Call;
    use crate::failure::Failure;
    use crate::reader::{Outcome, Status};
    use std::borrow::ToOwned;
    use std::vec;

    fn readings(answers: &[(Function, Reading)]) -> Vec<Option<Reading>> {
        let none = Reading::Read(Outcome { status: Status::FailedEmpty, word: Word::ZERO });
        let of = |function| answers.iter().find(|(name, _)| *name == function).map(|(_, reading)| reading);
        functions().map(|function| Some(of(function).unwrap_or(&none).clone())).collect()
    }

    fn read(number: u128) -> Reading {
        Reading::Read(Outcome { status: Status::Returned, word: Word::from_u128(number) })
    }

    #[test]
    fn powers_are_found_by_the_names_of_functions_that_answer() {
        let token = Token::from_readings(&readings(&[
            (Function::Decimals, read(6)),
            (Function::TotalSupply, read(1_000)),
            (Function::Paused, read(1)),
            (Function::Owner, read(0)),
            (Function::MasterMinter, read(77)),
            (Function::IsBlacklisted, read(0)),
            // Not a boolean, so another function of the same name.
            (Function::Frozen, read(5)),
        ]));
        assert_eq!((token.decimals, token.total_supply), (Ok(6), Ok(Word::from_u128(1_000))));
        assert_eq!((token.paused, token.owner), (Ok(true), Ok(None)));
        assert_eq!(token.minting, Ok(vec![Function::MasterMinter]));
        assert_eq!(token.freezing, Ok(vec![Function::IsBlacklisted]));
    }

    #[test]
    fn a_contract_that_answers_anything_shows_no_power() {
        let token =
            Token::from_readings(&readings(&[(Function::NoSuchFunction, read(0)), (Function::Frozen, read(0))]));
        assert_eq!((token.minting, token.freezing), (Err(Unknown::Implausible), Err(Unknown::Implausible)));
        let none = Token::from_readings(&readings(&[]));
        assert_eq!((none.minting, none.freezing, none.paused), (Ok(vec![]), Ok(vec![]), Err(Unknown::NoAnswer)));
    }

    #[test]
    fn a_function_that_was_not_read_is_not_a_missing_function() {
        let unread = Reading::Unread(Failure::Transport);
        let token = Token::from_readings(&readings(&[(Function::IsDenied, unread)]));
        assert_eq!((token.minting, token.freezing), (Ok(vec![]), Err(Unknown::Unread)));
        let unread = Reading::Unread(Failure::Transport);
        let control = Token::from_readings(&readings(&[(Function::NoSuchFunction, unread)]));
        assert_eq!(control.minting, Err(Unknown::Unread), "it may be a contract that answers anything");
        let refused = Reading::Read(Outcome { status: Status::Reverted, word: Word::ZERO });
        assert_eq!(Token::from_readings(&readings(&[(Function::Minter, refused)])).minting, Err(Unknown::Refused));
        assert_eq!(Token::from_readings(&[]).freezing, Err(Unknown::Unread));
    }

    #[test]
    fn functions_of_an_address_are_asked_for_the_holder() {
        let fields = fields(Address([9; 20]));
        assert_eq!(fields.len(), 16);
        assert_eq!(fields[0].calldata().len(), 4);
        assert_eq!(fields[15].calldata()[16..], [9; 20]);
    }

    #[test]
    fn a_text_is_a_string_or_32_bytes_and_is_made_safe() {
        let string = |text: &str| Some(Ok(Call::tuple().bytes(text.as_bytes()).encode()));
        let read = |answer: Option<CallAnswer>| text(answer.as_ref(), 16);
        assert_eq!(read(string(" USDC ")), Ok("USDC".to_owned()));
        assert_eq!(read(string("US\u{202e}DC\n")), Ok("US\u{fffd}DC".to_owned()));
        assert_eq!(read(string("seventeen letters")), Err(Unknown::Implausible));
        assert_eq!(read(string("")), Err(Unknown::Implausible));
        assert_eq!(read(Some(Ok(Word::from_fixed(*b"MKR").0.into()))), Ok("MKR".to_owned()));
        assert_eq!(read(Some(Ok(vec![0xff; 32]))), Err(Unknown::Implausible));
        assert_eq!(read(Some(Ok(vec![0; 32]))), Err(Unknown::Implausible));
        assert_eq!(read(Some(Ok(vec![]))), Err(Unknown::NoAnswer));
        assert_eq!(read(None), Err(Unknown::Unread));
        assert_eq!(safe_text("a\u{200b}b\u{e0041}"), "a\u{fffd}b\u{fffd}");
    }
}
