//! Which copies at the edge a batch makes too old.

use super::IngestReport;
use rds_shared::route::Tag;

/// The tags of the facts that a batch changed, its scores included.
pub fn touched_tags(report: &IngestReport) -> Vec<Tag> {
    // A vault that was evaluated again may show another score, or the old one with other evidence.
    let scored: &[Tag] = if report.vaults_scored > 0 { &[Tag::Vaults] } else { &[] };
    // The service makes events of its own out of what it reads and scores.
    let told: &[Tag] = if report.events_published > 0 { &[Tag::Events] } else { &[] };
    let kinds = report.changed.keys().flat_map(|kind| tags_of(kind));
    let mut tags: Vec<Tag> = kinds.chain(scored).chain(told).copied().collect();
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
        // Chains and protocols show everywhere, and so may a kind that nobody has thought about here.
        _ => &Tag::ALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(kinds: &[&'static str], vaults_scored: u64) -> Vec<Tag> {
        let changed = kinds.iter().map(|kind| (*kind, 1)).collect();
        touched_tags(&IngestReport { changed, vaults_scored, ..IngestReport::default() })
    }

    #[test]
    fn each_tag_is_touched_once_and_only_where_its_facts_changed() {
        assert_eq!(after(&["vault", "vault_state", "reward"], 3), [Tag::Vaults]);
        assert_eq!(after(&["oracle_feed"], 0), [Tag::Feeds]);
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
