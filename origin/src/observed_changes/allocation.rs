//! `AllocationChange`: a vault's deposits sit elsewhere than when that was last told.

use super::Readings;
use crate::ingest::kinds::EventRecord;
use crate::publication::OBSERVED_CHANGE_SOURCE;
use crate::store::told::{self, Allocation, Told, Topic};
use crate::store::{StoreError, Tx};
use rds_shared::model::status::Severity;
use rds_shared::rules::changes::{ALLOCATION_SHIFT_PPM, moved_ppm};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The shifts among `readings`, in vault order: of what vaults hold or lend against, then of their strategies.
pub(super) async fn shifts(tx: &mut Tx<'_>, readings: &Readings<'_>) -> Result<Vec<EventRecord>, StoreError> {
    let mut events = Vec::new();
    if !readings.exposed.is_empty() {
        let now = told::exposures(tx, &readings.exposed).await?;
        events.extend(of(tx, Topic::Exposure, now).await?);
    }
    if !readings.strategic.is_empty() {
        let now = told::strategies(tx, &readings.strategic).await?;
        events.extend(of(tx, Topic::Strategies, now).await?);
    }
    Ok(events)
}

async fn of(tx: &mut Tx<'_>, topic: Topic, now: Vec<Allocation>) -> Result<Vec<EventRecord>, StoreError> {
    let subjects: Vec<&str> = now.iter().map(|allocation| allocation.vault_id.as_str()).collect();
    let told = told::last(tx, topic, &subjects).await?;
    let (mut events, mut kept) = (Vec::new(), Vec::new());
    for allocation in now {
        let before = told.get(&allocation.vault_id).map(|told| parts(&told.value));
        if let Some(before) = &before {
            let moved = moved_ppm(before, &allocation.parts);
            if moved < ALLOCATION_SHIFT_PPM {
                continue;
            }
            events.push(event(topic, &allocation, before, moved));
        }
        kept.push(Told {
            subject_id: allocation.vault_id,
            value: json!(allocation.parts.0),
            observed_at: allocation.observed_at,
        });
    }
    told::keep(tx, topic, &kept).await?;
    Ok(events)
}

fn parts(value: &Value) -> BTreeMap<String, u64> {
    value.as_object().into_iter().flatten().filter_map(|(part, ppm)| Some((part.clone(), ppm.as_u64()?))).collect()
}

fn event(topic: Topic, allocation: &Allocation, before: &BTreeMap<String, u64>, moved: u64) -> EventRecord {
    let Allocation { vault_id, name, parts, observed_at } = allocation;
    let key = format!("allocation:{}:{vault_id}:{}", topic.as_str(), observed_at.0.as_micros());
    // Parts per million are ten-thousandths of a percent.
    let percent = |ppm: u64| ppm as f64 / 1e4;
    let fractions = |parts: &BTreeMap<String, u64>| {
        json!(parts.iter().map(|(part, ppm)| (part, *ppm as f64 / 1e6)).collect::<BTreeMap<_, _>>())
    };
    EventRecord {
        description: Some(format!("{:.2} % of the vault sits elsewhere than before.", percent(moved))),
        data: Map::from_iter([
            ("basis".to_owned(), json!(topic.as_str())),
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
