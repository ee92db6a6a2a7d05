//! The history vector as of an earlier instant, computed by the scoring code from facts that have a date.

use super::inputs::{counted, days};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::vault::{AssetMode, HistoryInput, VaultInput, evaluate};
use rds_shared::wire::Timestamp;
use rds_store::scoring::{self, IncidentRow, Signals, VaultRow};
use rds_store::vaults::days;
use rds_store::{At, StoreError, Tx};
use std::collections::HashMap;

/// The inputs that do not depend on the instant: when each vault was deployed or first seen, and every incident that counts against it.
pub struct Histories {
    born: HashMap<String, Option<At>>,
    incidents: HashMap<String, Vec<IncidentRow>>,
}

impl Histories {
    /// Loads the histories of every vault.
    pub async fn load(tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        let ids = scoring::vault_ids(tx).await?;
        let incidents = scoring::incidents(tx, &ids).await?;
        let rows = scoring::vaults(tx, &ids).await?;
        let born = |row: VaultRow| (row.id, row.deployed_at.or(row.first_seen_at));
        Ok(Histories { born: rows.into_iter().map(born).collect(), incidents })
    }

    /// The history vectors of `ids` as of `then`; observations and incidents after `then` are ignored.
    ///
    /// Daily summaries must be up to date ([`days::refresh_all`]).
    ///
    /// The signal for halved deposits is left out, because it compares with the newest state.
    pub async fn vectors(
        &self,
        tx: &mut Tx<'_>,
        ids: &[String],
        then: Timestamp,
    ) -> Result<HashMap<String, MilliPoints>, StoreError> {
        let signals = days::signals_at(tx, ids, At(then)).await?;
        let of = |id: &String| Ok((id.clone(), self.vector(id, signals.get(id), then)?));
        ids.iter().map(of).collect()
    }

    fn vector(&self, id: &str, signals: Option<&Signals>, then: Timestamp) -> Result<MilliPoints, StoreError> {
        let past = self.incidents.get(id).into_iter().flatten().filter(|incident| incident.occurred_at <= At(then));
        let history = HistoryInput {
            vault_age_days: self.born.get(id).copied().flatten().map(|born| days(born, then)),
            incidents: past.map(|incident| counted(incident, then)).collect::<Result<_, _>>()?,
            drawdown_bp: signals.and_then(|seen| u32::try_from(seen.drawdown_bp?).ok()),
            high_util_72h: signals.is_some_and(|seen| seen.high_util_72h),
            tvl_halved_7d: false,
        };
        // The history vector reads only the history inputs, so the others stay at their defaults.
        Ok(evaluate(&VaultInput { history, ..VaultInput::new(AssetMode::Lending) }).vectors.history)
    }
}
