//! What an editor does with one row.

use super::{publish, record};
use crate::clock::Clock;
use crate::publication;
use crate::store::publication::take_turn;
use crate::store::{Db, StoreError, Tx, security};
use rds_shared::model::security::{PublishedBy, RegistryState};
use rds_shared::wire::Timestamp;
use serde::Serialize;

/// What a request for a state came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Edited {
    /// The row stands there now.
    Moved {
        /// Where it stood.
        from: RegistryState,
    },
    /// It stood there before: nothing changed, nothing was captured.
    Already,
    /// No way leads there from where it stands.
    Refused {
        /// Where that is.
        state: RegistryState,
    },
    /// Its chain is withheld: it cannot be published.
    Withheld,
    /// There is no such row.
    Unknown,
}

/// Takes the row to `state`, in a transaction of its own. `reason` is kept with states other than published.
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
            take_turn(tx).await?;
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
    let Some(standing) = security::standing(tx, id).await? else { return Ok(Edited::Unknown) };
    let from = standing.state;
    match state {
        _ if from == state => return Ok(Edited::Already),
        _ if !from.may_become(state) => return Ok(Edited::Refused { state: from }),
        RegistryState::Published if !standing.is_served => return Ok(Edited::Withheld),
        RegistryState::Published => drop(publish(tx, now, id, PublishedBy::Admin).await?),
        _ => {
            security::set_withheld(tx, id, state, reason, now.into()).await?;
            // The event that was made of the row goes with it; one that was reported by itself stands for itself.
            if let Some(event) = standing.promoted_event_id.filter(|event| *event == super::promotion::event_of(id)) {
                publication::retract(tx, event, reason, now).await?;
            }
        }
    }
    Ok(Edited::Moved { from })
}
