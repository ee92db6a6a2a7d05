//! Tags: which facts an answer is made of, and up to which change of them.
//!
//! A committed change of facts gives their tags a higher version. An answer says which versions it was made from, a copy
//! keeps that, and a copy that is behind what the edge knows is confirmed before it is served.

use alloc::string::String;
use core::fmt::Write;
use serde::{Deserialize, Serialize};

/// A family of facts that change together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tag {
    /// Vaults, and the chains, protocols and curators they belong to: readings, scores, rewards, holders, positions.
    Vaults,
    /// Lending markets and their reserves.
    Markets,
    /// Price feeds.
    Feeds,
    /// Assets, real-world assets, their reviews and reviewers.
    Assets,
    /// The events feed.
    Events,
    /// The security registry and the loss board.
    Security,
    /// Signals.
    Signals,
    /// What the service says about its own scores.
    Research,
    /// The exposure graph's snapshots.
    Graph,
    /// Who may sign decisions.
    Signers,
    /// Baskets, their versions and their rules.
    Baskets,
    /// The platform's fail-safe mode, which its version spells ([`super::fail_safe`]).
    FailSafe,
}

impl Tag {
    /// Every tag.
    pub const ALL: [Tag; 12] = [
        Tag::Vaults,
        Tag::Markets,
        Tag::Feeds,
        Tag::Assets,
        Tag::Events,
        Tag::Security,
        Tag::Signals,
        Tag::Research,
        Tag::Graph,
        Tag::Signers,
        Tag::Baskets,
        Tag::FailSafe,
    ];

    /// The tag's name in headers and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tag::Vaults => "vaults",
            Tag::Markets => "markets",
            Tag::Feeds => "feeds",
            Tag::Assets => "assets",
            Tag::Events => "events",
            Tag::Security => "security",
            Tag::Signals => "signals",
            Tag::Research => "research",
            Tag::Graph => "graph",
            Tag::Signers => "signers",
            Tag::Baskets => "baskets",
            Tag::FailSafe => "fail_safe",
        }
    }

    /// Reads a tag's name.
    pub fn parse(text: &str) -> Option<Self> {
        Tag::ALL.into_iter().find(|tag| tag.as_str() == text)
    }
}

/// A version for each tag, zero where none is known. Versions only grow.
///
/// As text `vaults=12;events=7`, in a header as in a message. A reader passes over tags that it does not know, and pieces
/// that it cannot read: no version of them is known to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct TagVersions([i64; Tag::ALL.len()]);

impl TagVersions {
    /// Reads the text form.
    pub fn parse(text: &str) -> Self {
        let mut versions = TagVersions::default();
        for (name, version) in text.split(';').filter_map(|piece| piece.trim().split_once('=')) {
            if let (Some(tag), Ok(version)) = (Tag::parse(name), version.parse()) {
                versions.raise(tag, version);
            }
        }
        versions
    }

    /// The version of `tag`.
    pub fn of(&self, tag: Tag) -> i64 {
        self.0.get(tag as usize).copied().unwrap_or(0)
    }

    /// Makes `version` that of `tag`, unless a newer one is known. Says whether it was news.
    pub fn raise(&mut self, tag: Tag, version: i64) -> bool {
        match self.0.get_mut(tag as usize) {
            Some(known) if version > *known => {
                *known = version;
                true
            }
            _ => false,
        }
    }

    /// Takes up every version of `others` that is newer. Says whether there was one.
    pub fn raise_to(&mut self, others: &TagVersions) -> bool {
        others.iter().fold(false, |news, (tag, version)| self.raise(tag, version) || news)
    }

    /// The same with at least `version` of `tag`.
    pub fn with(mut self, tag: Tag, version: i64) -> Self {
        self.raise(tag, version);
        self
    }

    /// The versions of `tags` alone.
    pub fn only(&self, tags: &[Tag]) -> Self {
        let mut versions = TagVersions::default();
        for tag in tags {
            versions.raise(*tag, self.of(*tag));
        }
        versions
    }

    /// Whether nothing in `others` is newer.
    pub fn covers(&self, others: &TagVersions) -> bool {
        self.0.iter().zip(&others.0).all(|(ours, theirs)| ours >= theirs)
    }

    /// Whether no version is known.
    pub fn is_empty(&self) -> bool {
        *self == TagVersions::default()
    }

    /// The tags of which a version is known.
    pub fn iter(&self) -> impl Iterator<Item = (Tag, i64)> {
        Tag::ALL.into_iter().map(|tag| (tag, self.of(tag))).filter(|(_, version)| *version > 0)
    }

    /// The text form; empty when nothing is known.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (tag, version) in self.iter() {
            let separator = if text.is_empty() { "" } else { ";" };
            // Writing into a String does not fail.
            let _ = write!(text, "{separator}{}={version}", tag.as_str());
        }
        text
    }
}

impl FromIterator<(Tag, i64)> for TagVersions {
    fn from_iter<I: IntoIterator<Item = (Tag, i64)>>(pairs: I) -> Self {
        let mut versions = TagVersions::default();
        for (tag, version) in pairs {
            versions.raise(tag, version);
        }
        versions
    }
}

impl From<TagVersions> for String {
    fn from(versions: TagVersions) -> String {
        versions.to_text()
    }
}

impl From<String> for TagVersions {
    fn from(text: String) -> Self {
        TagVersions::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn versions() -> impl Strategy<Value = TagVersions> {
        prop::collection::vec(0i64..5, Tag::ALL.len()).prop_map(|numbers| Tag::ALL.into_iter().zip(numbers).collect())
    }

    #[test]
    fn a_tag_is_known_by_its_name_and_stands_at_its_place() {
        for (place, tag) in Tag::ALL.into_iter().enumerate() {
            assert_eq!((Tag::parse(tag.as_str()), tag as usize), (Some(tag), place));
        }
    }

    #[test]
    fn what_a_reader_does_not_know_is_passed_over() {
        let read = TagVersions::parse("moons=9; events=7;vaults=x;security;markets=-3;vaults=12;;events=6");
        assert_eq!(read.to_text(), "vaults=12;events=7");
        assert!(TagVersions::parse("").is_empty());
    }

    #[test]
    fn only_the_named_tags_are_compared() {
        let known = TagVersions::parse("vaults=2;events=9");
        let copy = TagVersions::parse("vaults=2");
        assert!(copy.covers(&known.only(&[Tag::Vaults])));
        assert!(!copy.covers(&known.only(&[Tag::Vaults, Tag::Events])));
    }

    proptest! {
        #[test]
        fn text_and_message_read_back_as_written(versions in versions()) {
            prop_assert_eq!(TagVersions::parse(&versions.to_text()), versions);
            let message = serde_json::to_string(&versions).unwrap();
            prop_assert_eq!(serde_json::from_str::<TagVersions>(&message).unwrap(), versions);
        }

        #[test]
        fn versions_never_go_back_in_whatever_order_they_are_heard(heard in prop::collection::vec(versions(), 0..6)) {
            let (mut forth, mut back) = (TagVersions::default(), TagVersions::default());
            for one in &heard {
                let before = forth;
                prop_assert_eq!(forth.raise_to(one), !before.covers(one));
                prop_assert!(forth.covers(&before) && forth.covers(one));
            }
            for one in heard.iter().rev().collect::<Vec<_>>() {
                back.raise_to(one);
            }
            prop_assert_eq!(forth, back);
        }

        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,80}") {
            let read = TagVersions::parse(&text);
            prop_assert!(read.iter().all(|(_, version)| version > 0));
        }
    }
}
