//! The columns of the vault lists.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::vault_filters::{VaultFilter, VaultSort, VaultSortField};
use super::{Condition, Filling, FlagColumn, Index, Indexed, Renumbering, Selection, Sort, SortColumn, WordColumn};
use crate::model::ids::ChainId;
use crate::model::status::DepositStatus;
use crate::model::vault::VaultRow;
use crate::rules::high_confidence::is_high_confidence;
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::wire::Timestamp;
use crate::wire::page::PageRequest;
use crate::wire::record::{self, Reader};

/// What the filters, the search and the orders of the vault lists need of a vault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VaultColumns<'a> {
    pub chain_id: ChainId,
    /// The chain's slug; the `chain` filter takes the slug or the chain id.
    pub chain_slug: &'a str,
    pub name: &'a str,
    /// The share token's symbol, searched together with the name.
    pub symbol: Option<&'a str>,
    pub protocol_id: &'a str,
    pub protocol_name: &'a str,
    pub curator_id: Option<&'a str>,
    pub curator_name: Option<&'a str>,
    pub asset_symbol: Option<&'a str>,
    pub risk_tier: Option<Tier>,
    pub deposit_status: DepositStatus,
    pub traits: VaultTraits,
    pub is_audited: bool,
    /// A TVL that was not read is served as 0, so it is also filtered and sorted as 0.
    pub tvl_usd: f64,
    pub available_liquidity_usd: Option<f64>,
    pub liquidity_deficit_usd: Option<f64>,
    pub apr_net: Option<f64>,
    pub borrow_apr_net: Option<f64>,
    pub borrow_reward_apr: Option<f64>,
    pub utilization: Option<f64>,
    pub real_yield_share: Option<f64>,
    pub total_score: Option<MilliPoints>,
    pub last_synced_at: Option<Timestamp>,
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

impl<'a> VaultColumns<'a> {
    /// The columns of a list row, and of what it does not contain.
    pub fn of(row: &'a VaultRow, chain_slug: &'a str, symbol: Option<&'a str>, traits: VaultTraits) -> Self {
        VaultColumns {
            chain_id: row.chain_id,
            chain_slug,
            name: &row.name,
            symbol,
            protocol_id: &row.protocol_id,
            protocol_name: &row.protocol_name,
            curator_id: row.curator_id.as_deref(),
            curator_name: row.curator_name.as_deref(),
            asset_symbol: row.asset_symbol.as_deref(),
            risk_tier: row.risk_tier,
            deposit_status: row.deposit_status,
            traits,
            is_audited: row.is_audited,
            tvl_usd: row.tvl_usd,
            available_liquidity_usd: row.available_liquidity_usd,
            liquidity_deficit_usd: row.liquidity_deficit_usd,
            apr_net: row.apr_net,
            borrow_apr_net: row.borrow_apr_net,
            borrow_reward_apr: row.borrow_reward_apr,
            utilization: row.utilization,
            real_yield_share: row.real_yield_share,
            total_score: row.total_score,
            last_synced_at: row.last_synced_at,
        }
    }

    /// Appends the columns as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        record::put_variable(self.chain_id.0, out);
        for text in [self.chain_slug, self.name, self.protocol_id, self.protocol_name] {
            record::put_bytes(text.as_bytes(), out);
        }
        for text in [self.symbol, self.curator_id, self.curator_name, self.asset_symbol] {
            record::put_optional_text(text, out);
        }
        record::put_choice(self.risk_tier, Tier::ALL, out);
        record::put_choice(Some(self.deposit_status), DepositStatus::ALL, out);
        let VaultTraits { stablecoin, lsd, single_exposure, no_il } = self.traits;
        record::put_flags([stablecoin, lsd, single_exposure, no_il, self.is_audited], out);
        let numbers = [
            Some(self.tvl_usd),
            self.available_liquidity_usd,
            self.liquidity_deficit_usd,
            self.apr_net,
            self.borrow_apr_net,
            self.borrow_reward_apr,
            self.utilization,
            self.real_yield_share,
        ];
        record::put_numbers(numbers, out);
        put_score(self.total_score, out);
        record::put_instant(self.last_synced_at, out);
    }

    /// Passes over columns that [`write`](Self::write) wrote, except for the last of them: when the vault was synced.
    pub fn pass(reader: &mut Reader<'_>) -> Option<Option<Timestamp>> {
        reader.variable()?;
        for _ in 0..4 {
            reader.bytes()?;
        }
        for _ in 0..4 {
            reader.optional_text()?;
        }
        reader.choice(Tier::ALL)?;
        reader.choice(DepositStatus::ALL)?;
        reader.flags::<5>()?;
        reader.numbers::<8>()?;
        read_score(reader)?;
        reader.instant()
    }

    /// Reads columns that [`write`](Self::write) wrote.
    pub fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let chain_id = ChainId(reader.variable()?);
        let (chain_slug, name) = (reader.text()?, reader.text()?);
        let (protocol_id, protocol_name) = (reader.text()?, reader.text()?);
        let (symbol, curator_id) = (reader.optional_text()?, reader.optional_text()?);
        let (curator_name, asset_symbol) = (reader.optional_text()?, reader.optional_text()?);
        let (risk_tier, deposit_status) = (reader.choice(Tier::ALL)?, reader.choice(DepositStatus::ALL)??);
        let [stablecoin, lsd, single_exposure, no_il, is_audited] = reader.flags()?;
        let [tvl, available, deficit, apr_net, borrow_apr_net, borrow_reward_apr, utilization, real_yield_share] =
            reader.numbers()?;
        Some(VaultColumns {
            chain_id,
            chain_slug,
            name,
            symbol,
            protocol_id,
            protocol_name,
            curator_id,
            curator_name,
            asset_symbol,
            risk_tier,
            deposit_status,
            traits: VaultTraits { stablecoin, lsd, single_exposure, no_il },
            is_audited,
            tvl_usd: tvl?,
            available_liquidity_usd: available,
            liquidity_deficit_usd: deficit,
            apr_net,
            borrow_apr_net,
            borrow_reward_apr,
            utilization,
            real_yield_share,
            total_score: read_score(reader)?,
            last_synced_at: reader.instant()?,
        })
    }
}

/// Appends a score or its absence.
pub(super) fn put_score(score: Option<MilliPoints>, out: &mut Vec<u8>) {
    record::put_variable(score.map_or(0, |score| u64::from(score.get().unsigned_abs()) + 1), out);
}

/// A score or its absence, which is `Some(None)`.
pub(super) fn read_score(reader: &mut Reader<'_>) -> Option<Option<MilliPoints>> {
    match reader.variable()?.checked_sub(1) {
        None => Some(None),
        Some(milli) => MilliPoints::new(i32::try_from(milli).ok()?).map(Some),
    }
}

/// Index of the vaults. Row numbers are positions in the list.
#[derive(Debug, Clone, Default)]
pub struct VaultIndex {
    index: Index,
    columns: Columns,
}

/// The columns that filters use. Sort columns are numbered by their [`VaultSortField`].
#[derive(Debug, Clone, Default)]
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

impl Indexed for VaultIndex {
    type Columns<'a> = VaultColumns<'a>;

    /// Vaults are in ascending byte order of their ids.
    fn add(&mut self, index: &mut Filling, vaults: &[VaultColumns<'_>]) {
        index.set_texts(vaults.iter().map(|vault| [vault.name].into_iter().chain(vault.symbol)));
        for field in VaultSortField::ALL {
            field.add_column(index, vaults);
        }
        self.columns = Columns::add(index, vaults);
    }

    fn complete(&mut self, index: Index) {
        self.index = index;
    }
}

impl VaultIndex {
    /// Begins the index of a changed list ([`Filling::after`]).
    pub fn after(&self, renumbering: &Renumbering) -> Option<Filling> {
        Filling::after(&self.index, renumbering)
    }

    /// Bytes on the heap ([`Index::heap_bytes`]).
    pub fn heap_bytes(&self) -> usize {
        self.index.heap_bytes()
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The requested page of the vaults that pass `filter`, in the order of `sort`.
    pub fn select(&self, filter: &VaultFilter<'_>, sort: VaultSort, page: PageRequest) -> Selection {
        self.select_without(&[], filter, sort, page)
    }

    /// Like [`select`](Self::select), without the vaults of the chains with these numbers.
    pub fn select_without(
        &self,
        hidden: &[String],
        filter: &VaultFilter<'_>,
        sort: VaultSort,
        page: PageRequest,
    ) -> Selection {
        let mut conditions = filter.conditions(&self.columns);
        conditions.extend(Condition::hiding(self.columns.chain, hidden));
        let sort = Sort { by: sort.by.column(), descending: sort.descending };
        self.index.select(&conditions, sort, page)
    }
}

impl Columns {
    fn add(index: &mut Filling, vaults: &[VaultColumns<'_>]) -> Self {
        let rows = || vaults.iter();
        let chain = index.add_words(rows().map(|vault| Some(vault.chain_slug)), false);
        for run in vaults.chunk_by(|a, b| a.chain_id == b.chain_id) {
            if let Some(vault) = run.first() {
                index.alias(chain, &vault.chain_id.to_string(), vault.chain_slug);
            }
        }
        // Display names are searched like the ids, but the filters take ids only.
        index.add_words(rows().map(|vault| Some(vault.protocol_name)), true);
        index.add_words(rows().map(|vault| vault.curator_name), true);
        Columns {
            chain,
            protocol: index.add_words(rows().map(|vault| Some(vault.protocol_id)), true),
            curator: index.add_words(rows().map(|vault| vault.curator_id), true),
            asset: index.add_words(rows().map(|vault| vault.asset_symbol), true),
            tier: index.add_words(rows().map(|vault| vault.risk_tier.map(|tier| tier.as_str())), false),
            deposits: index.add_words(rows().map(|vault| Some(vault.deposit_status.as_str())), false),
            stablecoin: index.add_flags(rows().map(|vault| vault.traits.stablecoin)),
            lsd: index.add_flags(rows().map(|vault| vault.traits.lsd)),
            single_exposure: index.add_flags(rows().map(|vault| vault.traits.single_exposure)),
            no_il: index.add_flags(rows().map(|vault| vault.traits.no_il)),
            audited: index.add_flags(rows().map(|vault| vault.is_audited)),
            high_confidence: index.add_flags(rows().map(|vault| is_high_confidence(vault.total_score, vault.apr_net))),
        }
    }
}

impl VaultSortField {
    /// The column of this field: sort columns are added in the order of [`VaultSortField::ALL`].
    const fn column(self) -> SortColumn {
        SortColumn(self as usize)
    }

    pub(super) const TVL: SortColumn = VaultSortField::TvlUsd.column();
    pub(super) const SCORE: SortColumn = VaultSortField::TotalScore.column();

    fn add_column(self, index: &mut Filling, vaults: &[VaultColumns<'_>]) {
        let rows = vaults.iter();
        match self {
            VaultSortField::TvlUsd => index.add_numbers(rows.map(|vault| Some(vault.tvl_usd)), true),
            VaultSortField::AvailableLiquidityUsd => {
                index.add_numbers(rows.map(|vault| vault.available_liquidity_usd), false)
            }
            VaultSortField::LiquidityDeficitUsd => {
                index.add_numbers(rows.map(|vault| vault.liquidity_deficit_usd), false)
            }
            VaultSortField::AprNet => index.add_numbers(rows.map(|vault| vault.apr_net), false),
            VaultSortField::BorrowAprNet => index.add_numbers(rows.map(|vault| vault.borrow_apr_net), false),
            VaultSortField::BorrowRewardApr => index.add_numbers(rows.map(|vault| vault.borrow_reward_apr), false),
            VaultSortField::Utilization => index.add_numbers(rows.map(|vault| vault.utilization), false),
            VaultSortField::RealYieldShare => index.add_numbers(rows.map(|vault| vault.real_yield_share), false),
            VaultSortField::Name => index.add_names(),
            VaultSortField::TotalScore => index
                .add_numbers(rows.map(|vault| vault.total_score.map(|score| f64::from(score.get()) / 1_000.0)), true),
            VaultSortField::LastSyncedAt => {
                index.add_integers(rows.map(|vault| vault.last_synced_at.map(|instant| instant.as_micros())))
            }
        };
    }
}
