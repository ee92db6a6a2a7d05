//! Finds the observations of a batch that have no effect, because another observation of the same row takes precedence.
//!
//! Of two observations of one row the later observation wins; at the same instant, the observation with the greater digest. The other
//! observation is listed in the report.

use super::batch::{Batch, Numbered};
use rds_facts::fact::Fact;
use rds_facts::{Event, HolderRow, Snapshot};
use rds_store::ingest::facts;
use rds_store::{StoreError, Tx};
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of listed lines; the first are listed.
const MAX_LINES: usize = 100;

/// Why an observation had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A later observation of the row exists.
    Superseded,
    /// Another observation of the same row and instant with other content takes precedence.
    SameInstant,
}

/// A line without effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// Line number, counted from 1.
    pub line: u64,
    pub kind: &'static str,
    pub reason: Why,
}

/// Lines of a batch without effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Number of lines without effect, by kind.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// The first ignored lines in line order, at most 100.
    pub lines: Vec<PassedOver>,
}

impl Ignored {
    /// Whether no observation was ignored: each was stored or repeated the stored row.
    pub fn is_empty(&self) -> bool {
        self.by_kind.is_empty()
    }

    async fn collect<F: Fact>(
        &mut self,
        tx: &mut Tx<'_>,
        kind: &'static str,
        facts: impl Iterator<Item = (u64, F)>,
    ) -> Result<(), StoreError> {
        let (lines, facts): (Vec<u64>, Vec<F>) = facts.unzip();
        for (place, same_instant) in facts::superseded(tx, &facts).await? {
            let Some(line) = lines.get(place) else { continue };
            *self.by_kind.entry(kind).or_default() += 1;
            let reason = if same_instant { Why::SameInstant } else { Why::Superseded };
            self.lines.push(PassedOver { line: *line, kind, reason });
        }
        Ok(())
    }
}

/// Finds the observations without effect. Skips kinds of which every line changed a row. Must be called after the batch was written.
pub(super) async fn of(
    tx: &mut Tx<'_>,
    batch: &Batch,
    changed: &BTreeMap<&'static str, u64>,
) -> Result<Ignored, StoreError> {
    let mut ignored = Ignored::default();
    let counts = batch.counts();
    let all_kept = |kind: &str| counts.get(kind).is_none_or(|lines| changed.get(kind) == Some(lines));
    macro_rules! collect {
        ($($kind:literal: $facts:expr,)+) => {$(
            if !all_kept($kind) {
                ignored.collect(tx, $kind, $facts).await?;
            }
        )+};
    }
    collect! {
        "chain": facts_of(&batch.chains),
        "protocol": facts_of(&batch.protocols),
        "curator": facts_of(&batch.curators),
        "asset": facts_of(&batch.assets),
        "asset_review": facts_of(&batch.reviews),
        "asset_answer": facts_of(&batch.answers),
        "protocol_answer": facts_of(&batch.protocol_answers),
        "vault": facts_of(&batch.vaults),
        // A late reading is added to the history, so only a reading of the same instant can take precedence.
        "vault_state": batch.states.iter().map(|(line, state)| (*line, Snapshot(state))),
        "reward": facts_of(&batch.rewards),
        "exposure": facts_of(&batch.exposures),
        "holder_snapshot": batch.holders.iter().map(|(line, snapshot)| (*line, snapshot.row())).collect::<Vec<(u64, HolderRow)>>().into_iter(),
        "strategy": facts_of(&batch.strategies),
        "incident_link": batch.incidents.iter().map(|(line, incident)| (*line, incident.clone().rows().0)).collect::<Vec<(u64, Event)>>().into_iter(),
        "event": facts_of(&batch.events),
        "market": facts_of(&batch.markets),
        "market_state": facts_of(&batch.market_states),
        "market_reserve": facts_of(&batch.reserves),
        "market_emode": facts_of(&batch.emodes),
        "hub_asset": facts_of(&batch.hub_assets),
        "oracle_feed": facts_of(&batch.feeds),
        "position": facts_of(&batch.positions),
        "mapping": facts_of(&batch.mappings),
        "reviewer": facts_of(&batch.reviewers),
        "attestation": facts_of(&batch.attestations),
        "answer_attestation": facts_of(&batch.answer_attestations),
        "rwa_source": facts_of(&batch.rwa_sources),
        "rwa_candidate": facts_of(&batch.rwa_candidates),
        "security_event": facts_of(&batch.security),
        "loss_case": facts_of(&batch.losses),
        "signal": facts_of(&batch.signals),
        "basket": facts_of(&batch.baskets),
        "research_record": facts_of(&batch.research),
        "chain_reading": facts_of(&batch.chain_readings),
    }
    ignored.lines.sort_by_key(|passed| passed.line);
    ignored.lines.truncate(MAX_LINES);
    Ok(ignored)
}

fn facts_of<F: Fact>(numbered: &[Numbered<F>]) -> impl Iterator<Item = (u64, &F)> {
    numbered.iter().map(|(line, fact)| (*line, fact))
}
