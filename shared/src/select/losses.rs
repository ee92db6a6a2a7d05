//! Columns, filters, order and sums of the loss board.
//!
//! A page number above 10,000, or a filter value that no case can have, yields an empty page.

use alloc::{string::ToString, vec::Vec};

use super::{Condition, Filling, FlagColumn, Index, Indexed, Selection, Sort, SortColumn, WordColumn};
use crate::model::ids::ChainId;
use crate::model::loss::LossRow;
use crate::model::money::Cents;
use crate::route::{Row, RowQuery, params};
use crate::wire::Timestamp;
use crate::wire::record::{self, Reader};

/// What the filters, the search, the orders and the sums of the board need of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossColumns<'a> {
    pub chain_id: ChainId,
    /// The chain's slug; the `chainId` filter takes the slug or the chain id.
    pub chain_slug: &'a str,
    /// Id of the casebook.
    pub source: &'a str,
    pub severity: &'a str,
    pub affects_tracked_universe: bool,
    pub loss_amount_usd: Cents,
    pub attacked_at: Timestamp,
    pub title: &'a str,
    pub classification: Option<&'a str>,
    pub technique: Option<&'a str>,
    pub mechanism: Option<&'a str>,
    /// Name of the protocol or party that made the loss.
    pub protocol: Option<&'a str>,
}

impl<'a> LossColumns<'a> {
    /// The columns of a case.
    pub fn of(row: &'a LossRow) -> Self {
        LossColumns {
            chain_id: row.chain_id,
            chain_slug: &row.chain_slug,
            source: &row.incident_dossier.provenance.source,
            severity: &row.severity,
            affects_tracked_universe: row.affects_tracked_universe,
            loss_amount_usd: row.loss_amount_usd,
            attacked_at: row.attacked_at,
            title: &row.title,
            classification: row.classification.as_deref(),
            technique: row.technique.as_deref(),
            mechanism: row.mechanism.as_deref(),
            protocol: row.protocol.as_ref().map(|protocol| protocol.name.as_str()),
        }
    }

    /// Appends the columns as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        record::put_variable(self.chain_id.0, out);
        for text in [self.chain_slug, self.source, self.severity, self.title] {
            record::put_bytes(text.as_bytes(), out);
        }
        record::put_flags([self.affects_tracked_universe], out);
        record::put_u64(self.loss_amount_usd.0.cast_unsigned(), out);
        record::put_u64(self.attacked_at.as_micros().cast_unsigned(), out);
        for text in [self.classification, self.technique, self.mechanism, self.protocol] {
            record::put_optional_text(text, out);
        }
    }

    /// Reads columns that [`write`](Self::write) wrote.
    pub fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let chain_id = ChainId(reader.variable()?);
        let (chain_slug, source) = (reader.text()?, reader.text()?);
        let (severity, title) = (reader.text()?, reader.text()?);
        Some(LossColumns {
            chain_id,
            chain_slug,
            source,
            severity,
            affects_tracked_universe: reader.flag()?,
            loss_amount_usd: Cents(reader.i64()?),
            attacked_at: Timestamp::from_micros(reader.i64()?),
            title,
            classification: reader.optional_text()?,
            technique: reader.optional_text()?,
            mechanism: reader.optional_text()?,
            protocol: reader.optional_text()?,
        })
    }
}

/// Index of the cases of the board. Row numbers are positions in the list.
#[derive(Debug, Clone, Default)]
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

impl Indexed for LossIndex {
    type Columns<'a> = LossColumns<'a>;

    /// Cases are in ascending order of ids.
    fn add(&mut self, index: &mut Filling, cases: &[LossColumns<'_>]) {
        self.losses.extend(cases.iter().map(|case| case.loss_amount_usd));
        self.source = index.add_words(cases.iter().map(|case| Some(case.source)), false);
        self.chain = index.add_words(cases.iter().map(|case| Some(case.chain_slug)), false);
        for case in cases {
            index.alias(self.chain, &case.chain_id.to_string(), case.chain_slug);
        }
        self.severity = index.add_words(cases.iter().map(|case| Some(case.severity)), false);
        self.in_universe = index.add_flags(cases.iter().map(|case| case.affects_tracked_universe));
        self.by_loss = index.add_numbers(cases.iter().map(|case| Some(case.loss_amount_usd.as_f64())), true);
        self.by_time = index.add_integers(cases.iter().map(|case| Some(case.attacked_at.as_micros())));
        index.set_texts(cases.iter().map(|case| {
            let optional = [case.classification, case.technique, case.mechanism, case.protocol];
            [case.title].into_iter().chain(optional.into_iter().flatten())
        }));
    }

    fn complete(&mut self, index: Index) {
        self.index = index;
    }
}

impl LossIndex {
    /// The page that a request selects (`source`, `chainId`, `severity`, `search`, `affectsTrackedUniverse`, `minLossUsd`,
    /// `sort`), and the total loss of all matching cases.
    pub fn select<R: Row>(&self, query: RowQuery<'_, R>) -> (Selection, Cents) {
        let (source, search) = (query.get(params::LossSource), query.get(params::TitleSearch));
        let (severity, in_universe) = (query.get(params::LossSeverity), query.get(params::AffectsTrackedUniverse));
        let is_empty = source.is_nothing() || search.is_nothing() || severity.is_nothing() || in_universe.is_nothing();
        let Some(page) = query.page().filter(|_| !is_empty) else { return Default::default() };
        let mut conditions: Vec<Condition<'_>> = Vec::new();
        conditions.extend(source.only().map(|source| Condition::AnyOf(self.source, [source].into())));
        if let chains @ [_, ..] = query.get(params::SecurityChains) {
            conditions.push(Condition::AnyOf(self.chain, chains.iter().map(|chain| chain.as_str()).collect()));
        }
        conditions.extend(severity.only().map(|word| Condition::AnyOf(self.severity, [word].into())));
        if in_universe.only() == Some("true") {
            conditions.push(Condition::Is(self.in_universe, true));
        }
        let least = query.get(params::MinLoss);
        conditions.extend(least.map(|least| Condition::Between(self.by_loss, Some(least), None)));
        conditions.extend(search.only().map(Condition::Contains));
        let by = if query.get(params::ByLoss).is_some() { self.by_loss } else { self.by_time };
        let mut lost = Cents::default();
        let selection = self.index.select_each(&conditions, Sort { by, descending: true }, page, |row| {
            let loss = self.losses.get(row as usize).copied().unwrap_or_default();
            lost = Cents(lost.0.saturating_add(loss.0));
        });
        (selection, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::loss::{Coverage, Dossier, DossierCoverage, DossierEvidence, DossierProvenance, LossBasis};
    use crate::route::{Query, routes};
    use proptest::prelude::*;

    fn case(number: usize, cents: i64, severity: &str, day: i64) -> LossRow {
        LossRow {
            id: alloc::format!("case-{number:04}"),
            title: alloc::format!("Case {number}"),
            loss_amount_usd: Cents(cents),
            attacked_at: Timestamp::from_seconds(day * 86_400),
            severity: severity.into(),
            chain_id: ChainId(1),
            chain_slug: "ethereum".into(),
            classification: None,
            technique: None,
            mechanism: None,
            chains: Vec::new(),
            returned_funds_usd: None,
            protocol: None,
            affects_tracked_universe: number.is_multiple_of(2),
            security_event_id: None,
            incident_dossier: Dossier {
                evidence: DossierEvidence::default(),
                provenance: DossierProvenance {
                    source: "book".into(),
                    source_id: "x".into(),
                    retrieved_at: Timestamp::from_seconds(0),
                    loss_text: None,
                    loss_basis: LossBasis::Stated,
                    note: None,
                },
                coverage: DossierCoverage {
                    has_transactions: number.is_multiple_of(3),
                    has_references: false,
                    has_addresses: false,
                    has_registry_row: false,
                },
            },
        }
    }

    proptest! {
        #[test]
        fn pages_cover_every_match_once_and_sums_are_those_of_the_matches(
            drawn in proptest::collection::vec((1i64..10_000_000_000, prop::sample::select(&["low", "HIGH", "Info"]), 0i64..5), 0..80),
            severity in prop::sample::select(&["", "&severity=high", "&severity=INFO"]),
            floor in proptest::option::of(0i64..10_000_000_000), by_loss: bool, size in 1u64..30,
        ) {
            let rows: Vec<LossRow> = (0..).zip(&drawn).map(|(number, (cents, severity, day))| case(number, *cents, severity, *day)).collect();
            let index = LossIndex::build(&rows.iter().map(LossColumns::of).collect::<Vec<_>>());
            let least = floor.map(|cents| alloc::format!("&minLossUsd={}", Cents(cents).as_f64())).unwrap_or_default();
            let wanted = severity.strip_prefix("&severity=");
            let matching: Vec<u32> = (0u32..).zip(&rows)
                .filter(|(_, row)| wanted.is_none_or(|word| row.severity.eq_ignore_ascii_case(word)))
                .filter(|(_, row)| floor.is_none_or(|cents| row.loss_amount_usd.0 >= cents))
                .map(|(number, _)| number).collect();
            let lost: Cents = matching.iter().map(|row| rows[*row as usize].loss_amount_usd).sum();
            let (mut seen, mut page) = (Vec::new(), 1);
            loop {
                let sort = if by_loss { "&sort=loss" } else { "" };
                let text = alloc::format!("page={page}&limit={size}{severity}{least}{sort}");
                let query = Query::parse(routes::LossBoard::QUERY, &text).unwrap();
                let (found, sum) = index.select(RowQuery::<routes::LossBoard>::of(&query));
                prop_assert_eq!((found.total, sum), (matching.len(), lost));
                if found.rows.is_empty() {
                    break;
                }
                seen.extend(found.rows);
                page += 1;
            }
            let key = |row: u32| if by_loss { rows[row as usize].loss_amount_usd.0 } else { rows[row as usize].attacked_at.as_micros() };
            prop_assert!(seen.is_sorted_by_key(|row| (-key(*row), *row)));
            seen.sort_unstable();
            prop_assert_eq!(seen, matching);
            let coverage = Coverage::of(&rows);
            prop_assert_eq!(coverage.total_loss, rows.iter().map(|row| row.loss_amount_usd).sum::<Cents>());
            prop_assert_eq!(coverage.transaction_covered, rows.len().div_ceil(3) as u64);
        }
    }
}
