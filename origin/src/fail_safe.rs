//! The platform's fail-safe mode: what operators say, what the guard of score runs finds, and what is in force.
//!
//! The worse of the two is in force. The guard can only degrade: it ends what it began with the first good run over everything, and
//! never what an operator said. An operator's `normal` ends both: what was held back has been looked at, and the next run
//! over everything is due at once and may move as many tiers as it does. While an operator says `degraded` or `fail_closed`, no run
//! is made: facts come in, and scores, their history and the events that tell of them wait for the run that follows.
//!
//! `fail_closed` says that the published scores are not to be relied on, so it is never ended onto them: `normal` makes a run over
//! everything first, and mode and scores are one commit. Where the guard finds that run wrong, it stays closed.
//! What stands in no list of the present is not withheld: events that were told before, and versions of baskets by their id.

use crate::clock::Clock;
use crate::scoring_run;
use crate::store::fail_safe::{self as table, Change, Stored};
use crate::store::{Db, StoreError, Tx, publication};
use rds_shared::model::health::{FailSafe, FailSafeMode};
use rds_shared::route::Tag;
use rds_shared::scoring::run::Withheld;
use rds_shared::wire::Timestamp;
use sqlx::Acquire;

/// Where a change shows.
pub const SHOWN_IN: [Tag; 1] = [Tag::FailSafe];
/// Where `normal` shows: it may have published a run.
pub const OPENED_IN: [Tag; 4] = [Tag::FailSafe, Tag::Vaults, Tag::Assets, Tag::Events];
/// Under whose name the guard's changes are noted.
pub const GUARD: &str = "guard";

/// What became of an operator's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It holds; this is how things stand now.
    Holds(Stored),
    /// Scores stay withheld, and nothing was changed: a run over what is known now cannot be right.
    StaysClosed(Withheld),
}

impl Stored {
    /// The mode that is in force.
    pub fn in_force(&self) -> FailSafeMode {
        let guard = if self.held.is_some() { FailSafeMode::Degraded } else { FailSafeMode::Normal };
        self.mode.max(guard)
    }

    /// Why it is in force; none while it is normal. What an operator said comes before what the guard found.
    pub fn why(&self) -> Option<&str> {
        match self.mode {
            FailSafeMode::Normal => self.held.map(Withheld::in_words),
            FailSafeMode::Degraded | FailSafeMode::FailClosed => self.reason.as_deref(),
        }
    }

    /// As the health record tells it.
    pub fn told(&self) -> FailSafe {
        FailSafe { mode: self.in_force(), reason: self.why().map(str::to_owned), since: self.since }
    }
}

/// Makes `mode` what an operator says. Saying the same again is noted, too.
pub async fn say(db: &Db, clock: &Clock, mode: FailSafeMode, reason: &str, said_by: &str) -> Result<Said, StoreError> {
    let at = clock.now();
    db.run_tx("fail-safe", move |tx| {
        let (reason, said_by) = (reason.to_owned(), said_by.to_owned());
        Box::pin(async move {
            let is_opened = |before: &Stored| mode == FailSafeMode::Normal && before.mode == FailSafeMode::FailClosed;
            if mode == FailSafeMode::Normal {
                // It may publish a run, so it waits for whoever writes: closing never does.
                publication::take_turn(tx).await?;
            }
            let mut tx = tx.begin().await?;
            let before = table::hold(&mut tx).await?;
            let mut after = Stored { mode, reason: Some(reason.clone()), ..before.clone() };
            if mode == FailSafeMode::Normal {
                // While runs were held back or stood still, more than a fifth may have come together.
                after.accepted = before.accepted || before.held.is_some() || before.mode != FailSafeMode::Normal;
                after.held = None;
            }
            let change = Change { at, mode: after.in_force(), said_by, reason };
            let after = settle(&mut tx, &before, after, Some(change)).await?;
            if !is_opened(&before) {
                tx.commit().await?;
                return Ok(Said::Holds(after));
            }
            scoring_run::whole(&mut tx, at).await?;
            let after = table::read(&mut *tx).await?;
            match after.held {
                Some(found) => {
                    tx.rollback().await?;
                    Ok(Said::StaysClosed(found))
                }
                None => {
                    tx.commit().await?;
                    Ok(Said::Holds(after))
                }
            }
        })
    })
    .await
}

/// A run was held back: until a good one, the last good run is what is served.
pub async fn hold(tx: &mut Tx<'_>, now: Timestamp, reason: Withheld) -> Result<(), StoreError> {
    let before = table::hold(tx).await?;
    let after = Stored { held: Some(reason), tried_at: Some(now), ..before.clone() };
    let change = (before.held != after.held).then(|| noted(now, &after, reason.in_words()));
    settle(tx, &before, after, change).await.map(drop)
}

/// A run over everything was published: nothing is held back any more.
pub async fn release(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let before = table::hold(tx).await?;
    let after = Stored { held: None, tried_at: None, accepted: false, ..before.clone() };
    let change = before.held.map(|_| noted(now, &after, "a score run was published again"));
    settle(tx, &before, after, change).await.map(drop)
}

fn noted(at: Timestamp, after: &Stored, reason: &str) -> Change {
    Change { at, mode: after.in_force(), said_by: GUARD.to_owned(), reason: reason.to_owned() }
}

async fn settle(
    tx: &mut Tx<'_>,
    before: &Stored,
    mut after: Stored,
    change: Option<Change>,
) -> Result<Stored, StoreError> {
    if let Some(change) = &change {
        if before.in_force() != after.in_force() {
            after.since = Some(change.at);
        }
        table::note(tx, change).await?;
    }
    if *before != after {
        table::write(tx, &after).await?;
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_of_operator_and_guard_is_in_force_and_says_why() {
        let row = |mode, held| Stored { mode, reason: Some("said".into()), held, ..Stored::default() };
        let held = Some(Withheld::MassMove);
        for (stored, mode, why) in [
            (row(FailSafeMode::Normal, None), FailSafeMode::Normal, None),
            (row(FailSafeMode::Normal, held), FailSafeMode::Degraded, Some(Withheld::MassMove.in_words())),
            (row(FailSafeMode::Degraded, held), FailSafeMode::Degraded, Some("said")),
            (row(FailSafeMode::FailClosed, held), FailSafeMode::FailClosed, Some("said")),
            (row(FailSafeMode::FailClosed, None), FailSafeMode::FailClosed, Some("said")),
        ] {
            assert_eq!((stored.in_force(), stored.why()), (mode, why));
        }
    }
}
