//! Tags: the kinds of facts that a response depends on, with the version of each.
//!
//! A committed change of facts raises the versions of their tags. A response states the versions from which it was computed. Before the
//! edge serves a cached response, it revalidates the response if a newer version of one of its tags is known.

use alloc::string::String;
use core::fmt::Write;
use serde::{Deserialize, Serialize};

/// A group of facts that change together.
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
    /// The research records: validation reports, claims, sources, predictions, backtests and model health.
    Research,
    /// Exposure graph snapshots.
    Graph,
    /// The registry of keys that sign decisions.
    Signers,
    /// Baskets, their versions and their rules.
    Baskets,
    /// The platform's fail-safe mode, encoded in the version ([`super::fail_safe`]).
    FailSafe,
}

impl Tag {
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

    /// Parses a name that [`as_str`](Self::as_str) returns.
    pub fn parse(text: &str) -> Option<Self> {
        Tag::ALL.into_iter().find(|tag| tag.as_str() == text)
    }
}

/// A version for each tag; zero if none is known. Versions only grow.
///
/// The text form, in headers and messages, is `vaults=12;events=7`. The parser skips unknown tags and malformed pieces, so that an older release
/// accepts the tags of a newer one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct TagVersions([i64; Tag::ALL.len()]);

impl TagVersions {
    /// Parses the text form.
    pub fn parse(text: &str) -> Self {
        let mut versions = TagVersions::default();
        for (name, version) in text.split(';').filter_map(|piece| piece.trim().split_once('=')) {
            if let (Some(tag), Ok(version)) = (Tag::parse(name), version.parse()) {
                versions.raise(tag, version);
            }
        }
        versions
    }

    /// The version of `tag`; zero if none is known.
    pub fn of(&self, tag: Tag) -> i64 {
        self.0.get(tag as usize).copied().unwrap_or(0)
    }

    /// Raises the version of `tag` to `version`; an older version has no effect. Returns whether it changed.
    pub fn raise(&mut self, tag: Tag, version: i64) -> bool {
        match self.0.get_mut(tag as usize) {
            Some(known) if version > *known => {
                *known = version;
                true
            }
            _ => false,
        }
    }

    /// Replaces each version by the version in `others` if that is newer. Returns whether any version changed.
    pub fn raise_to(&mut self, others: &TagVersions) -> bool {
        others.iter().fold(false, |changed, (tag, version)| self.raise(tag, version) || changed)
    }

    /// A copy in which the version of `tag` is raised to `version`, if it was older.
    pub fn with(mut self, tag: Tag, version: i64) -> Self {
        self.raise(tag, version);
        self
    }

    /// The versions of `tags` only; the versions of all other tags are zero.
    pub fn only(&self, tags: &[Tag]) -> Self {
        let mut versions = TagVersions::default();
        for tag in tags {
            versions.raise(*tag, self.of(*tag));
        }
        versions
    }

    /// Whether every version is at least as new as the version of the same tag in `others`.
    pub fn covers(&self, others: &TagVersions) -> bool {
        self.0.iter().zip(&others.0).all(|(ours, theirs)| ours >= theirs)
    }

    /// Whether no version is known.
    pub fn is_empty(&self) -> bool {
        *self == TagVersions::default()
    }

    /// The tags with a known version.
    pub fn iter(&self) -> impl Iterator<Item = (Tag, i64)> {
        Tag::ALL.into_iter().map(|tag| (tag, self.of(tag))).filter(|(_, version)| *version > 0)
    }

    /// The text form; empty if no version is known.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (tag, version) in self.iter() {
            let separator = if text.is_empty() { "" } else { ";" };
            // Writing to a String cannot fail.
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
    fn every_tag_is_parsed_from_its_name_and_is_listed_in_order() {
        for (place, tag) in Tag::ALL.into_iter().enumerate() {
            assert_eq!((Tag::parse(tag.as_str()), tag as usize), (Some(tag), place));
        }
    }

    #[test]
    fn unknown_tags_and_malformed_pieces_are_skipped() {
        let read = TagVersions::parse("moons=9; events=7;vaults=x;security;markets=-3;vaults=12;;events=6");
        assert_eq!(read.to_text(), "vaults=12;events=7");
        assert!(TagVersions::parse("").is_empty());
    }

    #[test]
    fn only_the_named_tags_are_compared() {
        let known = TagVersions::parse("vaults=2;events=9");
        let cached = TagVersions::parse("vaults=2");
        assert!(cached.covers(&known.only(&[Tag::Vaults])));
        assert!(!cached.covers(&known.only(&[Tag::Vaults, Tag::Events])));
    }

    proptest! {
        #[test]
        fn text_and_json_are_parsed_back_as_written(versions in versions()) {
            prop_assert_eq!(TagVersions::parse(&versions.to_text()), versions);
            let message = serde_json::to_string(&versions).unwrap();
            prop_assert_eq!(serde_json::from_str::<TagVersions>(&message).unwrap(), versions);
        }

        #[test]
        fn versions_never_decrease_and_their_order_of_arrival_does_not_matter(received in prop::collection::vec(versions(), 0..6)) {
            let (mut forth, mut back) = (TagVersions::default(), TagVersions::default());
            for one in &received {
                let before = forth;
                prop_assert_eq!(forth.raise_to(one), !before.covers(one));
                prop_assert!(forth.covers(&before) && forth.covers(one));
            }
            for one in received.iter().rev().collect::<Vec<_>>() {
                back.raise_to(one);
            }
            prop_assert_eq!(forth, back);
        }

        #[test]
        fn every_text_is_parsed_to_positive_versions(text in "\\PC{0,80}") {
            let read = TagVersions::parse(&text);
            prop_assert!(read.iter().all(|(_, version)| version > 0));
        }
    }
}
