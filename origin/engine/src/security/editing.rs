//! Changes of a registry row's state by an editor.

use super::{publish, record};
use crate::clock::Clock;
use crate::publication;
use rds_shared::model::security::{PublishedBy, RegistryState};
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication::lock_writers;
use rds_store::{Db, StoreError, Tx, security};
use serde::Serialize;

/// The result of an editor's request to change a row's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Edited {
    /// The row has the requested state now.
    Moved {
        /// The state before.
        from: RegistryState,
    },
    /// The row had this state already: nothing changed, nothing was captured.
    Already,
    /// The requested state cannot be reached from the present one.
    Refused {
        /// The present state.
        state: RegistryState,
    },
    /// The row's chain is withheld, so the row cannot be published.
    Withheld,
    /// There is no such row.
    Unknown,
}

/// Sets the row's state in its own transaction. `reason` is stored with every state except `published`.
pub async fn run(
    db: &Db,
    clock: &Clock,
    id: i64,
    state: RegistryState,
    reason: Option<&str>,
) -> Result<Edited, StoreError> {
    let (now, reason) = (clock.now(), reason.map(str::to_owned));
    db.run_tx("security editing", move |tx| {
        let reason = reason.clone();
        Box::pin(async move {
            lock_writers(tx).await?;
            let edited = edit(tx, now, id, state, reason.as_deref()).await?;
            if matches!(edited, Edited::Moved { .. }) {
                record(tx, now, 1).await?;
            }
            Ok(edited)
        })
    })
    .await
}

async fn edit(
    tx: &mut Tx<'_>,
    now: Timestamp,
    id: i64,
    state: RegistryState,
    reason: Option<&str>,
) -> Result<Edited, StoreError> {
    let Some(standing) = security::status(tx, id).await? else { return Ok(Edited::Unknown) };
    let from = standing.state;
    match state {
        _ if from == state => return Ok(Edited::Already),
        _ if !from.may_become(state) => return Ok(Edited::Refused { state: from }),
        RegistryState::Published if !standing.is_served => return Ok(Edited::Withheld),
        RegistryState::Published => drop(publish(tx, now, id, PublishedBy::Admin).await?),
        _ => {
            security::set_withheld(tx, id, state, reason, now.into()).await?;
            // The event created from the row is retracted with it; an incident that was reported separately stays.
            if let Some(event) = standing.promoted_event_id.filter(|event| *event == super::promotion::event_of(id)) {
                publication::retract(tx, event, reason, now).await?;
            }
        }
    }
    Ok(Edited::Moved { from })
}
