//! The families of rows that a replica holds.

use crate::route::Tag;

/// Rows of one kind, in an order of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Active vaults, with their scores and rewards.
    Vaults,
    Markets,
    Feeds,
    /// Enriched assets.
    Assets,
    /// Real-world assets.
    Rwa,
    Chains,
    Protocols,
    Curators,
    /// Symbols of deposit assets.
    Symbols,
    Reviewers,
    SecurityEvents,
    /// Cases of the loss board.
    Losses,
    /// What is one row by itself: facets, totals of the platform, coverage of the loss board.
    Singles,
}

/// Number of families.
pub const FAMILIES: usize = 13;

impl Family {
    pub const ALL: [Family; FAMILIES] = [
        Family::Vaults,
        Family::Markets,
        Family::Feeds,
        Family::Assets,
        Family::Rwa,
        Family::Chains,
        Family::Protocols,
        Family::Curators,
        Family::Symbols,
        Family::Reviewers,
        Family::SecurityEvents,
        Family::Losses,
        Family::Singles,
    ];

    /// The number that stands for the family in documents. It never changes.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The family with this number.
    pub fn of_code(code: u8) -> Option<Self> {
        Family::ALL.get(usize::from(code)).copied()
    }

    /// The family's name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Vaults => "vaults",
            Family::Markets => "markets",
            Family::Feeds => "feeds",
            Family::Assets => "assets",
            Family::Rwa => "rwa",
            Family::Chains => "chains",
            Family::Protocols => "protocols",
            Family::Curators => "curators",
            Family::Symbols => "symbols",
            Family::Reviewers => "reviewers",
            Family::SecurityEvents => "security_events",
            Family::Losses => "losses",
            Family::Singles => "singles",
        }
    }

    /// The family with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Family::ALL.into_iter().find(|family| family.name() == name)
    }

    /// The tags of the facts that the rows are made of.
    pub const fn tags(self) -> &'static [Tag] {
        match self {
            Family::Vaults | Family::Chains | Family::Protocols | Family::Curators | Family::Symbols => &[Tag::Vaults],
            Family::Markets => &[Tag::Vaults, Tag::Markets],
            Family::Feeds => &[Tag::Vaults, Tag::Feeds],
            Family::Assets | Family::Rwa | Family::Reviewers => &[Tag::Assets],
            Family::SecurityEvents | Family::Losses => &[Tag::Security],
            Family::Singles => &[Tag::Vaults, Tag::Markets, Tag::Feeds, Tag::Assets, Tag::Security],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_found_by_its_number_and_by_its_name() {
        for family in Family::ALL {
            assert_eq!(Family::of_code(family.code()), Some(family), "{}", family.name());
            assert_eq!(Family::of_name(family.name()), Some(family));
        }
        assert_eq!(Family::of_code(FAMILIES as u8), None);
    }
}
