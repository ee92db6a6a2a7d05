//! Columns, filters and order of the security registry.
//!
//! A page number above 10,000, or a filter value that no row can have, yields an empty page.

use alloc::{string::ToString, vec::Vec};

use super::{Condition, FlagColumn, Index, Selection, Sort, SortColumn, WordColumn};
use crate::model::security::SecurityEvent;
use crate::route::{RowQuery, params, routes};

/// Index of the published rows. Row numbers are positions in the rows passed to [`SecurityIndex::build`].
#[derive(Debug, Clone)]
pub struct SecurityIndex {
    index: Index,
    source: WordColumn,
    chain: WordColumn,
    severity: WordColumn,
    published_by: WordColumn,
    in_universe: FlagColumn,
    by_loss: SortColumn,
    by_time: SortColumn,
}

impl Default for SecurityIndex {
    /// The index of an empty list.
    fn default() -> Self {
        Self::build(&[])
    }
}

impl SecurityIndex {
    /// Indexes rows, which must be in ascending order of ids.
    pub fn build(rows: &[SecurityEvent]) -> Self {
        let mut index = Index::new(rows.len());
        let source = index.add_words(rows.iter().map(|row| Some(row.source.as_str())), false);
        let chain = index.add_words(rows.iter().map(|row| row.chain_slug.as_deref()), false);
        for row in rows {
            if let (Some(id), Some(slug)) = (row.chain_id, &row.chain_slug) {
                index.alias(chain, &id.to_string(), slug);
            }
        }
        let severity = index.add_words(rows.iter().map(|row| Some(row.severity.as_str())), false);
        let published_by = index.add_words(rows.iter().map(|row| Some(row.published_by.as_str())), false);
        let in_universe = index.add_flags(rows.iter().map(|row| row.affects_tracked_universe));
        let by_loss = index.add_integers(rows.iter().map(|row| row.loss_amount_usd.map(|loss| loss.0)));
        let by_time = index.add_integers(rows.iter().map(|row| Some(row.attacked_at.as_micros())));
        index.set_texts(rows.iter().map(|row| [row.title.as_str(), row.description.as_deref().unwrap_or_default()]));
        SecurityIndex { index, source, chain, severity, published_by, in_universe, by_loss, by_time }
    }

    /// The page that a request selects (`source`, `chainId`, `severity`, `published_by`, `affectsTrackedUniverse`, `search`,
    /// `sort`).
    pub fn select(&self, query: RowQuery<'_, routes::SecurityEventList>) -> Selection {
        let (source, search) = (query.get(params::LossSource), query.get(params::TitleSearch));
        let (severity, in_universe) = (query.get(params::LossSeverity), query.get(params::AffectsTrackedUniverse));
        let published_by = query.get(params::PublishedBy);
        let is_empty = source.is_nothing()
            || search.is_nothing()
            || severity.is_nothing()
            || in_universe.is_nothing()
            || published_by.is_nothing();
        let Some(page) = query.page().filter(|_| !is_empty) else { return Selection::default() };
        let mut conditions: Vec<Condition<'_>> = Vec::new();
        conditions.extend(source.only().map(|source| Condition::AnyOf(self.source, [source].into())));
        if let chains @ [_, ..] = query.get(params::SecurityChains) {
            conditions.push(Condition::AnyOf(self.chain, chains.iter().map(|chain| chain.as_str()).collect()));
        }
        for (word, column) in [(severity.only(), self.severity), (published_by.only(), self.published_by)] {
            conditions.extend(word.map(|word| Condition::AnyOf(column, [word].into())));
        }
        if in_universe.only() == Some("true") {
            conditions.push(Condition::Is(self.in_universe, true));
        }
        conditions.extend(search.only().map(Condition::Contains));
        let by = if query.get(params::ByLoss).is_some() { self.by_loss } else { self.by_time };
        self.index.select(&conditions, Sort { by, descending: true }, page)
    }
}
