//! Updates the place of events in the feed after a change of chains or vaults. The place (view `event_place`) is the chains, protocols and
//! curators that the feed shows with an event and filters it by.
//!
//! Chains and vaults are observed repeatedly without a change, and a protocol's event may affect thousands of vaults. So the relevant
//! columns are compared before and after a write, and a change of a vault never recomputes the search vector of an event.

use crate::events::feed;
use crate::{StoreError, Tx};
use std::collections::BTreeMap;

/// The columns of some chains and vaults that determine the places of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceInputs {
    /// Whether each chain is served.
    chains: BTreeMap<i64, bool>,
    /// Chain, protocol and curator of each vault, and whether it is active.
    vaults: BTreeMap<String, VaultPlace>,
}

type VaultPlace = (i64, String, Option<String>, bool);

impl PlaceInputs {
    /// Chains that are served again since `before`, and vaults whose `is_active` changed.
    pub fn visibility_change<'a>(&'a self, before: &PlaceInputs) -> VisibilityChange<'a> {
        let again = |chain: &i64| self.chains.get(chain) == Some(&true) && before.chains.get(chain) == Some(&false);
        let is_active = |whose: Option<&VaultPlace>| whose.map(|(.., is_active)| *is_active);
        let turned = |id: &&String| {
            let was = is_active(before.vaults.get(*id));
            was.is_some() && was != is_active(self.vaults.get(*id))
        };
        VisibilityChange {
            chains: self.chains.keys().copied().filter(again).collect(),
            vaults: self.vaults.keys().filter(turned).map(String::as_str).collect(),
        }
    }
}

/// Vaults that readers of the change feed must receive although no observation or score of them changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VisibilityChange<'a> {
    /// Chains that are served again.
    pub chains: Vec<i64>,
    /// Vaults whose `is_active` changed.
    pub vaults: Vec<&'a str>,
}

/// The current columns of these chains and vaults. Chains and vaults that do not exist yet are left out.
pub async fn place_inputs(tx: &mut Tx<'_>, chains: &[i64], vaults: &[&str]) -> Result<PlaceInputs, StoreError> {
    let mut place_inputs = PlaceInputs::default();
    if !chains.is_empty() {
        let rows: Vec<(i64, bool)> = sqlx::query_as("SELECT chain_id, is_served FROM chain WHERE chain_id = ANY($1)")
            .bind(chains)
            .fetch_all(&mut **tx)
            .await?;
        place_inputs.chains = rows.into_iter().collect();
    }
    if !vaults.is_empty() {
        let rows: Vec<(String, i64, String, Option<String>, bool)> =
            sqlx::query_as("SELECT id, chain_id, protocol_id, curator_id, is_active FROM vault WHERE id = ANY($1)")
                .bind(vaults)
                .fetch_all(&mut **tx)
                .await?;
        place_inputs.vaults = rows
            .into_iter()
            .map(|(id, chain, protocol, curator, active)| (id, (chain, protocol, curator, active)))
            .collect();
    }
    Ok(place_inputs)
}

/// Updates the feed from the state `before` to the state `now`; returns whether served data may have changed. The caller holds the writers'
/// lock.
pub async fn follow(tx: &mut Tx<'_>, before: &PlaceInputs, now: &PlaceInputs) -> Result<bool, StoreError> {
    let chains: Vec<i64> = differing(&before.chains, &now.chains).copied().collect();
    let vaults: Vec<&str> = differing(&before.vaults, &now.vaults).map(String::as_str).collect();
    let mut moved = 0;
    if !chains.is_empty() {
        // Events of a withheld chain are not shown, so a chain's change can also change which event represents a group.
        let events = events_of(tx, &chains, &[]).await?;
        feed::refresh(tx, &events, &[]).await?;
        moved += events.len() as u64;
    }
    if !vaults.is_empty() {
        let events = events_of(tx, &[], &vaults).await?;
        moved += replace(tx, &events).await?;
    }
    Ok(moved > 0)
}

fn differing<'a, K: Ord, V: PartialEq>(
    before: &'a BTreeMap<K, V>,
    now: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = &'a K> {
    now.iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key)
}

/// The events whose place depends on these chains or vaults.
async fn events_of(tx: &mut Tx<'_>, chains: &[i64], vaults: &[&str]) -> Result<Vec<i64>, StoreError> {
    let ids = sqlx::query_scalar(
        "WITH concerned AS MATERIALIZED (SELECT id, protocol_id FROM vault WHERE chain_id = ANY($1) OR id = ANY($2)) \
         SELECT id FROM event WHERE chain_id = ANY($1) \
         UNION SELECT e.id FROM event e JOIN market m ON m.contract = e.market WHERE m.chain_id = ANY($1) \
         UNION SELECT l.event_id FROM concerned v JOIN event_link l ON l.scope = 'vault' AND l.subject_id = v.id \
         UNION SELECT l.event_id FROM (SELECT DISTINCT protocol_id FROM concerned) AS p \
               JOIN event_link l ON l.scope = 'protocol' AND l.subject_id = p.protocol_id AND l.affects_protocol_score",
    );
    Ok(ids.bind(chains).bind(vaults).fetch_all(&mut **tx).await?)
}

/// Updates the rows whose place changed, and returns how many rows that were. Each place is looked up separately; see `feed::refresh` for
/// the reason.
async fn replace(tx: &mut Tx<'_>, events: &[i64]) -> Result<u64, StoreError> {
    if events.is_empty() {
        return Ok(0);
    }
    let mut moved = 0;
    for table in ["event_feed", "event_repeat"] {
        let sql = format!(
            "UPDATE {table} f SET protocol_id = p.protocol_id, chain_id = p.chain_id, curator_id = p.curator_id, \
                    protocol_ids = p.protocol_ids, chain_ids = p.chain_ids, curator_ids = p.curator_ids \
             FROM unnest($1) AS moved (event_id) \
             CROSS JOIN LATERAL (SELECT * FROM event_place p WHERE p.event_id = moved.event_id OFFSET 0) AS p \
             WHERE f.event_id = p.event_id \
               AND (f.protocol_id, f.chain_id, f.curator_id, f.protocol_ids, f.chain_ids, f.curator_ids) \
                   IS DISTINCT FROM (p.protocol_id, p.chain_id, p.curator_id, p.protocol_ids, p.chain_ids, p.curator_ids)"
        );
        moved += sqlx::query(&sql).bind(events).execute(&mut **tx).await?.rows_affected();
    }
    Ok(moved)
}
