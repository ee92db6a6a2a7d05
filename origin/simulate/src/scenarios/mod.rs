//! Scenarios: hand-written vaults, so that a demo shows every case that a client has to handle.

mod lenders;
mod managed;
mod outliers;

use super::actor::{Actor, Story};
use super::moment::Moment;
use super::vault::SimVault;

/// Days before the run with one reading each, so that charts show a month.
const REMEMBERED_DAYS: u32 = 30;

/// The vaults of all scenarios; a vault comes after the vaults that it holds.
pub fn vaults(seed: u64) -> Vec<Actor> {
    let mut cast = Cast { seed, actors: Vec::new() };
    lenders::enter(&mut cast);
    managed::enter(&mut cast);
    outliers::enter(&mut cast);
    cast.actors
}

/// The vaults while they are built.
struct Cast {
    seed: u64,
    actors: Vec<Actor>,
}

impl Cast {
    fn lending(&self, name: &str, platform: &str, token: &str) -> SimVault {
        SimVault::lending(self.seed, self.actors.len() as u64, name, platform, token)
    }

    fn holding(&self, name: &str, platform: &str, token: &str) -> SimVault {
        SimVault::holding(self.seed, self.actors.len() as u64, name, platform, token)
    }

    /// Adds a vault without scripted changes.
    fn quiet(&mut self, vault: SimVault) {
        self.actors.push(Actor::new(vault, None, REMEMBERED_DAYS));
    }

    /// Adds a vault whose changes `story` scripts.
    fn with_story(&mut self, vault: SimVault, story: impl Fn(&mut SimVault, Moment) + Send + Sync + 'static) {
        let story: Story = Box::new(story);
        self.actors.push(Actor::new(vault, Some(story), REMEMBERED_DAYS));
    }

    /// The id of the vault with this name, which must have been added before.
    fn id_of(&self, name: &str) -> String {
        self.actors.iter().find(|actor| actor.name() == name).map(|actor| actor.id().to_owned()).unwrap_or_default()
    }
}
