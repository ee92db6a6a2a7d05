//! How far the chains are read that the service reads by itself, as every process sees it in the database.

use crate::app::App;
use crate::chain::halt::NEVER_READ;
use rds_rpc::reads::MAX_EVERY_SECONDS;
use rds_shared::rules::chain_status::{self, ChainProgress};
use rds_shared::rules::component_status::ComponentFinding;
use rds_shared::wire::Timestamp;
use rds_store::StoreError;
use rds_store::chains::{self, ChainStanding};

/// The chains that are to be read or were read, and that callers know.
pub(super) async fn standings(app: &App) -> Result<Vec<ChainStanding>, StoreError> {
    let configured = app.chains.iter().filter(|chain| chain.reads.is_some());
    let configured: Vec<i64> = configured.filter_map(|chain| i64::try_from(chain.chain_id).ok()).collect();
    chains::standings(&app.db, &configured).await
}

/// The component's status. A chain that this process is not configured to read may be read by another one, at least once a day.
pub(super) fn finding(app: &App, standings: &[ChainStanding], now: Timestamp) -> ComponentFinding {
    let every_seconds = |id: i64| {
        let chain = app.chains.iter().find(|chain| i64::try_from(chain.chain_id) == Ok(id));
        chain.and_then(|chain| chain.reads.as_ref()).map_or(MAX_EVERY_SECONDS, |reads| reads.every_seconds)
    };
    let progress = standings.iter().map(|row| ChainProgress {
        slug: &row.slug,
        halted: row.halted.as_deref(),
        // A chain of which everything was taken back stands at a time before all chains.
        read_to: row.read_to.map(|at| at.0).filter(|at| at.seconds_since(NEVER_READ) > 0),
        every_seconds: every_seconds(row.chain_id),
        dissent: row.dissenters.iter().map(String::as_str).zip(row.dissented_at.iter().map(|at| at.0)).collect(),
    });
    chain_status::chains(&progress.collect::<Vec<_>>(), now)
}
