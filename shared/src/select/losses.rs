//! Columns, filters, order and sums of the loss board.
//!
//! A page number above 10,000, or a filter value that no case can have, yields an empty page.

use alloc::{string::ToString, vec::Vec};

use super::{Condition, FlagColumn, Index, Selection, Sort, SortColumn, WordColumn};
use crate::model::loss::LossRow;
use crate::model::money::Cents;
use crate::route::{Row, RowQuery, params};

/// Index of the cases of the board. Row numbers are positions in the rows passed to [`LossIndex::build`].
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

impl Default for LossIndex {
    /// The index of an empty list.
    fn default() -> Self {
        Self::build(&[])
    }
}

impl LossIndex {
    /// Indexes cases, which must be in ascending order of ids.
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
            let optional = [&row.classification, &row.technique, &row.mechanism].map(|text| text.as_deref());
            let [classification, technique, mechanism] = optional;
            [Some(row.title.as_str()), classification, technique, mechanism, protocol].into_iter().flatten()
        }));
        LossIndex { index, losses, source, chain, severity, in_universe, by_loss, by_time }
    }

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
    use crate::model::ids::ChainId;
    use crate::model::loss::{Coverage, Dossier, DossierCoverage, DossierEvidence, DossierProvenance, LossBasis};
    use crate::route::{Query, routes};
    use crate::wire::Timestamp;
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
            let index = LossIndex::build(&rows);
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
