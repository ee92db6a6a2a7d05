//! Measurements that have parts, of which some can be asked for.

use anyhow::{Result, bail};
use clap::Args;

/// Which parts of a measurement.
#[derive(Args, Clone, Debug, Default)]
pub struct Only {
    /// Only these parts, separated by commas; one that there is not is answered by those that there are.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

impl Only {
    /// Those that were asked for out of `all` of a measurement, in its order; by default all of them.
    pub fn of<const N: usize>(&self, measurement: &str, all: [&'static str; N]) -> Result<Vec<&'static str>> {
        if let Some(unknown) = self.only.iter().find(|part| !all.contains(&part.as_str())) {
            bail!("{measurement} has no part {unknown}; it has {}", all.join(", "));
        }
        Ok(all.into_iter().filter(|part| self.is_all() || self.only.iter().any(|only| only == part)).collect())
    }

    /// Whether none is left out: only then is a section written.
    pub fn is_all(&self) -> bool {
        self.only.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_their_order_and_an_unknown_one_is_told_which_there_are() {
        let only = |parts: &[&str]| Only { only: parts.iter().map(|part| (*part).to_owned()).collect() };
        let of = |parts: &[&str]| only(parts).of("tea", ["leaf", "cup", "pot"]);
        assert_eq!(of(&[]).unwrap(), ["leaf", "cup", "pot"]);
        assert_eq!(of(&["pot", "leaf"]).unwrap(), ["leaf", "pot"]);
        assert_eq!(of(&["leaf", "jug"]).unwrap_err().to_string(), "tea has no part jug; it has leaf, cup, pot");
        assert!(!only(&["pot"]).is_all());
    }
}
