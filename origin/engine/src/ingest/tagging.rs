//! Which tags a batch raises, so that the edge revalidates cached responses.

use super::IngestReport;
use rds_shared::route::Tag;

/// Changes by a batch that its report does not contain.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    /// Whether rows of vaults changed without a published score.
    pub(super) vaults: bool,
    /// Whether rows of assets changed besides those in the batch: their scores, or the day's total.
    pub(super) assets: bool,
    /// Whether the chains, protocols or curators of events in the feed changed.
    pub(super) feed: bool,
}

/// The tags of the facts that a batch changed, and of everything derived from them.
pub(super) fn raised(report: &IngestReport, moved: Moved) -> Vec<Tag> {
    // A vault that was scored may show another score, or the same score with other provenance.
    let vaults = (report.vaults_scored > 0 || moved.vaults).then_some(Tag::Vaults);
    // The service derives events from readings and scores.
    let events = (report.events_published > 0 || moved.feed).then_some(Tag::Events);
    let assets = moved.assets.then_some(Tag::Assets);
    let kinds = report.changed.keys().flat_map(|kind| tags_of(kind)).copied();
    let mut tags: Vec<Tag> = kinds.chain(vaults).chain(events).chain(assets).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// The tags of the routes that show observations of a kind.
fn tags_of(kind: &str) -> &'static [Tag] {
    match kind {
        // The events feed shows curators by name.
        "curator" => &[Tag::Vaults, Tag::Events],
        "vault" | "vault_state" | "reward" | "exposure" | "holder_snapshot" | "strategy" | "position"
        | "chain_reading" | "chain_sync" => &[Tag::Vaults],
        "market" | "market_state" | "market_reserve" | "market_emode" | "hub_asset" | "mapping" => &[Tag::Markets],
        "oracle_feed" => &[Tag::Feeds],
        "asset" | "asset_review" | "asset_answer" | "reviewer" | "attestation" | "answer_attestation"
        | "rwa_source" | "rwa_observation" | "rwa_candidate" => &[Tag::Assets],
        "protocol_answer" => &[Tag::Vaults],
        "incident_link" | "event" => &[Tag::Events],
        "security_event" | "loss_case" => &[Tag::Security],
        "signal" => &[Tag::Signals],
        // Assets show whether they are in basket A.
        "basket" => &[Tag::Baskets, Tag::Assets],
        "basket_methodology" => &[Tag::Baskets],
        "research_record" | "research_prediction" => &[Tag::Research],
        // Every route may show chains and protocols. A kind that this match does not list may be shown by any route, too.
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
    fn changes_beside_the_observations_raise_their_tags() {
        let changed = [("market_reserve", 1)].into_iter().collect();
        let report = IngestReport { changed, ..IngestReport::default() };
        let after = |vaults, assets, feed| raised(&report, Moved { vaults, assets, feed });
        assert_eq!(after(false, false, false), [Tag::Markets]);
        assert_eq!(after(true, false, false), [Tag::Vaults, Tag::Markets]);
        assert_eq!(after(false, true, true), [Tag::Markets, Tag::Assets, Tag::Events]);
    }

    #[test]
    fn each_tag_is_raised_once_and_only_if_its_facts_changed() {
        assert_eq!(after(&["vault", "vault_state", "reward"], 3), [Tag::Vaults]);
        assert_eq!(after(&["oracle_feed"], 0), [Tag::Feeds]);
        assert_eq!(after(&["research_prediction", "research_record"], 0), [Tag::Research]);
        assert_eq!(after(&["curator"], 0), [Tag::Vaults, Tag::Events]);
        assert_eq!(after(&["incident_link", "market"], 2), [Tag::Vaults, Tag::Markets, Tag::Events]);
    }

    #[test]
    fn chains_protocols_and_unknown_kinds_raise_every_tag() {
        for kind in ["chain", "protocol", "something_new"] {
            assert_eq!(after(&[kind], 0), Tag::ALL);
        }
    }
}
