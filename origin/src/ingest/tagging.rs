//! Which copies at the edge a batch makes too old.

use super::IngestReport;
use rds_shared::route::Tag;

/// What a batch moved that its report does not tell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    /// Rows of vaults that show anew, though no score of theirs was published.
    pub(super) vaults: bool,
    /// Rows of assets beside those that it brought: their scores, or the day's total.
    pub(super) assets: bool,
    /// Places of events in the feed.
    pub(super) feed: bool,
}

/// The tags of the facts that a batch changed, with everything that follows from them.
pub(super) fn raised(report: &IngestReport, moved: Moved) -> Vec<Tag> {
    // A vault that was evaluated again may show another score, or the old one with other evidence.
    let vaults = (report.vaults_scored > 0 || moved.vaults).then_some(Tag::Vaults);
    // The service makes events of its own out of what it reads and scores.
    let events = (report.events_published > 0 || moved.feed).then_some(Tag::Events);
    let assets = moved.assets.then_some(Tag::Assets);
    let kinds = report.changed.keys().flat_map(|kind| tags_of(kind)).copied();
    let mut tags: Vec<Tag> = kinds.chain(vaults).chain(events).chain(assets).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// Where observations of a kind show.
fn tags_of(kind: &str) -> &'static [Tag] {
    match kind {
        // The feed shows curators by name.
        "curator" => &[Tag::Vaults, Tag::Events],
        "vault" | "vault_state" | "reward" | "exposure" | "holder_snapshot" | "strategy" | "position" => &[Tag::Vaults],
        "market" | "market_state" | "market_reserve" | "market_emode" | "hub_asset" | "mapping" => &[Tag::Markets],
        "oracle_feed" => &[Tag::Feeds],
        "asset" | "asset_review" | "reviewer" | "attestation" | "rwa_source" | "rwa_observation" | "rwa_candidate" => {
            &[Tag::Assets]
        }
        "incident_link" | "event" => &[Tag::Events],
        "security_event" | "loss_case" => &[Tag::Security],
        "signal" => &[Tag::Signals],
        // An asset says whether it is in the basket that is basket a.
        "basket" => &[Tag::Baskets, Tag::Assets],
        "basket_methodology" => &[Tag::Baskets],
        "research_record" | "research_prediction" => &[Tag::Research],
        // Chains and protocols show everywhere, and so may a kind that nobody has thought about here.
        _ => &Tag::ALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(kinds: &[&'static str], vaults_scored: u64) -> Vec<Tag> {
        let changed = kinds.iter().map(|kind| (*kind, 1)).collect();
        raised(&IngestReport { changed, vaults_scored, ..IngestReport::default() }, Moved::default())
    }

    #[test]
    fn what_moved_beside_the_observations_is_told_too() {
        let changed = [("market_reserve", 1)].into_iter().collect();
        let report = IngestReport { changed, ..IngestReport::default() };
        let after = |vaults, assets, feed| raised(&report, Moved { vaults, assets, feed });
        assert_eq!(after(false, false, false), [Tag::Markets]);
        assert_eq!(after(true, false, false), [Tag::Vaults, Tag::Markets]);
        assert_eq!(after(false, true, true), [Tag::Markets, Tag::Assets, Tag::Events]);
    }

    #[test]
    fn each_tag_is_touched_once_and_only_where_its_facts_changed() {
        assert_eq!(after(&["vault", "vault_state", "reward"], 3), [Tag::Vaults]);
        assert_eq!(after(&["oracle_feed"], 0), [Tag::Feeds]);
        assert_eq!(after(&["research_prediction", "research_record"], 0), [Tag::Research]);
        assert_eq!(after(&["curator"], 0), [Tag::Vaults, Tag::Events]);
        assert_eq!(after(&["incident_link", "market"], 2), [Tag::Vaults, Tag::Markets, Tag::Events]);
    }

    #[test]
    fn what_shows_everywhere_and_what_is_unknown_makes_every_copy_too_old() {
        for kind in ["chain", "protocol", "something_new"] {
            assert_eq!(after(&[kind], 0), Tag::ALL);
        }
    }
}
