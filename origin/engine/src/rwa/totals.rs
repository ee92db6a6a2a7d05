//! The total of each day: computed when observations arrive, stored when it differs from the last revision.

use super::identity;
use rds_shared::rules::rwa_totals::{CARRY_DAYS, DAY, Observation, ProductFigures};
use rds_shared::scoring::decimal::from_float;
use rds_shared::select::assets::RWA_CATEGORIES;
use rds_shared::wire::Timestamp;
use rds_store::assets::attestations;
use rds_store::assets::rwa::{self, ObservationRow, SnapshotRow};
use rds_store::{At, StoreError, Tx};
use std::collections::{BTreeMap, BTreeSet};

/// Number of past days whose totals a late observation can still revise.
const REVISED_DAYS: i64 = 366;

/// Midnight at or before `at`.
pub fn day_of(at: Timestamp) -> Timestamp {
    Timestamp::from_seconds(at.as_seconds().div_euclid(DAY) * DAY)
}

/// Converts an observation to the input of the rules, with amounts in whole cents.
pub fn observation(row: &ObservationRow) -> Observation {
    let cents = |usd: Option<f64>| usd.and_then(|usd| from_float(usd, 2).ok());
    Observation {
        id: row.number,
        asset: row.asset,
        source_id: row.source_id.clone(),
        priority: row.priority,
        effective_at: row.effective_at.0,
        published_at: row.published_at.0,
        fund_aum: cents(row.fund_aum_usd),
        issued: cents(row.global_issued_value_usd),
        circulating: cents(row.deployment_circulating_value_usd),
    }
}

/// Computes the days that the `new` observations affect, and every day from the last stored total up to the day of `now`. Returns the
/// number of stored totals. `new` are the instants of the observations.
///
/// Days before the first observation have no total. From then on every day has a total, even a day without any observation; the total
/// states that. A total uses the product mappings of the time at which it is computed. A day before the newest stored total is revised only
/// because of an observation, not because of a later mapping or a withheld chain.
pub async fn revise(tx: &mut Tx<'_>, now: Timestamp, new: &[At]) -> Result<u64, StoreError> {
    let deployments = rwa::deployments(&mut **tx, RWA_CATEGORIES).await?;
    let newest = rwa::newest_day(&mut **tx).await?;
    // After the first total, a day without deployments gets a total, too, because the chains of all deployments may be withheld.
    if deployments.is_empty() && newest.is_none() {
        return Ok(0);
    }
    let today = day_of(now);
    let since = newest.map_or(today, |at| at.0);
    let told: BTreeSet<Timestamp> = new.iter().map(|at| day_of(at.0)).collect();
    let first = told.first().map_or(since, |day| since.min(*day)).clamp(today.plus_seconds(-REVISED_DAYS * DAY), today);
    // An observation counts for its day, and is carried forward to the following days of `CARRY_DAYS`.
    let is_spoken_for = |day: Timestamp| told.range(day.plus_seconds(-(CARRY_DAYS - 1) * DAY)..=day).next().is_some();
    // Includes the day before, to determine whether totals have begun.
    let kept: BTreeMap<At, SnapshotRow> =
        rwa::snapshots(&mut **tx, At(first.plus_seconds(-DAY))).await?.into_iter().map(|row| (row.day, row)).collect();
    let mappings = attestations::mappings(&mut **tx).await?;
    let observed = rwa::observations(&mut **tx, At(first.plus_seconds(-CARRY_DAYS * DAY))).await?;
    let figures =
        ProductFigures::new(identity::deployments(&deployments, &mappings), observed.iter().map(observation).collect());
    let (mut day, mut revised, mut has_begun) = (first, 0, kept.contains_key(&At(first.plus_seconds(-DAY))));
    while day <= today {
        let before = kept.get(&At(day));
        has_begun |= before.is_some();
        if before.is_none() || day >= since || is_spoken_for(day) {
            let total = figures.snapshot(day);
            has_begun |= total.included.products > 0;
            if before.map_or(has_begun, |row| row.content.0 != total) {
                let revision = before.map_or(0, |row| row.revision) + 1;
                rwa::revise(tx, At(day), revision, At(now), &total).await?;
                revised += 1;
            }
        }
        day = day.plus_seconds(DAY);
    }
    Ok(revised)
}
