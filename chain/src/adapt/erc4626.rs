//! Vaults of the standard ERC-4626.
//!
//! A vault is read in two steps, because the value of *one share* needs the number of the share's decimals: first [`FIRST_STEP`], then
//! [`share_value`] for all vaults with the same decimals. The decimals of the asset are a field of the asset's contract.

use super::{Unknown, Value, word};
use crate::abi::{Function, Word};
use crate::block::Address;
use crate::plan::Reading;
use crate::reader::Field;
use alloc::vec::Vec;

/// Maximum number of decimals of a share or an asset: more than any token in use has.
pub const MAX_DECIMALS: u8 = 36;
/// A share may be worth at most 10^6 of its asset, and at least 10^-6.
pub const PRICE_RANGE_EXPONENT: u8 = 6;

/// The fields of the first step. `maxDeposit` and `maxRedeem` are asked for the zero address or for a holder.
pub const FIRST_STEP: [Function; 6] = [
    Function::Asset,
    Function::Decimals,
    Function::TotalAssets,
    Function::TotalSupply,
    Function::MaxDeposit,
    Function::MaxRedeem,
];

/// An upper limit that the vault sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// There is none: the vault answers 2^256 − 1.
    Unlimited,
    /// At most this amount, in units of the asset or of the share; 0 if the vault is closed.
    Amount(Word),
}

/// A vault after the first step. Amounts are integers in the smallest unit of the asset or of the share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vault {
    /// The token that is deposited; never the zero address.
    pub asset: Value<Address>,
    /// Decimals of the share, at most [`MAX_DECIMALS`].
    pub decimals: Value<u8>,
    /// Assets that the vault manages.
    pub total_assets: Value<Word>,
    /// Shares that exist.
    pub total_supply: Value<Word>,
    /// Assets that the asked address may deposit now.
    pub max_deposit: Value<Limit>,
    /// Shares that the asked address may redeem now.
    pub max_redeem: Value<Limit>,
}

/// The fields of the first step. Limits of deposits are asked for `depositor`, limits of redemptions for `holder`.
pub fn first_step(depositor: Address, holder: Address) -> Vec<Field> {
    let field = |function| match function {
        Function::MaxDeposit => Field::with(function, Word::from_address(depositor)),
        Function::MaxRedeem => Field::with(function, Word::from_address(holder)),
        _ => Field::new(function),
    };
    FIRST_STEP.into_iter().map(field).collect()
}

/// The field of the second step: the assets that one share of this many decimals is worth. `None` above [`MAX_DECIMALS`].
pub fn share_value(decimals: u8) -> Option<Field> {
    let one_share = (decimals <= MAX_DECIMALS).then(|| Word::power_of_ten(decimals)).flatten()?;
    Some(Field::with(Function::ConvertToAssets, one_share))
}

impl Vault {
    /// The readings of the fields of [`first_step`], in their order. A missing reading is [`Unknown::Unread`].
    pub fn from_readings(readings: &[Option<Reading>]) -> Self {
        let word_of = |function| {
            let position = FIRST_STEP.iter().position(|it| *it == function);
            word(position.and_then(|position| readings.get(position)).and_then(Option::as_ref))
        };
        Self {
            asset: word_of(Function::Asset).and_then(|word| match word.to_address()? {
                Address::ZERO => Err(Unknown::Implausible),
                asset => Ok(asset),
            }),
            decimals: word_of(Function::Decimals).and_then(decimals),
            total_assets: word_of(Function::TotalAssets),
            total_supply: word_of(Function::TotalSupply),
            max_deposit: word_of(Function::MaxDeposit).map(limit),
            max_redeem: word_of(Function::MaxRedeem).map(limit),
        }
    }
}

/// The reading of `decimals()`, of a vault or of its asset, as a number up to [`MAX_DECIMALS`].
pub fn decimals(word: Word) -> Value<u8> {
    u8::try_from(word.to_u64()?).ok().filter(|decimals| *decimals <= MAX_DECIMALS).ok_or(Unknown::Implausible)
}

fn limit(word: Word) -> Limit {
    if word == Word::MAX { Limit::Unlimited } else { Limit::Amount(word) }
}

/// The reading of [`share_value`]: how many of the asset's smallest units one share is worth.
///
/// [`Unknown::Implausible`] if that is less than 10^-6 or more than 10^6 assets, as with a vault that was inflated or has lost everything.
pub fn price_per_share(reading: Option<&Reading>, asset_decimals: u8) -> Value<Word> {
    let price = word(reading)?;
    if asset_decimals > MAX_DECIMALS {
        return Err(Unknown::Implausible);
    }
    let lowest = Word::power_of_ten(asset_decimals.saturating_sub(PRICE_RANGE_EXPONENT));
    let highest = Word::power_of_ten(asset_decimals.saturating_add(PRICE_RANGE_EXPONENT));
    match (lowest, highest) {
        (Some(lowest), Some(highest)) if lowest <= price && price <= highest => Ok(price),
        _ => Err(Unknown::Implausible),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::reader::{Outcome, Status};
    use std::vec;

    fn read(word: Word) -> Option<Reading> {
        Some(Reading::Read(Outcome { status: Status::Returned, word }))
    }

    fn number(number: u128) -> Option<Reading> {
        read(Word::from_u128(number))
    }

    #[test]
    fn a_vault_is_read_field_by_field() {
        let asset = Address([7; 20]);
        let readings =
            [read(Word::from_address(asset)), number(18), number(1_250), number(1_000), read(Word::MAX), number(0)];
        let vault = Vault::from_readings(&readings);
        assert_eq!((vault.asset, vault.decimals), (Ok(asset), Ok(18)));
        assert_eq!((vault.total_assets, vault.total_supply), (Ok(Word::from_u128(1_250)), Ok(Word::from_u128(1_000))));
        assert_eq!((vault.max_deposit, vault.max_redeem), (Ok(Limit::Unlimited), Ok(Limit::Amount(Word::ZERO))));
    }

    #[test]
    fn each_kind_of_missing_answer_has_its_own_reason() {
        let outcome = |status| Some(Reading::Read(Outcome { status, word: Word::ZERO }));
        let readings = [
            None,
            Some(Reading::Unread(Failure::RateLimited { retry_after: None })),
            outcome(Status::Reverted),
            outcome(Status::FailedEmpty),
            outcome(Status::ReturnedShort),
        ];
        let vault = Vault::from_readings(&readings);
        assert_eq!((vault.asset, vault.decimals), (Err(Unknown::Unread), Err(Unknown::Unread)));
        assert_eq!((vault.total_assets, vault.total_supply), (Err(Unknown::Refused), Err(Unknown::NoAnswer)));
        assert_eq!((vault.max_deposit, vault.max_redeem), (Err(Unknown::NoAnswer), Err(Unknown::Unread)));
    }

    #[test]
    fn values_out_of_their_bounds_are_implausible() {
        let vault = |asset, decimals| Vault::from_readings(&[read(asset), read(decimals)]);
        let strange = vault(Word::ZERO, Word::from_u128(37));
        assert_eq!((strange.asset, strange.decimals), (Err(Unknown::Implausible), Err(Unknown::Implausible)));
        let strange = vault(Word::MAX, Word::MAX);
        assert_eq!((strange.asset, strange.decimals), (Err(Unknown::Implausible), Err(Unknown::Implausible)));
        assert_eq!(decimals(Word::from_u128(36)), Ok(36));
    }

    #[test]
    fn the_price_of_a_share_lies_between_a_millionth_and_a_million_assets() {
        for (price, decimals, is_plausible) in [
            (1_000_000, 6, true),
            (1, 6, true),
            (0, 6, false),
            (10_u128.pow(12), 6, true),
            (10_u128.pow(12) + 1, 6, false),
            (10_u128.pow(12), 18, true),
            (10_u128.pow(12) - 1, 18, false),
            (1, 0, true),
            (0, 0, false),
            (10_u128.pow(36), 36, true),
            (1, 37, false),
        ] {
            let read = price_per_share(number(price).as_ref(), decimals);
            assert_eq!(read.is_ok(), is_plausible, "{price} at {decimals} decimals");
        }
        assert_eq!(price_per_share(None, 6), Err(Unknown::Unread));
    }

    #[test]
    fn the_fields_ask_for_the_named_holder_and_for_one_whole_share() {
        let fields = first_step(Address::ZERO, Address([9; 20]));
        assert_eq!(fields.len(), FIRST_STEP.len());
        assert_eq!(fields[5].calldata()[16..], vec![9; 20]);
        assert_eq!(share_value(0).map(|field| field.calldata()[35]), Some(1));
        assert!(share_value(36).is_some() && share_value(37).is_none());
    }
}
