//! `BadDebt`: the bad debt of a vault or a market has grown beyond the amount last notified.

use super::{Readings, dollars};
use crate::publication::OBSERVED_CHANGE_SOURCE;
use rds_facts::EventRecord;
use rds_shared::model::status::{RemediationStatus, Severity};
use rds_shared::rules::observed_changes::{self as changes, is_critical_debt};
use rds_store::ingest::last_notified::{self, Debt, LastNotified, Topic};
use rds_store::{StoreError, Tx};
use serde_json::{Map, json};

/// Events for grown bad debt, in order of their subjects. Stores the amounts that later growth is measured from.
pub(super) async fn gains(tx: &mut Tx<'_>, readings: &Readings<'_>) -> Result<Vec<EventRecord>, StoreError> {
    let mut debts = Vec::new();
    if !readings.vaults.is_empty() {
        debts.extend(last_notified::debts_of_vaults(tx, &readings.vaults).await?);
    }
    if !readings.markets.is_empty() {
        debts.extend(last_notified::debts_of_markets(tx, &readings.markets).await?);
    }
    if debts.is_empty() {
        return Ok(Vec::new());
    }
    let subjects: Vec<&str> = debts.iter().map(|debt| debt.subject_id.as_str()).collect();
    let told = last_notified::last(tx, Topic::BadDebt, &subjects).await?;
    let (mut events, mut kept) = (Vec::new(), Vec::new());
    for debt in &debts {
        let before = told.get(&debt.subject_id).and_then(|told| told.value.as_f64());
        match changes::bad_debt(before, debt.bad_debt_usd) {
            changes::BadDebt::Grew(growth) => events.push(event(debt, before.unwrap_or(0.0), growth)),
            changes::BadDebt::NewBaseline => {}
            changes::BadDebt::Unchanged => continue,
        }
        kept.push(LastNotified {
            subject_id: debt.subject_id.clone(),
            value: json!(debt.bad_debt_usd),
            observed_at: debt.observed_at,
        });
    }
    last_notified::keep(tx, Topic::BadDebt, &kept).await?;
    Ok(events)
}

fn event(debt: &Debt, before: f64, growth: f64) -> EventRecord {
    let Debt { subject_id, name, chain_id, bad_debt_usd, value_usd, observed_at } = debt;
    let key = format!("bad-debt:{subject_id}:{}", observed_at.0.as_micros());
    let severity = if is_critical_debt(*bad_debt_usd, *value_usd) { Severity::Critical } else { Severity::Warning };
    let title = format!("{name} has {} of bad debt", dollars(*bad_debt_usd));
    let event = EventRecord {
        description: Some(format!("Bad debt grew by {}.", dollars(growth))),
        loss_usd: Some(growth),
        remediation_status: Some(RemediationStatus::Unresolved),
        chain_id: *chain_id,
        market: chain_id.map(|_| subject_id.clone()),
        data: Map::from_iter([
            ("prev_bad_debt_usd".to_owned(), json!(before)),
            ("new_bad_debt_usd".to_owned(), json!(bad_debt_usd)),
            ("value_usd".to_owned(), json!(value_usd)),
        ]),
        ..EventRecord::new(key, "BadDebt", severity, title, OBSERVED_CHANGE_SOURCE, *observed_at)
    };
    if chain_id.is_some() { event } else { event.about(vec![subject_id.clone()]) }
}
