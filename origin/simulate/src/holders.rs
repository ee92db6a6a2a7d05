//! Holders of the simulated vaults' shares, from an indexer that has indexed some vaults completely, some partly and some not at all.

use super::moment::Moment;
use super::positions;
use super::random::Random;
use super::source::SOURCE;
use super::vault::SimVault;
use rds_facts::fact::Kind;
use rds_facts::{Holder, HolderSnapshot};
use rds_shared::model::status::{HolderCategory, HolderMethod};

/// Vaults below this number are indexed; most of them belong to the scenarios.
const INDEXED: u64 = 64;
/// Hours between two snapshots.
const SNAPSHOT_HOURS: u32 = 12;
/// Hours before the end of the run at which the indexer completes the delayed vaults.
const CATCHES_UP: u32 = 24;

/// The indexer's progress with a vault.
#[derive(Clone, Copy, PartialEq)]
enum Progress {
    /// Every holder is known.
    Done,
    /// Only some of the past transfers have been read.
    Backfilling,
    /// All past transfers have been read, but the balances do not add up to the supply.
    OffBy,
}

fn progress(vault: &SimVault, moment: Moment) -> Option<Progress> {
    match vault.number % 9 {
        _ if !is_indexed(vault) => None,
        3 => Some(Progress::Backfilling),
        5 if !moment.in_the_last(CATCHES_UP) => Some(Progress::Backfilling),
        7 => Some(Progress::OffBy),
        _ => Some(Progress::Done),
    }
}

/// Whether the indexer reads the vault's holders.
pub fn is_indexed(vault: &SimVault) -> bool {
    vault.number < INDEXED && vault.number % 9 != 4
}

/// The snapshot at `moment`; `None` if none is due or the vault is not indexed.
pub fn seen(vault: &SimVault, moment: Moment, seed: u64) -> Option<HolderSnapshot> {
    let due = moment.hour.is_multiple_of(SNAPSHOT_HOURS) || moment.in_the_last(1);
    let progress = progress(vault, moment).filter(|_| due)?;
    let mut holders = holders(vault, moment, seed);
    let total = |holders: &[(Holder, u128)]| holders.iter().map(|(_, raw)| raw).sum::<u128>();
    let known = |(address, raw): (String, u128)| {
        let balance_raw = raw.to_string();
        (
            Holder {
                address,
                balance_raw,
                label: None,
                category: HolderCategory::Account,
                method: Some(HolderMethod::Bytecode),
            },
            raw,
        )
    };
    holders.splice(0..0, positions::among(vault, total(&holders)).into_iter().map(known));
    let supply = total(&holders);
    if progress == Progress::Backfilling {
        holders.truncate(holders.len() / 2);
    }
    let missing = if progress == Progress::OffBy { 1 } else { 0 };
    Some(HolderSnapshot {
        kind: Kind,
        observed_at: moment.at(),
        source: SOURCE.to_owned(),
        vault_id: vault.id.clone(),
        token_address: None,
        indexed_to_block: Some(8_000_000 + 1_800 * i64::from(moment.hour)),
        backfill_complete: progress != Progress::Backfilling,
        total_supply_raw: Some((supply + missing).to_string()),
        holders: holders.into_iter().map(|(holder, _)| holder).collect(),
    })
}

/// Holders and balances: a few large ones and a long tail, with small changes between snapshots.
fn holders(vault: &SimVault, moment: Moment, seed: u64) -> Vec<(Holder, u128)> {
    let mut random = Random::of(seed, "holders", vault.number);
    let count = 3 + random.below(40);
    let unit = 10_u128.pow(vault.token.decimals.min(24));
    let scale = unit * u128::from(1_000 + random.below(500_000));
    let one = |place: u32| {
        let mut random = Random::of(seed ^ vault.number.rotate_left(32), "holder", u64::from(place));
        let address = random.address();
        let (category, method, label) = who(vault, place, &mut random);
        let weight = u128::from(500 + random.below(500)) * scale / u128::from(place + 1);
        // Balances vary by up to two percent in the course of a day.
        let sway = u128::from(moment.hour.wrapping_mul(7).wrapping_add(place * 5) % 41);
        let raw = (weight * (980 + sway) / 1_000).max(1);
        (Holder { address, balance_raw: raw.to_string(), label, category, method }, raw)
    };
    (0..count).map(one).collect()
}

fn who(vault: &SimVault, place: u32, random: &mut Random) -> (HolderCategory, Option<HolderMethod>, Option<String>) {
    use HolderCategory::{Account, Contract, ProtocolManaged, Unknown, Vault};
    let managed = vault.number.is_multiple_of(2);
    match place {
        0 if managed => (ProtocolManaged, Some(HolderMethod::Review), Some("Protocol treasury".to_owned())),
        1 if vault.number.is_multiple_of(3) => {
            (Vault, Some(HolderMethod::Registry), Some("Vault of vaults".to_owned()))
        }
        2 => (Contract, Some(HolderMethod::Bytecode), None),
        _ if random.chance(0.7) => (Account, Some(HolderMethod::Bytecode), None),
        _ => (Unknown, None, None),
    }
}
