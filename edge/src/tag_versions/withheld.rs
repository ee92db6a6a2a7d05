//! The chains whose data is not served, as they travel with the tag versions.

use rds_shared::model::ids::ChainId;
use rds_shared::route::Tag;
use serde::{Deserialize, Serialize};

/// The tag whose version every withholding raises, and by which the newer of two lists is told.
pub const TAG: Tag = Tag::Vaults;

/// Withheld chains, as of a version of [`TAG`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Withheld {
    /// The version of [`TAG`]; 0 if no list is known.
    pub version: i64,
    /// In ascending order.
    pub chains: Vec<ChainId>,
    /// The version as of which this list is known to have been the same; 0 stands for `version`.
    #[serde(default)]
    pub same_since: i64,
}

impl Withheld {
    /// A list that is known as of this version only.
    pub fn new(version: i64, chains: Vec<ChainId>) -> Self {
        Withheld { version, chains, same_since: version }
    }

    /// Replaces this list by a newer one. Returns whether it did.
    pub fn renew(&mut self, other: &Withheld) -> bool {
        let is_newer = other.version > self.version;
        if is_newer {
            let is_same = self.version > 0 && self.chains == other.chains;
            let since = if is_same { self.since().min(other.since()) } else { other.since() };
            *self = Withheld { same_since: since, ..other.clone() };
        }
        is_newer
    }

    /// The version as of which this list is known to have been the same.
    pub fn since(&self) -> i64 {
        if self.same_since > 0 { self.same_since } else { self.version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_list_counts_in_either_order_of_arrival() {
        let lists = [(3, vec![ChainId(1)]), (5, vec![])].map(|(version, chains)| Withheld::new(version, chains));
        for order in [[0, 1], [1, 0]] {
            let mut known = Withheld::default();
            order.into_iter().for_each(|place| _ = known.renew(&lists[place]));
            assert_eq!(known, lists[1]);
        }
    }

    #[test]
    fn a_list_that_stays_the_same_keeps_the_version_since_when_it_does() {
        let mut known = Withheld::default();
        let mut since = |version, chains: &[u64]| {
            known.renew(&Withheld::new(version, chains.iter().copied().map(ChainId).collect()));
            known.since()
        };
        let seen = [since(2, &[]), since(3, &[10]), since(5, &[10]), since(4, &[]), since(6, &[10, 11]), since(9, &[])];
        assert_eq!(seen, [2, 3, 3, 3, 6, 9]);
        let stored: Withheld = serde_json::from_str(r#"{"version":7,"chains":[10]}"#).unwrap();
        assert_eq!(stored.since(), 7, "stored by an earlier release");
    }
}
