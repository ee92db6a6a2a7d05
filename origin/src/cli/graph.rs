//! `graph build`: snapshots of the exposure graph.

use super::Output;
use crate::graph::build;
use rds_engine::clock::Clock;
use rds_store::Db;
use serde_json::json;

/// Builds a snapshot of the facts; a running service uses it within about a second.
pub(super) async fn build(db: &Db, clock: &Clock, out: Output) -> anyhow::Result<()> {
    let Some(built) = build::build(db, clock.now()).await? else {
        return out.show("there is no vault, so no snapshot was built", &json!({ "snapshot_id": null }));
    };
    let state = match (built.kept.is_current, built.kept.is_new) {
        (false, _) => "not used, because a snapshot of newer facts exists",
        (true, true) => "it is the current snapshot now",
        (true, false) => "an identical snapshot was already current",
    };
    out.show(
        format!("{}: {} vaults; {state}", built.snapshot_id, built.vaults),
        &json!({
            "snapshot_id": built.snapshot_id, "vaults": built.vaults,
            "is_new": built.kept.is_new, "is_current": built.kept.is_current,
        }),
    )
}
