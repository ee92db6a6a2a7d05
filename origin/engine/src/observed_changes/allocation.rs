//! `AllocationChange`: a vault's allocation differs from the one last notified.
//!
//! An allocation is read from a vault's strategies or from its exposure; that source is its basis. A vault has one stored allocation,
//! whatever the basis, so that one reallocation creates one event. Allocations of different bases cannot be compared, so a change of the
//! basis stores the new allocation without an event.

use super::Readings;
use crate::publication::OBSERVED_CHANGE_SOURCE;
use rds_facts::EventRecord;
use rds_shared::model::status::Severity;
use rds_shared::rules::observed_changes::{ALLOCATION_SHIFT_PPM, reallocated_ppm};
use rds_store::ingest::last_notified::{self, Allocation, LastNotified, Topic};
use rds_store::{StoreError, Tx};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Events for changed allocations, in order of vaults. Stores the new allocations.
pub(super) async fn shifts(tx: &mut Tx<'_>, readings: &Readings<'_>) -> Result<Vec<EventRecord>, StoreError> {
    let mut vaults = [readings.exposed.as_slice(), &readings.strategic].concat();
    vaults.sort_unstable();
    vaults.dedup();
    if vaults.is_empty() {
        return Ok(Vec::new());
    }
    let now = last_notified::allocations(tx, &vaults).await?;
    let subjects: Vec<&str> = now.iter().map(|allocation| allocation.vault_id.as_str()).collect();
    let told = last_notified::last(tx, Topic::Allocation, &subjects).await?;
    let (mut events, mut kept) = (Vec::new(), Vec::new());
    for allocation in now {
        // Facts with the same `observed_at` are one reading, so a fact is not compared with a stored fact of the same instant.
        let told = told.get(&allocation.vault_id).filter(|told| told.observed_at != allocation.observed_at);
        let before = told.and_then(|told| parts(&told.value, &allocation.basis));
        if let Some(before) = &before {
            let moved = reallocated_ppm(before, &allocation.parts);
            if moved < ALLOCATION_SHIFT_PPM {
                continue;
            }
            events.push(event(&allocation, before, moved));
        }
        kept.push(LastNotified {
            subject_id: allocation.vault_id,
            value: json!({"basis": allocation.basis, "parts": allocation.parts.0}),
            observed_at: allocation.observed_at,
        });
    }
    last_notified::keep(tx, Topic::Allocation, &kept).await?;
    Ok(events)
}

/// The parts of the allocation last notified; `None` if its basis is not `basis`.
fn parts(told: &Value, basis: &str) -> Option<BTreeMap<String, u64>> {
    let parts = told.get("parts").filter(|_| told.get("basis").is_some_and(|it| it == basis))?;
    Some(parts.as_object()?.iter().filter_map(|(part, ppm)| Some((part.clone(), ppm.as_u64()?))).collect())
}

fn event(allocation: &Allocation, before: &BTreeMap<String, u64>, moved: u64) -> EventRecord {
    let Allocation { vault_id, name, basis, parts, observed_at } = allocation;
    let key = format!("allocation:{basis}:{vault_id}:{}", observed_at.0.as_micros());
    // Parts per million are ten-thousandths of a percent.
    let percent = |ppm: u64| ppm as f64 / 1e4;
    let fractions = |parts: &BTreeMap<String, u64>| {
        json!(parts.iter().map(|(part, ppm)| (part, *ppm as f64 / 1e6)).collect::<BTreeMap<_, _>>())
    };
    EventRecord {
        description: Some(format!("{:.2} % of the vault's allocation changed.", percent(moved))),
        data: Map::from_iter([
            ("basis".to_owned(), json!(basis)),
            ("moved_pct".to_owned(), json!(percent(moved))),
            ("prev_allocation".to_owned(), fractions(before)),
            ("new_allocation".to_owned(), fractions(parts)),
        ]),
        ..EventRecord::new(
            key,
            "AllocationChange",
            Severity::Info,
            format!("{name} moved {:.0} % of its allocation", percent(moved)),
            OBSERVED_CHANGE_SOURCE,
            *observed_at,
        )
    }
    .about(vec![vault_id.clone()])
}
