//! Converts events to the incidents of a snapshot.

use rds_shared::graph::incidents::{Incident, WINDOW_DAYS};
use rds_shared::model::ids::VaultKey;
use rds_shared::wire::Timestamp;
use rds_store::At;
use rds_store::graph::facts::{GraphRows, IncidentRow};

/// Unresolved incidents of the last year, by id, and the latest observation time among them.
///
/// The year ends at the newest observation of all facts instead of the present time, so equal facts give equal incidents. `known_to` is
/// the newest observation of the facts other than incidents.
pub fn of(rows: &GraphRows, known_to: Option<Timestamp>) -> (Vec<Incident>, Option<Timestamp>) {
    let seen = rows.incidents.iter().map(|row| row.seen_at.0);
    let Some(end) = seen.chain(known_to).max() else { return (Vec::new(), None) };
    let start = end.plus_seconds(-WINDOW_DAYS * 86_400);
    let recent = || rows.incidents.iter().filter(|row| row.occurred_at.0 >= start);
    (recent().map(incident).collect(), recent().map(|row| row.seen_at).max().map(|At(instant)| instant))
}

fn incident(row: &IncidentRow) -> Incident {
    let mut vault_keys: Vec<VaultKey> = row.vault_keys.iter().filter_map(|key| VaultKey::parse(key)).collect();
    vault_keys.sort_unstable();
    Incident {
        event_id: row.id.unsigned_abs(),
        title: row.title.clone(),
        severity: row.severity.clone(),
        incident_severity: row.incident_severity.clone(),
        occurred_at: row.occurred_at.0,
        vault_keys,
    }
}
