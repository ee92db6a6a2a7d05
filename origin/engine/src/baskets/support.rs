//! Support status of a basket version: it is deprecated, then retired in favour of another version. Both changes send a webhook event.

use super::{show, tell};
use crate::clock::Clock;
use rds_shared::push::event_type::EventType;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use rds_store::baskets::versions as table;
use rds_store::baskets::{self, StoredVersion, Support};
use rds_store::ingest::publication as versions;
use rds_store::{Db, StoreError, Tx};

/// A change of a version's support status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// Announce that the version will be retired.
    Deprecate {
        /// The version that will replace it, if known.
        successor: Option<String>,
    },
    /// Answer 410 at the version's URL from now on. A version that is not deprecated yet is deprecated in the same step.
    Retire {
        /// The version that replaces it.
        successor: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SupportChange {
    /// The status was changed, and subscribers are notified.
    Done,
    /// The version already had the status; nothing changed.
    Already,
    /// There is no such version.
    Unknown,
    /// The change is not allowed, for this reason.
    Refused(&'static str),
}

/// Changes a version's support status in its own transaction.
pub async fn run(db: &Db, clock: &Clock, version_id: &str, verb: &Verb) -> Result<SupportChange, StoreError> {
    let (now, version_id, verb) = (clock.now(), version_id.to_owned(), verb.clone());
    db.run_tx("basket support", move |tx| {
        let (version_id, verb) = (version_id.clone(), verb.clone());
        Box::pin(async move {
            versions::lock_writers(tx).await?;
            let Some(version) = baskets::version(&mut **tx, &version_id).await? else {
                return Ok(SupportChange::Unknown);
            };
            // Locks the basket: rebalances and other changes of its versions wait.
            table::lock(tx, &version.row.basket_id).await?;
            let Some(version) = baskets::version(&mut **tx, &version_id).await? else {
                return Ok(SupportChange::Unknown);
            };
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
) -> Result<SupportChange, StoreError> {
    if let Some(reason) = unfit(tx, &version, successor).await? {
        return Ok(SupportChange::Refused(reason));
    }
    if version.support.deprecated_at.is_some() {
        let is_same = successor.is_none() || version.successor.as_deref() == successor;
        let reason = "it is already deprecated; its successor is set when it is retired";
        return Ok(if is_same { SupportChange::Already } else { SupportChange::Refused(reason) });
    }
    let support = Support { deprecated_at: Some(now), retired_at: None };
    table::note_support(tx, &version.row.version_id, now, None, successor).await?;
    tell(tx, EventType::BasketVersionDeprecated, version.row, support, successor.map(str::to_owned), None, now).await?;
    show(tx, &[Tag::Baskets], now).await?;
    Ok(SupportChange::Done)
}

async fn retire(
    tx: &mut Tx<'_>,
    version: StoredVersion,
    successor: &str,
    now: Timestamp,
) -> Result<SupportChange, StoreError> {
    if version.support.retired_at.is_some() {
        let is_same = version.successor.as_deref() == Some(successor);
        return Ok(if is_same {
            SupportChange::Already
        } else {
            SupportChange::Refused("it is already retired with another successor")
        });
    }
    let in_force = baskets::in_force(&mut **tx, &version.row.basket_id, None).await?;
    if in_force.is_some_and(|it| it.row.version_id == version.row.version_id) {
        return Ok(SupportChange::Refused("it is in force; a basket's current version cannot be retired"));
    }
    if let Some(reason) = unfit(tx, &version, Some(successor)).await? {
        return Ok(SupportChange::Refused(reason));
    }
    let deprecated_at = version.support.deprecated_at.unwrap_or(now);
    if version.support.deprecated_at.is_none() {
        let support = Support { deprecated_at: Some(now), retired_at: None };
        let (row, successor) = (version.row.clone(), Some(successor.to_owned()));
        tell(tx, EventType::BasketVersionDeprecated, row, support, successor, None, now).await?;
    }
    let support = Support { deprecated_at: Some(deprecated_at), retired_at: Some(now) };
    table::note_support(tx, &version.row.version_id, deprecated_at, Some(now), Some(successor)).await?;
    tell(tx, EventType::BasketVersionRetired, version.row, support, Some(successor.to_owned()), None, now).await?;
    show(tx, &[Tag::Baskets], now).await?;
    Ok(SupportChange::Done)
}

/// Why a version cannot have this successor; `None` if it can.
async fn unfit(
    tx: &mut Tx<'_>,
    version: &StoredVersion,
    successor: Option<&str>,
) -> Result<Option<&'static str>, StoreError> {
    let Some(successor) = successor else { return Ok(None) };
    let Some(successor) = baskets::version(&mut **tx, successor).await? else {
        return Ok(Some("the successor does not exist"));
    };
    Ok(match &successor {
        it if it.row.version_id == version.row.version_id => Some("a version cannot be its own successor"),
        it if it.row.basket_id != version.row.basket_id => Some("the successor must be a version of the same basket"),
        it if it.support.retired_at.is_some() => Some("the successor is retired"),
        _ => None,
    })
}
