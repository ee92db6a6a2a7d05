//! The columns of the vault lists.

use alloc::string::ToString;
use core::fmt;

use super::vault_filters::{VaultFilter, VaultSort, VaultSortField};
use super::{FlagColumn, Index, Selection, Sort, SortColumn, WordColumn};
use crate::model::vault::VaultRow;
use crate::rules::high_confidence::is_high_confidence;
use crate::wire::page::PageRequest;

/// A vault to be indexed: the row, and what the filters need in addition.
#[derive(Debug, Clone, Copy)]
pub struct VaultRecord<'a> {
    pub row: &'a VaultRow,
    /// The chain's slug; the `chain` filter takes the slug or the chain id.
    pub chain_slug: &'a str,
    /// The share token's symbol, searched together with the name.
    pub symbol: Option<&'a str>,
    pub traits: VaultTraits,
}

/// Properties that filters test. A property that is not known to hold is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VaultTraits {
    /// The deposit asset is a stablecoin.
    pub stablecoin: bool,
    /// The deposit asset is a staking derivative.
    pub lsd: bool,
    /// The vault's value depends on one asset only.
    pub single_exposure: bool,
    /// The vault has no impermanent loss: no position can lose to price divergence within a pool.
    pub no_il: bool,
}

/// Error: the records are not in strictly ascending byte order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotInIdOrder;

impl fmt::Display for NotInIdOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vault records must be in strictly ascending byte order of their ids")
    }
}

impl core::error::Error for NotInIdOrder {}

/// Index of the vaults. Row numbers are positions in the records passed to [`VaultIndex::build`].
#[derive(Debug, Clone)]
pub struct VaultIndex {
    index: Index,
    columns: Columns,
}

/// The columns that filters use. Sort columns are numbered by their [`VaultSortField`].
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub(super) chain: WordColumn,
    pub(super) protocol: WordColumn,
    pub(super) curator: WordColumn,
    pub(super) asset: WordColumn,
    pub(super) tier: WordColumn,
    pub(super) deposits: WordColumn,
    pub(super) stablecoin: FlagColumn,
    pub(super) lsd: FlagColumn,
    pub(super) single_exposure: FlagColumn,
    pub(super) no_il: FlagColumn,
    pub(super) audited: FlagColumn,
    pub(super) high_confidence: FlagColumn,
}

impl Default for VaultIndex {
    /// The index of no vaults.
    fn default() -> Self {
        Self::of_sorted(&[])
    }
}

impl VaultIndex {
    /// Indexes `records`, which must be in strictly ascending byte order of their ids.
    pub fn build(records: &[VaultRecord<'_>]) -> Result<Self, NotInIdOrder> {
        if !records.is_sorted_by(|a, b| a.row.id < b.row.id) {
            return Err(NotInIdOrder);
        }
        Ok(Self::of_sorted(records))
    }

    fn of_sorted(records: &[VaultRecord<'_>]) -> Self {
        let mut index = Index::new(records.len());
        for field in VaultSortField::ALL {
            field.add_column(&mut index, records);
        }
        index.set_texts(records.iter().map(|record| [record.row.name.as_str()].into_iter().chain(record.symbol)));
        let columns = Columns::add(&mut index, records);
        VaultIndex { index, columns }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The requested page of the vaults that pass `filter`, in the order of `sort`.
    pub fn select(&self, filter: &VaultFilter<'_>, sort: VaultSort, page: PageRequest) -> Selection {
        let sort = Sort { by: sort.by.column(), descending: sort.descending };
        self.index.select(&filter.conditions(&self.columns), sort, page)
    }
}

impl Columns {
    fn add(index: &mut Index, records: &[VaultRecord<'_>]) -> Self {
        let rows = || records.iter().map(|record| record.row);
        let chain = index.add_words(records.iter().map(|record| Some(record.chain_slug)), false);
        for run in records.chunk_by(|a, b| a.row.chain_id == b.row.chain_id) {
            if let Some(record) = run.first() {
                index.alias(chain, &record.row.chain_id.to_string(), record.chain_slug);
            }
        }
        // Display names are searched like the ids, but the filters take ids only.
        index.add_words(rows().map(|row| Some(row.protocol_name.as_str())), true);
        index.add_words(rows().map(|row| row.curator_name.as_deref()), true);
        Columns {
            chain,
            protocol: index.add_words(rows().map(|row| Some(row.protocol_id.as_str())), true),
            curator: index.add_words(rows().map(|row| row.curator_id.as_deref()), true),
            asset: index.add_words(rows().map(|row| row.asset_symbol.as_deref()), true),
            tier: index.add_words(rows().map(|row| row.risk_tier.map(|tier| tier.as_str())), false),
            deposits: index.add_words(rows().map(|row| Some(row.deposit_status.as_str())), false),
            stablecoin: index.add_flags(records.iter().map(|record| record.traits.stablecoin)),
            lsd: index.add_flags(records.iter().map(|record| record.traits.lsd)),
            single_exposure: index.add_flags(records.iter().map(|record| record.traits.single_exposure)),
            no_il: index.add_flags(records.iter().map(|record| record.traits.no_il)),
            audited: index.add_flags(rows().map(|row| row.is_audited)),
            high_confidence: index.add_flags(rows().map(|row| is_high_confidence(row.total_score, row.apr_net))),
        }
    }
}

impl VaultSortField {
    /// The column of this field. [`VaultIndex::build`] adds the sort columns first, in the order of [`VaultSortField::ALL`].
    const fn column(self) -> SortColumn {
        SortColumn(self as usize)
    }

    pub(super) const TVL: SortColumn = VaultSortField::TvlUsd.column();
    pub(super) const SCORE: SortColumn = VaultSortField::TotalScore.column();

    fn add_column(self, index: &mut Index, records: &[VaultRecord<'_>]) {
        let rows = records.iter().map(|record| record.row);
        match self {
            // A TVL that was not read is served as 0, so it is also filtered and sorted as 0.
            VaultSortField::TvlUsd => index.add_numbers(rows.map(|row| Some(row.tvl_usd)), true),
            VaultSortField::AvailableLiquidityUsd => {
                index.add_numbers(rows.map(|row| row.available_liquidity_usd), false)
            }
            VaultSortField::LiquidityDeficitUsd => index.add_numbers(rows.map(|row| row.liquidity_deficit_usd), false),
            VaultSortField::AprNet => index.add_numbers(rows.map(|row| row.apr_net), false),
            VaultSortField::BorrowAprNet => index.add_numbers(rows.map(|row| row.borrow_apr_net), false),
            VaultSortField::BorrowRewardApr => index.add_numbers(rows.map(|row| row.borrow_reward_apr), false),
            VaultSortField::Utilization => index.add_numbers(rows.map(|row| row.utilization), false),
            VaultSortField::RealYieldShare => index.add_numbers(rows.map(|row| row.real_yield_share), false),
            VaultSortField::Name => index.add_names(rows.map(|row| row.name.as_str())),
            VaultSortField::TotalScore => {
                index.add_numbers(rows.map(|row| row.total_score.map(|score| f64::from(score.get()) / 1_000.0)), true)
            }
            VaultSortField::LastSyncedAt => {
                index.add_integers(rows.map(|row| row.last_synced_at.map(|instant| instant.as_micros())))
            }
        };
    }
}
