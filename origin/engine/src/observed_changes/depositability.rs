//! `DepositabilityChange`: a vault opens or closes for deposits.

use super::Readings;
use crate::publication::OBSERVED_CHANGE_SOURCE;
use rds_facts::fact::Fact;
use rds_facts::{EventRecord, VaultState};
use rds_shared::model::status::{DepositStatus, Severity};
use rds_shared::rules::observed_changes::deposit_move;
use rds_store::ingest::last_notified::{self, Gate, LastNotified, Topic};
use rds_store::{At, StoreError, Tx};
use serde_json::{Map, json};
use std::collections::{BTreeMap, HashMap};

/// Events for changed deposit statuses, by vault and by time. Stores the last confirmed status of each vault.
pub(super) async fn moves(tx: &mut Tx<'_>, readings: &Readings<'_>) -> Result<Vec<EventRecord>, StoreError> {
    let mut vaults = [readings.vaults.clone(), readings.gated.clone()].concat();
    vaults.sort_unstable();
    vaults.dedup();
    if vaults.is_empty() {
        return Ok(Vec::new());
    }
    let mut own = own_states(readings);
    let subjects: Vec<&str> = vaults.iter().map(String::as_str).collect();
    let confirmed = last_notified::last(tx, Topic::DepositStatus, &subjects).await?;
    let (mut events, mut kept) = (Vec::new(), Vec::new());
    for gate in last_notified::gates(tx, &vaults).await? {
        let before = confirmed.get(&gate.vault_id);
        let mut last = before.and_then(|told| told.value.as_str()?.parse::<DepositStatus>().ok());
        let mut at = None;
        for (observed_at, status) in of_gate(&gate, own.remove(gate.vault_id.as_str())) {
            // A reading that is not newer than the last change was handled before, or came too late.
            if status == DepositStatus::Unknown || before.is_some_and(|told| observed_at <= told.observed_at) {
                continue;
            }
            if let Some(from) = deposit_move(last, status) {
                events.push(event(&gate, from, status, observed_at));
            }
            if last != Some(status) {
                (last, at) = (Some(status), Some(observed_at));
            }
        }
        if let (Some(status), Some(observed_at)) = (last, at) {
            kept.push(LastNotified { subject_id: gate.vault_id, value: json!(status.as_str()), observed_at });
        }
    }
    last_notified::keep(tx, Topic::DepositStatus, &kept).await?;
    Ok(events)
}

/// The vaults' own states by instant. Of two states of one instant, the state with the greater content hash is used, because the table
/// keeps the same state.
type StatesByInstant<'b> = BTreeMap<At, &'b VaultState>;

fn own_states<'b>(readings: &Readings<'b>) -> HashMap<&'b str, StatesByInstant<'b>> {
    let mut own: HashMap<&str, StatesByInstant<'_>> = HashMap::new();
    for state in readings.states.iter().copied() {
        let states = own.entry(&state.vault_id).or_default();
        if states.get(&state.observed_at).is_none_or(|kept| kept.content_hash() < state.content_hash()) {
            states.insert(state.observed_at, state);
        }
    }
    own
}

/// The readings of a vault's deposit status, by time. The status of its reserve takes precedence over the vault's own readings.
fn of_gate(gate: &Gate, own: Option<StatesByInstant<'_>>) -> Vec<(At, DepositStatus)> {
    match (gate.gate_at, &gate.gate_status) {
        (Some(at), Some(status)) => vec![(at, status.parse().unwrap_or(DepositStatus::Unknown))],
        _ => own.unwrap_or_default().into_iter().map(|(at, state)| (at, state.deposit_status)).collect(),
    }
}

fn event(gate: &Gate, from: DepositStatus, to: DepositStatus, at: At) -> EventRecord {
    let Gate { vault_id, name, .. } = gate;
    let key = format!("depositability:{vault_id}:{}:{from}-{to}", at.0.as_micros());
    let (severity, title) = match to {
        DepositStatus::Closed => (Severity::Warning, format!("{name} no longer accepts deposits")),
        DepositStatus::Open | DepositStatus::Unknown => (Severity::Info, format!("{name} accepts deposits again")),
    };
    EventRecord {
        description: Some(format!("The deposit status moved from {from} to {to}.")),
        data: Map::from_iter([
            ("prev_deposit_status".to_owned(), json!(from.as_str())),
            ("new_deposit_status".to_owned(), json!(to.as_str())),
        ]),
        ..EventRecord::new(key, "DepositabilityChange", severity, title, OBSERVED_CHANGE_SOURCE, at)
    }
    .about(vec![vault_id.clone()])
}
