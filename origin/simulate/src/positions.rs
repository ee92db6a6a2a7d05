//! Three holders of several simulated vaults. In indexed vaults they are part of the holder snapshot; in other vaults only the positions
//! of these three are observed.

use super::actor::Actor;
use super::holders;
use super::moment::Moment;
use super::random::Random;
use super::source::SOURCE;
use super::vault::SimVault;
use rds_engine::ingest::Observation;
use rds_facts::Position;
use rds_facts::fact::Kind;

/// Number of the holder, vault, and share of the vault in parts per million; `None` if the vault's supply was not read.
const HELD: [(u64, &str, Option<u32>); 8] = [
    (0, "Quillfish Penny Pool", Some(12_500)),
    (0, "Juniper & Vole Steady Penny", Some(4_000)),
    (0, "Slowriver Savings Penny", Some(900)),
    (1, "Tidewheel Ether & Quill Farm", Some(310_000)),
    (1, "Cinderloop Fourfold Ether", Some(27_000)),
    // Positions without a value: the TVL of the first vault and the share supply of the second were not read.
    (1, "Driftwick Autopilot One", Some(150_000)),
    (2, "Hearthglow Pocket", None),
    // A position that was closed.
    (2, "Quillfish Penny Pool", Some(0)),
];

/// The holder's address; it does not depend on the seed.
fn holder(number: u64) -> String {
    Random::of(0, "holder", number).address()
}

/// Balances of the three holders (see `HELD`) in an indexed vault whose other holders own `others` share units.
pub fn among(vault: &SimVault, others: u128) -> Vec<(String, u128)> {
    let held = || HELD.iter().filter(|(_, name, _)| *name == vault.name);
    let parts = |parts: &Option<u32>| u128::from(parts.unwrap_or(0));
    let all: u128 = held().map(|(_, _, of)| parts(of)).sum();
    let unit = others / 1_000_000_u128.saturating_sub(all).max(1);
    held().map(|(number, _, of)| (holder(*number), unit * parts(of))).filter(|(_, balance)| *balance > 0).collect()
}

/// Positions of the three holders (see `HELD`) in vaults that are not indexed; none after the first hour.
pub fn initial_positions(moment: Moment, actors: &[Actor]) -> Vec<Observation> {
    let held = |(number, name, parts): &(u64, &str, Option<u32>)| {
        let vault = actors.iter().find(|actor| actor.name() == *name)?.at(moment);
        if holders::is_indexed(&vault) {
            return None;
        }
        let units = vault.market.tvl_usd.unwrap_or(1e6) / vault.token.usd * f64::from(parts.unwrap_or(1)) / 1e6;
        // Share tokens have six decimals here, whatever the decimals of the asset.
        let balance = (units * 1e6) as u128;
        Some(Observation::Position(Position {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            holder: holder(*number),
            vault_id: vault.id.clone(),
            balance_raw: balance.to_string(),
            share: parts.map(|parts| f64::from(parts) / 1e6),
        }))
    };
    HELD.iter().filter_map(held).filter(|_| moment.before().is_none()).collect()
}
