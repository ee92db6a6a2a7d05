//! The loss board's columns, filters, order and sums.
//!
//! A page beyond the ten-thousandth, or a filter that nothing can match, is an empty page.

use alloc::{string::ToString, vec::Vec};

use super::security::reached;
use super::{Condition, FlagColumn, Index, Selection, Sort, SortColumn, WordColumn};
use crate::model::loss::LossRow;
use crate::model::money::Cents;
use crate::route::Query;

/// Every case of the board, ready to be filtered, sorted, added up and paged. Row numbers are positions in what it was
/// built from.
#[derive(Debug, Clone)]
pub struct LossIndex {
    index: Index,
    losses: Vec<Cents>,
    source: WordColumn,
    chain: WordColumn,
    severity: WordColumn,
    in_universe: FlagColumn,
    by_loss: SortColumn,
    by_time: SortColumn,
}

impl LossIndex {
    /// Indexes cases, which come in ascending order of ids.
    pub fn build(rows: &[LossRow]) -> Self {
        let mut index = Index::new(rows.len());
        let losses: Vec<Cents> = rows.iter().map(|row| row.loss_amount_usd).collect();
        let sources = rows.iter().map(|row| row.incident_dossier.provenance.source.as_str());
        let source = index.add_words(sources.map(Some), false);
        let chain = index.add_words(rows.iter().map(|row| Some(row.chain_slug.as_str())), false);
        for row in rows {
            index.alias(chain, &row.chain_id.to_string(), &row.chain_slug);
        }
        let severity = index.add_words(rows.iter().map(|row| Some(row.severity.as_str())), false);
        let in_universe = index.add_flags(rows.iter().map(|row| row.affects_tracked_universe));
        let by_loss = index.add_numbers(losses.iter().map(|loss| Some(loss.as_f64())), true);
        let by_time = index.add_integers(rows.iter().map(|row| Some(row.attacked_at.as_micros())));
        index.set_texts(rows.iter().map(|row| {
            let protocol = row.protocol.as_ref().map(|protocol| protocol.name.as_str());
            let told = [&row.classification, &row.technique, &row.mechanism].map(|text| text.as_deref());
            let [classification, technique, mechanism] = told;
            [Some(row.title.as_str()), classification, technique, mechanism, protocol].into_iter().flatten()
        }));
        LossIndex { index, losses, source, chain, severity, in_universe, by_loss, by_time }
    }

    /// The page a request asks for (`source`, `chainId`, `severity`, `search`, `affectsTrackedUniverse`, `minLossUsd`,
    /// `sort`), and what all matching cases lost together.
    pub fn select(&self, query: &Query) -> (Selection, Cents) {
        let nothing = ["source", "search", "severity"].iter().any(|name| query.selects_nothing(name));
        let Some(page) = reached(query).filter(|_| !nothing) else { return Default::default() };
        let mut conditions: Vec<Condition<'_>> = Vec::new();
        conditions.extend(query.text("source").map(|source| Condition::AnyOf(self.source, [source].into())));
        if let chains @ [_, ..] = query.names("chainId") {
            conditions.push(Condition::AnyOf(self.chain, chains.iter().map(|chain| chain.as_str()).collect()));
        }
        conditions.extend(query.choice("severity").map(|word| Condition::AnyOf(self.severity, [word].into())));
        if query.choice("affectsTrackedUniverse").is_some() {
            conditions.push(Condition::Is(self.in_universe, true));
        }
        conditions.extend(query.decimal("minLossUsd").map(|least| Condition::Between(self.by_loss, Some(least), None)));
        conditions.extend(query.text("search").map(Condition::Contains));
        let by = if query.choice("sort").is_some() { self.by_loss } else { self.by_time };
        let mut lost = Cents::default();
        let selection = self.index.select_each(&conditions, Sort { by, descending: true }, page, |row| {
            let loss = self.losses.get(row as usize).copied().unwrap_or_default();
            lost = Cents(lost.0.saturating_add(loss.0));
        });
        (selection, lost)
    }
}
