//! A simulated vault and the changes that happen to it during the run.

use super::moment::Moment;
use super::vault::SimVault;
use super::{holders, strategies};
use rds_engine::ingest::Observation;
use rds_facts::VaultState;

/// Managers rebalance only vaults with numbers below this limit, which keeps large markets fast to generate.
const REBALANCING: u64 = 64;

/// A scripted change: sets a vault to its state at a moment of the run.
pub type Story = Box<dyn Fn(&mut SimVault, Moment) + Send + Sync>;

/// A vault with its scripted changes, if it has any.
pub struct Actor {
    /// The vault's state without scripted changes.
    vault: SimVault,
    story: Option<Story>,
    /// The vault has one reading a day for this many days before the run.
    remembered_days: u32,
}

impl Actor {
    /// A vault that changes as `story` scripts, with one reading a day for `remembered_days` days before the run.
    pub fn new(vault: SimVault, story: Option<Story>, remembered_days: u32) -> Actor {
        Actor { vault, story, remembered_days }
    }

    /// `{protocol_id}-{chain_id}-{address}`.
    pub fn id(&self) -> &str {
        &self.vault.id
    }

    pub fn name(&self) -> &str {
        &self.vault.name
    }

    /// The vault's state at `moment`.
    pub fn at(&self, moment: Moment) -> SimVault {
        let mut vault = self.vault.clone();
        if let Some(story) = &self.story {
            story(&mut vault, moment);
        }
        vault
    }

    /// The observations of `moment`: a reading every hour, holders twice a day, all other facts in the first hour and when they change.
    pub fn observe(&self, moment: Moment, seed: u64, out: &mut Vec<Observation>) {
        let now = self.at(moment);
        match moment.before() {
            None => {
                out.push(Observation::Vault(Box::new(now.identity(moment))));
                out.push(Observation::Exposure(now.exposure(moment)));
                out.extend(now.campaigns.iter().map(|campaign| Observation::Reward(now.reward(campaign, moment))));
                let strategies = strategies::seen(&now, moment, seed).into_iter();
                out.extend(strategies.map(|strategy| Observation::Strategy(Box::new(strategy))));
                out.extend(self.past_readings(moment, seed).map(Observation::VaultState));
            }
            Some(before) if self.story.is_some() => differences(&self.at(before), &now, moment, out),
            Some(_) => {}
        }
        if strategies::rebalanced_at(moment) {
            let moved = strategies::seen(&now, moment, seed).into_iter().filter(|_| now.number < REBALANCING);
            out.extend(moved.map(|strategy| Observation::Strategy(Box::new(strategy))));
        }
        out.extend(holders::seen(&now, moment, seed).map(Observation::HolderSnapshot));
        out.push(Observation::VaultState(now.reading(moment.at(), i64::from(moment.hour), seed)));
    }

    fn past_readings(&self, moment: Moment, seed: u64) -> impl Iterator<Item = VaultState> {
        let days = self.remembered_days.min(self.vault.age_days.unwrap_or(u32::MAX));
        (1..=days).map(move |day| self.vault.reading(moment.days_before_start(day), -24 * i64::from(day), seed))
    }
}

fn differences(before: &SimVault, now: &SimVault, moment: Moment, out: &mut Vec<Observation>) {
    if before.identity(moment) != now.identity(moment) {
        out.push(Observation::Vault(Box::new(now.identity(moment))));
    }
    if before.exposure(moment) != now.exposure(moment) {
        out.push(Observation::Exposure(now.exposure(moment)));
    }
    let changed = now.campaigns.iter().filter(|campaign| !before.campaigns.contains(campaign));
    out.extend(changed.map(|campaign| Observation::Reward(now.reward(campaign, moment))));
}
