//! The chains whose data is not served, as they travel with the tag versions.

use rds_shared::model::ids::ChainId;
use rds_shared::route::Tag;
use serde::{Deserialize, Serialize};

/// The tag whose version every withholding raises, and by which the newer of two lists is told.
pub const TAG: Tag = Tag::Vaults;

/// Withheld chains, as of a version of [`TAG`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The version of [`TAG`]; 0 if no list is known.
    pub version: i64,
    /// In ascending order.
    pub chains: Vec<ChainId>,
}

impl Withheld {
    /// Replaces this list by a newer one. Returns whether it did.
    pub fn renew(&mut self, other: &Withheld) -> bool {
        let is_newer = other.version > self.version;
        if is_newer {
            self.clone_from(other);
        }
        is_newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_list_counts_in_either_order_of_arrival() {
        let lists = [(3, vec![ChainId(1)]), (5, vec![])].map(|(version, chains)| Withheld { version, chains });
        for order in [[0, 1], [1, 0]] {
            let mut known = Withheld::default();
            order.into_iter().for_each(|place| _ = known.renew(&lists[place]));
            assert_eq!(known, lists[1]);
        }
    }
}
