//! Applies the dwell to the results of a run, and writes the changed scores with their history and documents.

use super::VaultChange;
use super::inputs::Vault;
use rds_shared::rules::dwell::{BoundaryClock, Publication, Rating};
use rds_shared::scoring::provenance::{Observations, PublishedProvenance, RiskVectors, ScoreProvenance};
use rds_shared::scoring::sanity_checks::RunFacts;
use rds_shared::scoring::vault::{AssetRanges, Flag, VaultInput, VaultOutcome, VaultRange, evaluate, range};
use rds_shared::scoring::{METHODOLOGY_VERSION, MilliPoints, ScoreRange};
use rds_store::scoring::VaultRow;
use rds_store::scoring::scores::{self, HistoryRow, RunStamp, ScoreRow};
use rds_store::{At, StoreError, Tx, decode_enum};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The results of one chunk of a run.
pub struct Published<'a> {
    run: RunStamp<'a>,
    rows: Vec<ScoreRow>,
    confirmed: Vec<String>,
    history: Vec<HistoryRow>,
    changes: Vec<VaultChange>,
    /// Whether a score of another methodology version was replaced.
    pub is_new_methodology: bool,
}

impl<'a> Published<'a> {
    pub fn new(run: RunStamp<'a>) -> Self {
        Published {
            run,
            rows: Vec::new(),
            confirmed: Vec::new(),
            history: Vec::new(),
            changes: Vec::new(),
            is_new_methodology: false,
        }
    }

    /// Evaluates one vault, adds the result to the chunk, and counts it in `facts` for the sanity checks.
    pub fn step(&mut self, vault: &Vault, facts: &mut RunFacts) -> Result<(), StoreError> {
        let (mut outcome, now) = (evaluate(&vault.input), self.run.computed_at);
        if vault.stands_out {
            outcome.flags.push(Flag::OutlierApr);
        }
        let before = publication(&vault.row);
        let mut after = before;
        let new_methodology = vault.row.methodology_version.as_deref().is_some_and(|it| it != METHODOLOGY_VERSION);
        let change = after.step(now.0, outcome.score, outcome.hard(), new_methodology);
        let row = self.row(vault, &outcome, &after, change.is_some())?;
        self.is_new_methodology |= new_methodology;
        let tier = |publication: &Publication| publication.rating.map(|rating| rating.tier());
        if tier(&before).is_some_and(|tier_before| tier(&after) != Some(tier_before)) {
            facts.moved += 1;
        }
        facts.count_result(row.score, row.tier);
        if let Some(change) = change {
            self.history.push(HistoryRow {
                vault_id: vault.row.id.clone(),
                observed_at: now,
                version: self.run.version,
                change_type: change.change_type.as_str(),
                prev_score: change.prev_score.map(MilliPoints::get),
                new_score: change.new_score.map(MilliPoints::get),
                prev_tier: change.prev_tier.map(|tier| tier.as_str()),
                new_tier: change.new_tier.map(|tier| tier.as_str()),
                methodology_version: METHODOLOGY_VERSION,
            });
            self.changes.push(VaultChange { vault_id: vault.row.id.clone(), change });
        }
        let stored = &vault.row;
        let same_document = stored.document_hash.as_deref() == Some(&row.document_hash[..]);
        if before == after && same_document && stored.raw == row.raw && !new_methodology {
            self.confirmed.push(row.vault_id);
        } else {
            self.rows.push(row);
        }
        Ok(())
    }

    /// Adds a row without a score for a vault that is new while no run is published.
    pub fn add_unscored(&mut self, row: VaultRow) -> Result<(), StoreError> {
        let input = VaultInput::new(decode_enum("vault.asset_mode", &row.asset_mode)?);
        let outcome = evaluate(&input);
        let ranges = AssetRanges { deposit: ScoreRange::UNKNOWN, exposures: Vec::new() };
        let vault = Vault { row, input, ranges, observations: Observations::default(), stands_out: false };
        let row = self.row(&vault, &outcome, &Publication { rating: None }, false)?;
        self.rows.push(row);
        Ok(())
    }

    fn row(
        &self,
        vault: &Vault,
        outcome: &VaultOutcome,
        after: &Publication,
        changed: bool,
    ) -> Result<ScoreRow, StoreError> {
        // The run id is left empty and filled in when the row is served, so that a run that confirms a score rewrites no document.
        let provenance =
            ScoreProvenance::new("", &vault.input, outcome, after.dwell(self.run.computed_at.0), &vault.observations);
        let provenance = document(&PublishedProvenance { provenance, missing: outcome.missing() })?;
        let vectors = document(&RiskVectors::from(outcome.vectors))?;
        let VaultRange { basis, mut range } = range(&vault.input, outcome, &vault.ranges);
        if let Some(rating) = after.rating {
            // A published score may differ from the computed one, during a dwell or by less than the smallest published step.
            range.lowest = range.lowest.min(rating.score);
            range.highest = range.highest.max(rating.score);
        }
        let evidence = format!("{basis} {} {} {}", range.coverage, range.lowest, range.highest);
        let documents = Sha256::new().chain_update(&vectors).chain_update(&provenance);
        let digest = documents.chain_update(evidence).finalize();
        let rating = after.rating;
        Ok(ScoreRow {
            basis: basis.as_str(),
            coverage: i32::try_from(range.coverage.0).unwrap_or(0),
            lowest: range.lowest.get(),
            highest: range.highest.get(),
            vault_id: vault.row.id.clone(),
            score: rating.map(|rating| rating.score.get()),
            tier: rating.map(|rating| rating.tier().as_str()),
            anchor: rating.map(|rating| rating.anchor.get()),
            core_above: rating.map(|rating| rating.core.above),
            core_since: rating.map(|rating| At(rating.core.since)),
            prime_above: rating.map(|rating| rating.prime.above),
            prime_since: rating.map(|rating| At(rating.prime.since)),
            raw: outcome.score.map(MilliPoints::get),
            updated_at: if changed { Some(self.run.computed_at) } else { vault.row.updated_at },
            published: changed,
            vectors,
            provenance,
            document_hash: digest.into(),
        })
    }

    /// Writes the chunk and returns its published changes.
    pub async fn write(self, tx: &mut Tx<'_>) -> Result<Vec<VaultChange>, StoreError> {
        scores::write_scores(tx, self.run, &self.rows).await?;
        scores::confirm_scores(tx, self.run, &self.confirmed).await?;
        scores::append_history(tx, &self.history).await?;
        Ok(self.changes)
    }
}

/// The published state that the previous run left in the vault's row.
fn publication(row: &VaultRow) -> Publication {
    let score = |stored: Option<i32>| stored.and_then(MilliPoints::new);
    let clock = |above: Option<bool>, since: Option<At>| Some(BoundaryClock { above: above?, since: since?.0 });
    let rating = || {
        Some(Rating {
            score: score(row.score)?,
            anchor: score(row.anchor)?,
            core: clock(row.core_above, row.core_since)?,
            prime: clock(row.prime_above, row.prime_since)?,
        })
    };
    Publication { rating: rating() }
}

fn document(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Internal(sqlx::Error::Encode(error.into())))
}
