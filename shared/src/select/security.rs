//! Columns, filters and order of the security registry.
//!
//! A page number above 10,000, or a filter value that no row can have, yields an empty page.

use alloc::{string::ToString, vec::Vec};

use super::{Condition, Filling, FlagColumn, Index, Indexed, Selection, Sort, SortColumn, WordColumn};
use crate::model::ids::ChainId;
use crate::model::money::Cents;
use crate::model::security::{PublishedBy, SecurityEvent};
use crate::model::status::Severity;
use crate::route::{RowQuery, params, routes};
use crate::wire::Timestamp;
use crate::wire::record::{self, Reader};

/// What the filters, the search and the orders of the registry need of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventColumns<'a> {
    pub chain_id: Option<ChainId>,
    /// The chain's slug; the `chainId` filter takes the slug or the chain id.
    pub chain_slug: Option<&'a str>,
    pub source: &'a str,
    pub severity: Severity,
    pub published_by: PublishedBy,
    pub affects_tracked_universe: bool,
    pub loss_amount_usd: Option<Cents>,
    pub attacked_at: Timestamp,
    pub title: &'a str,
    pub description: Option<&'a str>,
}

impl<'a> EventColumns<'a> {
    /// The columns of a row.
    pub fn of(row: &'a SecurityEvent) -> Self {
        EventColumns {
            chain_id: row.chain_id,
            chain_slug: row.chain_slug.as_deref(),
            source: &row.source,
            severity: row.severity,
            published_by: row.published_by,
            affects_tracked_universe: row.affects_tracked_universe,
            loss_amount_usd: row.loss_amount_usd,
            attacked_at: row.attacked_at,
            title: &row.title,
            description: row.description.as_deref(),
        }
    }

    /// Appends the columns as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        record::put_flags(
            [self.chain_id.is_some(), self.affects_tracked_universe, self.loss_amount_usd.is_some()],
            out,
        );
        record::put_variable(self.chain_id.map_or(0, |chain| chain.0), out);
        record::put_optional_text(self.chain_slug, out);
        record::put_bytes(self.source.as_bytes(), out);
        record::put_choice(Some(self.severity), Severity::ALL, out);
        record::put_choice(Some(self.published_by), PublishedBy::ALL, out);
        record::put_u64(self.loss_amount_usd.unwrap_or_default().0.cast_unsigned(), out);
        record::put_u64(self.attacked_at.as_micros().cast_unsigned(), out);
        record::put_bytes(self.title.as_bytes(), out);
        record::put_optional_text(self.description, out);
    }

    /// Reads columns that [`write`](Self::write) wrote.
    pub fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let [has_chain, affects_tracked_universe, has_loss] = reader.flags()?;
        Some(EventColumns {
            chain_id: Some(ChainId(reader.variable()?)).filter(|_| has_chain),
            chain_slug: reader.optional_text()?,
            source: reader.text()?,
            severity: reader.choice(Severity::ALL)??,
            published_by: reader.choice(PublishedBy::ALL)??,
            affects_tracked_universe,
            loss_amount_usd: Some(Cents(reader.i64()?)).filter(|_| has_loss),
            attacked_at: Timestamp::from_micros(reader.i64()?),
            title: reader.text()?,
            description: reader.optional_text()?,
        })
    }
}

/// Index of the published rows. Row numbers are positions in the list.
#[derive(Debug, Clone, Default)]
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

impl Indexed for SecurityIndex {
    type Columns<'a> = EventColumns<'a>;

    /// Rows are in ascending order of ids.
    fn add(&mut self, index: &mut Filling, rows: &[EventColumns<'_>]) {
        self.source = index.add_words(rows.iter().map(|row| Some(row.source)), false);
        self.chain = index.add_words(rows.iter().map(|row| row.chain_slug), false);
        for row in rows {
            if let (Some(id), Some(slug)) = (row.chain_id, row.chain_slug) {
                index.alias(self.chain, &id.to_string(), slug);
            }
        }
        self.severity = index.add_words(rows.iter().map(|row| Some(row.severity.as_str())), false);
        self.published_by = index.add_words(rows.iter().map(|row| Some(row.published_by.as_str())), false);
        self.in_universe = index.add_flags(rows.iter().map(|row| row.affects_tracked_universe));
        self.by_loss = index.add_integers(rows.iter().map(|row| row.loss_amount_usd.map(|loss| loss.0)));
        self.by_time = index.add_integers(rows.iter().map(|row| Some(row.attacked_at.as_micros())));
        index.set_texts(rows.iter().map(|row| [row.title, row.description.unwrap_or_default()]));
    }

    fn complete(&mut self, index: Index) {
        self.index = index;
    }
}

impl SecurityIndex {
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
