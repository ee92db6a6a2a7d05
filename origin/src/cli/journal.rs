//! `journal step`: moves the journal's sequence numbers past a restore.

use super::Output;
use crate::journal::draw;
use clap::Subcommand;
use rds_engine::clock::Clock;
use rds_store::Db;
use rds_store::push::journal as table;
use rds_store::push::journal::Cause;
use serde_json::json;

#[derive(Debug, Subcommand)]
pub(super) enum Journal {
    /// Step over every sequence number that may have been assigned before the database's disk was set back to an earlier copy.
    Step {
        /// Reason, stored with the step.
        #[arg(long)]
        reason: String,
    },
}

/// Steps over every sequence number that may have been assigned before the database was set back.
///
/// The service itself detects a restore into another cluster or database, to a point in time, or by promotion of a standby. The database
/// cannot show that its disk was set back to an earlier copy; a restarted service notices only if the edge holds a newer tag version.
/// Without an edge that receives changes of facts, the operator must run this command before the service starts again.
pub(super) async fn step(db: &Db, clock: &Clock, reason: &str, out: Output) -> anyhow::Result<()> {
    let mut connection = db.pool.acquire().await?;
    let stepped = table::step(&mut connection, Cause::Operator(reason), clock.now(), draw(clock)).await?;
    let Some(stepped) = stepped else { anyhow::bail!("the journal made no step") };
    let text = format!(
        "the next operation has number {}; cursors above {} are invalid from now on, and clients that send one are told so",
        stepped.to + 1 + i64::try_from(stepped.numbered)?,
        stepped.from,
    );
    out.show(
        text,
        &json!({ "from": stepped.from.to_string(), "to": stepped.to.to_string(), "numbered": stepped.numbered }),
    )
}
