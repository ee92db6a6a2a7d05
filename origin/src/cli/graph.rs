//! `graph`: the exposure graph's snapshots.

use super::Output;
use crate::clock::Clock;
use crate::graph::build;
use crate::store::Db;
use serde_json::json;

/// Builds a snapshot of the facts; a running service answers from it within a second or so.
pub(super) async fn build(db: &Db, clock: &Clock, out: Output) -> anyhow::Result<()> {
    let Some(built) = build::build(db, clock.now()).await? else {
        return out.show("there is no vault to build from", &json!({ "snapshot_id": null }));
    };
    let standing = match (built.kept.is_current, built.kept.is_new) {
        (false, _) => "somebody has built from newer facts",
        (true, true) => "answers are made from it now",
        (true, false) => "the facts are those of a snapshot that was there",
    };
    out.show(
        format!("{}: {} vaults; {standing}", built.snapshot_id, built.vaults),
        &json!({
            "snapshot_id": built.snapshot_id, "vaults": built.vaults,
            "is_new": built.kept.is_new, "is_current": built.kept.is_current,
        }),
    )
}
