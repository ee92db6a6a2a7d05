//! `journal`: what an operator does about the numbers of the event stream.

use super::Output;
use crate::clock::Clock;
use crate::journal::draw;
use crate::store::Db;
use crate::store::journal::{self as table, Cause};
use serde_json::json;

/// Steps over every number that may have been given before the database was set back.
///
/// A restore into another cluster or database, to a point in time, or by promotion is noticed by the service itself. A disk that was set
/// back to an earlier copy shows in nothing the database says, only in what the edge knows: whoever does that, and has no edge that is
/// told of facts, runs this before the service starts again.
pub(super) async fn step(db: &Db, clock: &Clock, reason: &str, out: Output) -> anyhow::Result<()> {
    let mut connection = db.pool.acquire().await?;
    let stepped = table::step(&mut connection, Cause::Told(reason), clock.now(), draw(clock)).await?;
    let Some(stepped) = stepped else { anyhow::bail!("no step was made") };
    let text = format!(
        "the next operation is number {}; cursors above {} are unknown from now on, and their holders are told so",
        stepped.to + 1 + i64::try_from(stepped.numbered)?,
        stepped.from,
    );
    out.show(
        text,
        &json!({ "from": stepped.from.to_string(), "to": stepped.to.to_string(), "numbered": stepped.numbered }),
    )
}
