//! Sets of families.

use super::family::{FAMILIES, Family};
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of families. It travels as a list of their names; names that the reader does not know are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Families(u16);

impl Families {
    pub const NONE: Families = Families(0);
    pub const ALL: Families = Families((1 << FAMILIES) - 1);

    /// These families.
    pub const fn of(families: &[Family]) -> Self {
        let (mut set, mut rest) = (Families::NONE, families);
        while let [first, others @ ..] = rest {
            set = set.with(*first);
            rest = others;
        }
        set
    }

    pub const fn with(self, family: Family) -> Self {
        Families(self.0 | 1 << family as u16)
    }

    /// The families of both sets.
    pub const fn and(self, other: Families) -> Self {
        Families(self.0 | other.0)
    }

    /// The families that are in both sets.
    pub const fn shared_with(self, other: Families) -> Self {
        Families(self.0 & other.0)
    }

    /// The families that are not in `other`.
    pub const fn without(self, other: Families) -> Self {
        Families(self.0 & !other.0)
    }

    pub const fn has(self, family: Family) -> bool {
        self.0 >> family as u16 & 1 == 1
    }

    /// Whether every family of `other` is in this set.
    pub const fn has_all(self, other: Families) -> bool {
        other.0 & !self.0 == 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The families in the order of [`Family::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Family> + Clone {
        Family::ALL.into_iter().filter(move |family| self.has(*family))
    }
}

impl FromIterator<Family> for Families {
    fn from_iter<I: IntoIterator<Item = Family>>(families: I) -> Self {
        families.into_iter().fold(Families::NONE, Families::with)
    }
}

impl Serialize for Families {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Family::name))
    }
}

impl<'de> Deserialize<'de> for Families {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names: Vec<alloc::string::String> = Vec::deserialize(deserializer)?;
        Ok(names.iter().filter_map(|name| Family::of_name(name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sets_of_families_behave_like_sets(a in 0..1u16 << FAMILIES, b in 0..1u16 << FAMILIES) {
            let of = |bits: u16| Family::ALL.into_iter().filter(|family| bits >> *family as u16 & 1 == 1).collect::<Vec<_>>();
            let (first, second) = (Families::of(&of(a)), of(b).into_iter().collect::<Families>());
            prop_assert_eq!(first.iter().collect::<Vec<_>>(), of(a));
            prop_assert_eq!(first.and(second).iter().collect::<Vec<_>>(), of(a | b));
            prop_assert_eq!(first.shared_with(second).iter().collect::<Vec<_>>(), of(a & b));
            prop_assert_eq!(first.without(second).iter().collect::<Vec<_>>(), of(a & !b));
            prop_assert_eq!(first.has_all(second), second.iter().all(|family| first.has(family)));
            prop_assert_eq!((first.is_empty(), Families::ALL.has_all(first)), (a == 0, true));
            let text = serde_json::to_string(&first).unwrap();
            prop_assert_eq!(serde_json::from_str::<Families>(&text).unwrap(), first);
        }
    }

    #[test]
    fn a_family_of_a_later_release_is_left_out() {
        let later = r#"["feeds","later","vaults"]"#;
        let families = Families::of(&[Family::Vaults, Family::Feeds]);
        assert_eq!(serde_json::from_str::<Families>(later).unwrap(), families);
        assert_eq!(serde_json::to_string(&families).unwrap(), r#"["vaults","feeds"]"#);
    }
}
