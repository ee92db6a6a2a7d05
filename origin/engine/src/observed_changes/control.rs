//! `ControlChange`: other keys control a vault, or after another delay, as read on its chain.

use super::Readings;
use crate::publication::OBSERVED_CHANGE_SOURCE;
use rds_facts::EventRecord;
use rds_shared::model::status::Severity;
use rds_shared::rules::observed_changes::{Control, is_weaker_control};
use rds_store::ingest::last_notified::{self, Controlled, LastNotified, Topic};
use rds_store::{StoreError, Tx};
use serde_json::{Map, Value, json};

/// Events for changed controls, by vault. Stores the last control of each vault that was read.
pub(super) async fn moves(tx: &mut Tx<'_>, readings: &Readings<'_>) -> Result<Vec<EventRecord>, StoreError> {
    if readings.controlled.is_empty() {
        return Ok(Vec::new());
    }
    let subjects: Vec<&str> = readings.controlled.iter().map(String::as_str).collect();
    let notified = last_notified::last(tx, Topic::Control, &subjects).await?;
    let (mut events, mut kept) = (Vec::new(), Vec::new());
    for now in last_notified::controls(tx, &readings.controlled).await? {
        let before = notified.get(&now.vault_id);
        if before.is_some_and(|before| now.observed_at <= before.observed_at || before.value == value(&now)) {
            continue;
        }
        if let Some(before) = before {
            events.push(event(&now, &before.value));
        }
        let (subject_id, value, observed_at) = (now.vault_id.clone(), value(&now), now.observed_at);
        kept.push(LastNotified { subject_id, value, observed_at });
    }
    last_notified::keep(tx, Topic::Control, &kept).await?;
    Ok(events)
}

fn value(control: &Controlled) -> Value {
    let Controlled { is_immutable, timelock_seconds, signers, .. } = control;
    json!({"is_immutable": is_immutable, "timelock_seconds": timelock_seconds, "signers": signers})
}

/// What the rule compares.
fn control(value: &Value) -> Control {
    let signers = &value["signers"];
    let of = |field: &str| signers[field].as_u64().and_then(|number| u32::try_from(number).ok());
    Control {
        is_immutable: value["is_immutable"] == json!(true),
        timelock_seconds: value["timelock_seconds"].as_u64(),
        needed: if signers == &json!("eoa") { Some(1) } else { of("threshold") },
    }
}

fn event(now: &Controlled, before: &Value) -> EventRecord {
    let after = value(now);
    let Controlled { vault_id, name, observed_at: at, .. } = now;
    let key = format!("control:{vault_id}:{}", at.0.as_micros());
    let (severity, title) = match is_weaker_control(control(before), control(&after)) {
        true => (Severity::Warning, format!("Control of {name} became weaker")),
        false => (Severity::Info, format!("Control of {name} changed")),
    };
    EventRecord {
        description: Some(format!("It was {}, and is {}.", text(before), text(&after))),
        block_number: now.block_number,
        data: Map::from_iter([("prev_control".to_owned(), before.clone()), ("new_control".to_owned(), after)]),
        ..EventRecord::new(key, "ControlChange", severity, title, OBSERVED_CHANGE_SOURCE, *at)
    }
    .about(vec![vault_id.clone()])
}

/// A control in words.
fn text(value: &Value) -> String {
    if value["is_immutable"] == json!(true) {
        return "immutable".to_owned();
    }
    let signers = match &value["signers"] {
        Value::String(word) if word == "eoa" => "one key".to_owned(),
        Value::String(word) => word.clone(),
        Value::Object(keys) => {
            let of = |field: &str| keys.get(field).and_then(Value::as_u64).unwrap_or_default();
            format!("{} of {} keys", of("threshold"), of("owners"))
        }
        _ => "unknown signers".to_owned(),
    };
    match value["timelock_seconds"].as_u64() {
        Some(0) => format!("{signers} without a timelock"),
        Some(seconds) => format!("{signers} after {seconds} seconds"),
        None => format!("{signers} after an unknown delay"),
    }
}
