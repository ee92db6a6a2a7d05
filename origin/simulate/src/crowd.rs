//! Generated vaults, any number of them, so that lists are long and filters match something.

use super::actor::{Actor, Story};
use super::random::Random;
use super::vault::{Campaign, Control, SimVault};
use rds_facts::IncentivesStatus;
use rds_shared::model::status::{BorrowStatus, DepositStatus, RewardSide};
use rds_shared::scoring::vault::{Exit, Oracle, Source};

/// Days before the run with one reading each. One day, so that a fall of the share price in the first hour of the run can be recognised.
const REMEMBERED_DAYS: u32 = 1;

/// Platforms with their percentage of the generated vaults. Nested vaults exist only in the scenarios.
const SHARES: [(&str, u32); 10] = [
    ("quillfish", 17),
    ("brambleway", 24),
    ("lanternmoss", 22),
    ("slowriver", 6),
    ("tidewheel", 12),
    ("cinderloop", 6),
    ("paperkite", 4),
    ("mothlamp", 4),
    ("driftwick", 3),
    ("hearthglow", 2),
];
const LENT: [&str; 6] = ["pny", "pny", "flrn", "deth", "tpny", "dbtc"];
const HELD: [&str; 8] = ["deth", "sdeth", "rdeth", "spny", "quill", "dgld", "flrn", "dbtc"];
const COLLATERAL: [&str; 6] = ["deth", "sdeth", "dbtc", "rdeth", "spny", "dgld"];
const ORACLES: [Oracle; 5] = [Oracle::PushFeed, Oracle::PushFeed, Oracle::PullFeed, Oracle::ExchangeRate, Oracle::Twap];
const LLTV: [u32; 5] = [75, 80, 86, 91, 94];
const CURATORS: [&str; 6] = [
    "juniper-and-vole",
    "saltmarsh-risk",
    "pebble-committee",
    "owl-ledger",
    "northlight-stewards",
    "copperfern-capital",
];
const CONTROLS: [Control; 6] = [
    Control::STRONG,
    Control::STRONG,
    Control::SOUND,
    Control::keys(48, 3, 5, Exit::Queue7d, Source::Verified),
    Control::FAIR,
    Control::UNKNOWN,
];

const FIRST: [&str; 32] = [
    "Amber", "Ashen", "Birch", "Bright", "Cedar", "Clover", "Cobalt", "Coral", "Dapple", "Distant", "Ember", "Fallow",
    "Fern", "Frost", "Gentle", "Golden", "Hazel", "Hollow", "Indigo", "Ivory", "Larch", "Lucid", "Maple", "Misty",
    "Mossy", "Olive", "Pewter", "Quiet", "Russet", "Silver", "Thistle", "Willow",
];
const SECOND: [&str; 32] = [
    "Anchor", "Arbor", "Basin", "Beacon", "Bridge", "Brook", "Cairn", "Canopy", "Compass", "Cove", "Delta", "Estuary",
    "Fjord", "Garden", "Grove", "Harvest", "Hearth", "Hollow", "Inlet", "Isle", "Lagoon", "Lantern", "Meadow", "Mill",
    "Orchard", "Passage", "Pier", "Ridge", "Spring", "Summit", "Terrace", "Valley",
];

/// The generated vault numbered `number`, of a run of `hours`.
pub fn vault(seed: u64, number: u64, hours: u32) -> Actor {
    let mut random = Random::of(seed, "crowd", number);
    let platform = platform(&mut random);
    let lends = matches!(platform, "quillfish" | "brambleway" | "lanternmoss" | "mothlamp");
    let token = random.pick(if lends { &LENT[..] } else { &HELD[..] });
    let name = format!("{} {} {number}", random.pick(&FIRST), random.pick(&SECOND));
    let make = if lends { SimVault::lending } else { SimVault::holding };
    let mut vault = make(seed, number, &name, platform, token).aged(age(&mut random, platform));
    vault.control = random.pick(&CONTROLS);
    vault.market.tvl_usd = Some(value(&mut random));
    if matches!(platform, "lanternmoss" | "tidewheel") {
        vault.curator = Some(random.pick(&CURATORS));
    }
    if lends {
        lend(&mut random, &mut vault, token);
    } else {
        vault = vault.yielding((random.between(0.01, 0.12) * 1e4).round() / 1e4);
    }
    if random.chance(0.15) {
        vault = vault.paying(Campaign::supply("season-two", "quill", 0.012));
    }
    if random.chance(0.08) {
        vault = vault.paying(Campaign::points("acorns", RewardSide::Supply));
    }
    let turn = turn(&mut random, hours);
    Actor::new(vault, turn, REMEMBERED_DAYS)
}

fn platform(random: &mut Random) -> &'static str {
    let mut left = random.below(SHARES.iter().map(|(_, share)| share).sum());
    for (platform, share) in SHARES {
        if left < share {
            return platform;
        }
        left -= share;
    }
    SHARES[0].0
}

fn age(random: &mut Random, platform: &str) -> u32 {
    let oldest = match platform {
        "driftwick" => 38,
        "mothlamp" => 145,
        "cinderloop" => 280,
        _ => 900,
    };
    4 + random.below(oldest - 4)
}

/// A TVL between 10 thousand and 990 million USD; most are small.
fn value(random: &mut Random) -> f64 {
    let scale = random.pick(&[1e4, 1e5, 1e5, 1e6, 1e6, 1e6, 1e7, 1e7, 1e8]);
    (scale * random.between(1.0, 9.9)).round()
}

fn lend(random: &mut Random, vault: &mut SimVault, token: &str) {
    let mut parts = Vec::new();
    let shares: &[u32] = random.pick(&[&[100][..], &[65, 35], &[50, 30, 20]]);
    let first = random.below(COLLATERAL.len() as u32) as usize;
    let others = COLLATERAL.iter().cycle().skip(first).filter(|id| **id != token);
    for (percent, id) in shares.iter().zip(others) {
        parts.push((*id, *percent, random.pick(&ORACLES), random.pick(&LLTV)));
    }
    *vault = vault.clone().against(&parts);
    let utilization = random.between(0.2, 0.94);
    let borrow = 0.02 + 0.09 * utilization * utilization;
    let market = &mut vault.market;
    (market.utilization, market.borrow_apr) = (Some(utilization), Some(borrow));
    market.base_apr = Some(borrow * utilization * 0.9);
    market.growth = borrow * utilization * 0.9;
    market.borrow = random.pick(&[BorrowStatus::Open, BorrowStatus::Open, BorrowStatus::Open, BorrowStatus::Capped]);
    market.incentives =
        random.pick(&[IncentivesStatus::Checked, IncentivesStatus::Checked, IncentivesStatus::Unavailable]);
    if random.chance(0.1) {
        (market.deposits, market.capacity_usd) = (DepositStatus::Closed, Some(0.0));
    }
}

/// A scripted change for two vaults in five, beginning at a random hour.
fn turn(random: &mut Random, hours: u32) -> Option<Story> {
    let (happens, from_last) = (random.chance(0.4), 1 + random.below(hours));
    let (what, control) = (random.below(4), random.pick(&CONTROLS));
    let lasts = 4 + random.below(30);
    let story: Story = match what {
        0 => Box::new(move |vault, moment| {
            if moment.in_the_last(from_last) {
                vault.control = control;
            }
        }),
        1 => Box::new(move |vault, moment| {
            vault.market.quarantined =
                moment.in_the_last(from_last) && !moment.in_the_last(from_last.saturating_sub(lasts));
        }),
        2 => Box::new(move |vault, moment| {
            if moment.in_the_last(from_last) && vault.market.utilization.is_some() {
                vault.market.utilization = Some(0.963);
            }
        }),
        _ => Box::new(move |vault, moment| {
            if moment.in_the_last(from_last) {
                vault.market.tvl_usd = vault.market.tvl_usd.map(|tvl| tvl * 0.45);
            }
        }),
    };
    happens.then_some(story)
}
