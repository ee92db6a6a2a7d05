//! What is said of a version after it was made: it is deprecated, then retired in favour of another. Both are told to subscribers.
//!
//! Source: interface, "States and transitions" (basket support_status).

use super::{show, tell};
use crate::clock::Clock;
use crate::publication::Family;
use crate::store::baskets::{self, StoredVersion, Support};
use crate::store::publication as versions;
use crate::store::{Db, StoreError, Tx, basket_versions as table};
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;

/// What is to be said of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// It will be retired.
    Deprecate {
        /// What will follow it, if that is known.
        successor: Option<String>,
    },
    /// Its address answers 410 from now on. One that was never deprecated is deprecated in the same step.
    Retire {
        /// What follows it.
        successor: String,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is said, and told.
    Done,
    /// It was said before: nothing changed.
    Already,
    /// There is no such version.
    Unknown,
    /// It cannot be said, for this reason.
    Refused(&'static str),
}

/// Says it of a version, in a transaction of its own.
pub async fn run(db: &Db, clock: &Clock, version_id: &str, verb: &Verb) -> Result<Outcome, StoreError> {
    let (now, version_id, verb) = (clock.now(), version_id.to_owned(), verb.clone());
    db.run_tx("basket support", move |tx| {
        let (version_id, verb) = (version_id.clone(), verb.clone());
        Box::pin(async move {
            versions::take_turn(tx).await?;
            let Some(version) = baskets::version(&mut **tx, &version_id).await? else { return Ok(Outcome::Unknown) };
            // A rebalance of the same basket waits, and so does another verb.
            table::hold(tx, &version.row.basket_id).await?;
            let Some(version) = baskets::version(&mut **tx, &version_id).await? else { return Ok(Outcome::Unknown) };
            match verb {
                Verb::Deprecate { successor } => deprecate(tx, version, successor.as_deref(), now).await,
                Verb::Retire { successor } => retire(tx, version, &successor, now).await,
            }
        })
    })
    .await
}

async fn deprecate(
    tx: &mut Tx<'_>,
    version: StoredVersion,
    successor: Option<&str>,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    if let Some(reason) = unfit(tx, &version, successor).await? {
        return Ok(Outcome::Refused(reason));
    }
    if version.support.deprecated_at.is_some() {
        let is_same = successor.is_none() || version.successor.as_deref() == successor;
        let settled = "it is deprecated already; what follows it is said again when it is retired";
        return Ok(if is_same { Outcome::Already } else { Outcome::Refused(settled) });
    }
    let support = Support { deprecated_at: Some(now), retired_at: None };
    table::note_support(tx, &version.row.version_id, now, None, successor).await?;
    tell(tx, Family::BasketVersionDeprecated, version.row, support, successor.map(str::to_owned), None, now).await?;
    show(tx, &[Tag::Baskets], now).await?;
    Ok(Outcome::Done)
}

async fn retire(
    tx: &mut Tx<'_>,
    version: StoredVersion,
    successor: &str,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    if version.support.retired_at.is_some() {
        let is_same = version.successor.as_deref() == Some(successor);
        return Ok(if is_same { Outcome::Already } else { Outcome::Refused("it is retired with another successor") });
    }
    let in_force = baskets::in_force(&mut **tx, &version.row.basket_id, None).await?;
    if in_force.is_some_and(|it| it.row.version_id == version.row.version_id) {
        return Ok(Outcome::Refused("it is in force; a basket's present version cannot be retired"));
    }
    if let Some(reason) = unfit(tx, &version, Some(successor)).await? {
        return Ok(Outcome::Refused(reason));
    }
    let deprecated_at = version.support.deprecated_at.unwrap_or(now);
    if version.support.deprecated_at.is_none() {
        let support = Support { deprecated_at: Some(now), retired_at: None };
        let (row, successor) = (version.row.clone(), Some(successor.to_owned()));
        tell(tx, Family::BasketVersionDeprecated, row, support, successor, None, now).await?;
    }
    let support = Support { deprecated_at: Some(deprecated_at), retired_at: Some(now) };
    table::note_support(tx, &version.row.version_id, deprecated_at, Some(now), Some(successor)).await?;
    tell(tx, Family::BasketVersionRetired, version.row, support, Some(successor.to_owned()), None, now).await?;
    show(tx, &[Tag::Baskets], now).await?;
    Ok(Outcome::Done)
}

/// Why a version cannot be followed by another.
async fn unfit(
    tx: &mut Tx<'_>,
    version: &StoredVersion,
    successor: Option<&str>,
) -> Result<Option<&'static str>, StoreError> {
    let Some(successor) = successor else { return Ok(None) };
    let Some(successor) = baskets::version(&mut **tx, successor).await? else {
        return Ok(Some("there is no such successor"));
    };
    Ok(match &successor {
        it if it.row.version_id == version.row.version_id => Some("no version follows itself"),
        it if it.row.basket_id != version.row.basket_id => Some("its successor must be a version of the same basket"),
        it if it.support.retired_at.is_some() => Some("its successor is retired itself"),
        _ => None,
    })
}
