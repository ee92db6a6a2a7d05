//! The fail-safe row, its history, and the tag version that carries the mode to all processes.

use crate::db_enum::DbEnum;
use crate::decode::Nullable;
use crate::service::tags::CHANNEL;
use crate::{At, StoreError, Tx};
use rds_shared::model::health::{FailSafe, FailSafeMode};
use rds_shared::route::{Tag, fail_safe};
use rds_shared::scoring::sanity_checks::Withheld;
use rds_shared::wire::Timestamp;
use sqlx::{FromRow, PgExecutor};

/// The stored state.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Stored {
    /// The mode that an operator set last.
    #[sqlx(try_from = "DbEnum<FailSafeMode>")]
    pub mode: FailSafeMode,
    /// The operator's reason for `mode`.
    pub reason: Option<String>,
    /// Start of the effective mode.
    #[sqlx(try_from = "Nullable<At>")]
    pub since: Option<Timestamp>,
    /// Why score runs are held back; null if they are not.
    #[sqlx(try_from = "Nullable<DbEnum<Withheld>>")]
    pub held: Option<Withheld>,
    /// When a score run was last held back.
    #[sqlx(try_from = "Nullable<At>")]
    pub tried_at: Option<Timestamp>,
    /// Whether an operator accepts the tier changes of the next full run, however many.
    pub accepted: bool,
}

impl Default for Stored {
    fn default() -> Self {
        Stored { mode: FailSafeMode::Normal, reason: None, since: None, held: None, tried_at: None, accepted: false }
    }
}

impl Stored {
    /// The mode in force: the worse of the operator's and the sanity checks'.
    pub fn in_force(&self) -> FailSafeMode {
        let guard = if self.held.is_some() { FailSafeMode::Degraded } else { FailSafeMode::Normal };
        self.mode.max(guard)
    }

    /// Why the mode is in force; `None` while it is normal. The operator's reason takes precedence over the sanity check's.
    pub fn reason_in_force(&self) -> Option<&str> {
        match self.mode {
            FailSafeMode::Normal => self.held.map(Withheld::message),
            FailSafeMode::Degraded | FailSafeMode::FailClosed => self.reason.as_deref(),
        }
    }

    /// The mode as shown in the health record.
    pub fn to_health_record(&self) -> FailSafe {
        FailSafe { mode: self.in_force(), reason: self.reason_in_force().map(str::to_owned), since: self.since }
    }
}

/// An entry of the history.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Change {
    #[sqlx(rename = "changed_at", try_from = "At")]
    pub at: Timestamp,
    /// The mode after the change.
    #[sqlx(try_from = "DbEnum<FailSafeMode>")]
    pub mode: FailSafeMode,
    /// Name of the operator, or `guard` if the sanity checks changed the mode.
    pub said_by: String,
    pub reason: String,
}

/// The stored state.
pub async fn read(db: impl PgExecutor<'_>) -> Result<Stored, StoreError> {
    let sql = "/* fail_safe */ SELECT mode, reason, since, held, tried_at, accepted FROM fail_safe";
    Ok(sqlx::query_as(sql).fetch_one(db).await?)
}

/// The stored state, locked against changes until this transaction ends.
pub async fn lock(tx: &mut Tx<'_>) -> Result<Stored, StoreError> {
    let sql = "/* lock_fail_safe */ SELECT mode, reason, since, held, tried_at, accepted FROM fail_safe FOR UPDATE";
    Ok(sqlx::query_as(sql).fetch_one(&mut **tx).await?)
}

pub async fn write(tx: &mut Tx<'_>, row: &Stored) -> Result<(), StoreError> {
    let sql = "
        -- write_fail_safe
        UPDATE fail_safe SET mode = $1, reason = $2, since = $3, held = $4, tried_at = $5, accepted = $6";
    sqlx::query(sql)
        .bind(row.mode.as_str())
        .bind(&row.reason)
        .bind(row.since.map(At))
        .bind(row.held.map(Withheld::as_str))
        .bind(row.tried_at.map(At))
        .bind(row.accepted)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Appends a change to the history and raises [`Tag::FailSafe`] to a version that encodes its mode. Takes effect at commit.
pub async fn note(tx: &mut Tx<'_>, change: &Change) -> Result<(), StoreError> {
    let sql =
        "/* note_fail_safe */ INSERT INTO fail_safe_change (changed_at, mode, said_by, reason) VALUES ($1, $2, $3, $4)";
    sqlx::query(sql)
        .bind(At(change.at)) // $1 changed_at
        .bind(change.mode.as_str())
        .bind(&change.said_by)
        .bind(&change.reason)
        .execute(&mut **tx)
        .await?;
    spell(tx, change.mode).await
}

/// Raises [`Tag::FailSafe`] to a version that encodes `mode`. Takes effect at commit.
pub async fn spell(tx: &mut Tx<'_>, mode: FailSafeMode) -> Result<(), StoreError> {
    // Uses Postgres' clock, like all tag versions.
    let sql = "
        -- next_fail_safe_version
        SELECT greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
        FROM data_tag WHERE tag = $1 FOR UPDATE";
    let next: i64 = sqlx::query_scalar(sql).bind(Tag::FailSafe.as_str()).fetch_one(&mut **tx).await?;
    let sql = "/* raise_fail_safe */ UPDATE data_tag SET version = $2 WHERE tag = $1";
    sqlx::query(sql).bind(Tag::FailSafe.as_str()).bind(fail_safe::version(mode, next)).execute(&mut **tx).await?;
    sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut **tx).await?;
    Ok(())
}

/// The latest changes, newest first.
pub async fn changes(db: impl PgExecutor<'_>, most: i64) -> Result<Vec<Change>, StoreError> {
    let sql = "
        -- fail_safe_changes
        SELECT changed_at, mode, said_by, reason FROM fail_safe_change ORDER BY id DESC LIMIT $1";
    Ok(sqlx::query_as(sql).bind(most).fetch_all(db).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_of_operator_and_sanity_check_is_in_force_with_its_reason() {
        let row = |mode, held| Stored { mode, reason: Some("said".into()), held, ..Stored::default() };
        let held = Some(Withheld::MassMove);
        for (stored, mode, why) in [
            (row(FailSafeMode::Normal, None), FailSafeMode::Normal, None),
            (row(FailSafeMode::Normal, held), FailSafeMode::Degraded, Some(Withheld::MassMove.message())),
            (row(FailSafeMode::Degraded, held), FailSafeMode::Degraded, Some("said")),
            (row(FailSafeMode::FailClosed, held), FailSafeMode::FailClosed, Some("said")),
            (row(FailSafeMode::FailClosed, None), FailSafeMode::FailClosed, Some("said")),
        ] {
            assert_eq!((stored.in_force(), stored.reason_in_force()), (mode, why));
        }
    }
}
