//! Versions of tags: raised with the facts, and what the edge has acknowledged of them.

use super::{At, Db, StoreError, Tx, fail_safe};
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;
use std::time::Duration;

/// The channel on which raised tags are announced. A hint: polling is the truth.
pub const CHANNEL: &str = "data_tags";

/// Says that facts of these tags change in this transaction; answers the versions that they get.
///
/// Call it last, behind the writers' turn where that is taken: from here to the commit nobody else can touch one of them.
/// That wait is what makes a version mean "everything up to here"; rows are locked in one order, so two callers with
/// overlapping tags do not block each other for ever. Calling it twice in a transaction is harmless. The fail-safe mode is no
/// fact: its version is [`super::fail_safe`]'s alone.
pub async fn touch(tx: &mut Tx<'_>, tags: &[Tag]) -> Result<TagVersions, StoreError> {
    let names: Vec<&str> = tags.iter().filter(|tag| **tag != Tag::FailSafe).map(|tag| tag.as_str()).collect();
    // The clock is Postgres' own: versions are compared with those of other databases, never with an instant.
    let sql = "
        -- touch_tags
        with held as (select tag from data_tag where tag = any($1) order by tag for update)
        update data_tag t set version = greatest(t.version + 1, (extract(epoch from clock_timestamp()) * 1000)::bigint)
        from held where t.tag = held.tag returning t.tag, t.version";
    let rows = sqlx::query(sql).bind(names).fetch_all(&mut **tx).await?;
    if !rows.is_empty() {
        sqlx::query("select pg_notify($1, '')").bind(CHANNEL).execute(&mut **tx).await?;
    }
    versions(&rows)
}

/// Says of every tag that its facts may have changed, and spells the fail-safe mode anew: whatever anybody has seen of another
/// past of this database is older than what this transaction leaves. `known` is what the edge is known to have seen: a clock that was
/// set back with the database would not get above it by itself. Call it last, as [`touch`].
pub async fn raise_all(tx: &mut Tx<'_>, known: &TagVersions) -> Result<(), StoreError> {
    let mode = fail_safe::hold(tx).await?.mode;
    let (names, versions): (Vec<&str>, Vec<i64>) = known.iter().map(|(tag, version)| (tag.as_str(), version)).unzip();
    let sql = "
        -- raise_tags_to
        with held as (select tag from data_tag where tag = any($1) order by tag for update)
        update data_tag t set version = greatest(t.version, k.version)
        from held, unnest($1::text[], $2::bigint[]) as k (tag, version) where t.tag = held.tag and k.tag = t.tag";
    sqlx::query(sql).bind(names).bind(versions).execute(&mut **tx).await?;
    touch(tx, &Tag::ALL).await?;
    fail_safe::spell(tx, mode).await
}

/// The newest data version and the newest versions of all tags, of one instant.
pub async fn newest(db: &Db) -> Result<(i64, TagVersions), StoreError> {
    let sql = "select d.version as data_version, t.tag, t.version from data_version d left join data_tag t on true";
    let rows = sqlx::query(sql).fetch_all(&db.pool).await?;
    let data_version = rows.first().map(|row| row.try_get("data_version")).transpose()?.unwrap_or_default();
    Ok((data_version, versions(&rows)?))
}

/// Reads rows of `tag` and `version`. A tag that only newer code knows is not for us.
fn versions(rows: &[PgRow]) -> Result<TagVersions, StoreError> {
    let mut versions = TagVersions::default();
    for row in rows {
        if let Some(tag) = row.try_get::<Option<&str>, _>("tag")?.and_then(Tag::parse) {
            versions.raise(tag, row.try_get("version")?);
        }
    }
    Ok(versions)
}

/// The message, ours to send until its lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimed {
    /// What to tell: every version that the edge has not acknowledged.
    pub versions: TagVersions,
    /// When it was claimed, by the database's clock: everything committed before is in it.
    pub at: Timestamp,
    /// Counts who tried: fences out a sender whose lease has ended.
    pub attempt: i64,
    /// How often it failed in a row before.
    pub failures: i32,
}

/// Takes the message for as long as `lease`, if there is something to tell and nobody else is telling it. Leases and pauses are
/// by the database's clock: one machine whose clock is off holds up nobody else.
pub async fn claim(db: &Db, lease: Duration) -> Result<Option<Claimed>, StoreError> {
    // Most of the time there is nothing, and then nothing is written.
    if standing(db).await?.waiting.is_empty() {
        return Ok(None);
    }
    let sql = "
        -- claim_tag_message
        update edge_tag_message
        set not_before = clock_timestamp() + make_interval(secs => $1), attempt = attempt + 1
        where not_before <= clock_timestamp() returning attempt, failures, clock_timestamp()";
    let ours = sqlx::query_as(sql).bind(lease.as_secs_f64()).fetch_optional(&db.pool).await?;
    let Some((attempt, failures, At(at))) = ours else { return Ok(None) };
    // Read after the claim: whatever was committed until now travels along.
    let versions = standing(db).await?.waiting;
    Ok(Some(Claimed { versions, at, attempt, failures }))
}

/// How far the edge is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Versions that the edge has acknowledged.
    pub acknowledged: TagVersions,
    /// Newer versions that it has not.
    pub waiting: TagVersions,
    /// When the latest message that it acknowledged was made.
    pub told_at: Option<Timestamp>,
    /// Why the latest message was not acknowledged, if it was not.
    pub last_error: Option<String>,
}

/// How far the edge is now.
pub async fn standing(db: &Db) -> Result<Standing, StoreError> {
    let sql = "
        -- tag_standing
        select m.told_at, m.last_error,
               (select string_agg(tag || '=' || version, ';') from edge_tag) as acknowledged,
               (select string_agg(t.tag || '=' || t.version, ';') from data_tag t left join edge_tag e on e.tag = t.tag
                where t.version > coalesce(e.version, 0)) as waiting
        from edge_tag_message m";
    let row = sqlx::query(sql).fetch_one(&db.pool).await?;
    let versions = |column: &str| -> Result<TagVersions, StoreError> {
        Ok(TagVersions::parse(row.try_get::<Option<&str>, _>(column)?.unwrap_or_default()))
    };
    Ok(Standing {
        acknowledged: versions("acknowledged")?,
        waiting: versions("waiting")?,
        told_at: row.try_get::<Option<At>, _>("told_at")?.map(Timestamp::from),
        last_error: row.try_get("last_error")?,
    })
}

/// The edge has acknowledged the message: the next one may go out.
pub async fn acknowledged(db: &Db, claimed: &Claimed) -> Result<(), StoreError> {
    let (tags, versions): (Vec<&str>, Vec<i64>) =
        claimed.versions.iter().map(|(tag, version)| (tag.as_str(), version)).unzip();
    let sql = "
        -- tags_acknowledged
        with told as (
            insert into edge_tag (tag, version)
            select tag, version from unnest($1::text[], $2::bigint[]) as told (tag, version) order by tag
            on conflict (tag) do update set version = greatest(edge_tag.version, excluded.version)
        )
        update edge_tag_message set told_at = greatest(told_at, $4), failures = 0, last_error = null,
               not_before = case when attempt = $3 then to_timestamp(0) else not_before end";
    let query = sqlx::query(sql).bind(tags).bind(versions).bind(claimed.attempt).bind(At(claimed.at));
    query.execute(&db.pool).await?;
    Ok(())
}

/// Gives the message back for as long as `pause`, unless somebody else has taken it up since.
pub async fn failed(db: &Db, attempt: i64, pause: Duration, why: &str) -> Result<(), StoreError> {
    let sql = "
        -- tags_not_acknowledged
        update edge_tag_message
        set not_before = clock_timestamp() + make_interval(secs => $2), failures = failures + 1, last_error = $3
        where attempt = $1";
    sqlx::query(sql).bind(attempt).bind(pause.as_secs_f64()).bind(why).execute(&db.pool).await?;
    Ok(())
}
