//! Vaults that hold vaults: the asset vectors of the inner vaults are computed before the outer ones.

use super::asset_side::{Nested, parts};
use super::inputs::{Market, Sources};
use rds_shared::scoring::vault;
use rds_store::scoring::{self, VaultRow};
use rds_store::{StoreError, Tx};
use std::collections::{BTreeSet, HashMap};

/// Adds the asset vector of every vault that `outer` holds, directly or indirectly, to the market.
///
/// A vault that holds itself through others has no independent value: inside such a cycle the inner vault
/// counts as unscored.
pub async fn resolve(market: &mut Market, tx: &mut Tx<'_>, outer: &[VaultRow]) -> Result<(), StoreError> {
    let mut rows: HashMap<String, VaultRow> = HashMap::new();
    let mut wanted = held(outer)?;
    loop {
        wanted.retain(|id| !market.nested.contains_key(id) && !rows.contains_key(id));
        if wanted.is_empty() {
            break;
        }
        let ids: Vec<String> = wanted.into_iter().collect();
        let found = scoring::vaults(tx, &ids).await?;
        wanted = held(&found)?;
        rows.extend(found.into_iter().map(|row| (row.id.clone(), row)));
    }
    let ids: BTreeSet<String> = rows.keys().cloned().collect();
    for id in ids {
        evaluate(market, &rows, id)?;
    }
    Ok(())
}

fn held(rows: &[VaultRow]) -> Result<BTreeSet<String>, StoreError> {
    let mut held = BTreeSet::new();
    for row in rows {
        held.extend(parts(row)?.into_iter().filter_map(|part| part.vault_id));
    }
    Ok(held)
}

/// Evaluates inner vaults first. Iterative, because a chain of nested vaults may have any length.
fn evaluate(market: &mut Market, rows: &HashMap<String, VaultRow>, root: String) -> Result<(), StoreError> {
    let (mut open, mut path) = (vec![(root, false)], BTreeSet::new());
    while let Some((id, inner_done)) = open.pop() {
        let Some(row) = rows.get(&id).filter(|_| !market.nested.contains_key(&id)) else { continue };
        if inner_done {
            let (input, ranges) = market.asset_side(row, &mut Sources::default())?;
            let nested =
                Nested { score: vault::evaluate(&input).vectors.asset, range: vault::asset_range(&input, &ranges) };
            market.nested.insert(id.clone(), nested);
            path.remove(&id);
        } else if path.insert(id.clone()) {
            let inner = held(std::slice::from_ref(row))?;
            open.push((id, true));
            open.extend(inner.into_iter().rev().map(|inner| (inner, false)));
        }
    }
    Ok(())
}
