//! Options of a benchmark that consists of parts.

use anyhow::{Result, bail};
use clap::Args;

use crate::Plan;

/// How long to measure, and which parts.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    pub plan: Plan,
    #[command(flatten)]
    pub only: Only,
}

impl Options {
    /// Options that select all parts, with this plan.
    pub fn of(plan: &Plan) -> Self {
        Options { plan: plan.clone(), only: Only::default() }
    }
}

/// The parts to run.
#[derive(Args, Clone, Debug, Default)]
pub struct Only {
    /// Run only these parts, separated by commas. An unknown name lists the existing parts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

impl Only {
    /// The selected parts in the order of `all`; by default all.
    pub fn of<const N: usize>(&self, measurement: &str, all: [&'static str; N]) -> Result<Vec<&'static str>> {
        if let Some(unknown) = self.only.iter().find(|part| !all.contains(&part.as_str())) {
            bail!("{measurement} has no part {unknown}; its parts are {}", all.join(", "));
        }
        Ok(all.into_iter().filter(|part| self.is_all() || self.only.iter().any(|only| only == part)).collect())
    }

    /// Whether all parts are selected. Only then is a section written to the results.
    pub fn is_all(&self) -> bool {
        self.only.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_order_and_an_unknown_name_lists_the_existing_ones() {
        let only = |parts: &[&str]| Only { only: parts.iter().map(|part| (*part).to_owned()).collect() };
        let of = |parts: &[&str]| only(parts).of("tea", ["leaf", "cup", "pot"]);
        assert_eq!(of(&[]).unwrap(), ["leaf", "cup", "pot"]);
        assert_eq!(of(&["pot", "leaf"]).unwrap(), ["leaf", "pot"]);
        assert_eq!(of(&["leaf", "jug"]).unwrap_err().to_string(), "tea has no part jug; its parts are leaf, cup, pot");
        assert!(!only(&["pot"]).is_all());
    }
}
