//! `GET /v1/me`: the identity, limits and usage of the calling key.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use rds_engine::clock::Clock;
use rds_shared::access::Principal;
use rds_shared::access::budget::subclient_limit;
use rds_shared::model::key::{KeyIdentity, KeyLimits, KeyUsage, Me};
use rds_shared::wire::time::Day;
use rds_shared::wire::{ApiError, Data};
use rds_store::Db;
use rds_store::keys::usage as table;
use rds_store::keys::usage::Described;

/// Describes the key of the caller, and no other.
///
/// Days and ages are those of the wall clock, by which the edge counts, even when a test has moved the domain time.
pub async fn me(db: &Db, clock: &Clock, call: &Call) -> Result<Answer, Failure> {
    let Principal::Key { id, .. } = call.principal else { return Err(ApiError::not_found("key").into()) };
    let found = table::describe(db, id).await?.ok_or_else(|| ApiError::not_found("key"))?;
    let now = clock.wall();
    let day = Day::of(now);
    let endpoints = table::of_day(db, id, day).await?;
    let Described { record, prefix, org, created_at, last_used_at, served, throttled, through } = found;
    // Usage before the key was created is known to be zero.
    let as_of = through.map_or(created_at, |through| through.max(created_at));
    let me = Me {
        key: KeyIdentity {
            id,
            prefix,
            partner_name: org,
            tier: record.plan,
            created_at,
            last_used_at,
            org_id: record.org_id,
        },
        limits: KeyLimits {
            requests_per_minute: record.rpm,
            shared_key: record.shared,
            subclient_requests_per_minute: record.shared.then(|| subclient_limit(record.rpm)),
        },
        usage: KeyUsage {
            day,
            as_of_lag_seconds: u64::try_from(now.seconds_since(as_of)).unwrap_or(0),
            total_count: served,
            throttled_count: throttled,
            endpoints,
        },
    };
    Answer::value(&Data { data: me })
}
