//! The vault index against a naive implementation of filter, sort and pagination: both must return the same rows.

use proptest::prelude::*;
use rds_shared::model::ids::{Address, ChainId, VaultId};
use rds_shared::model::status::*;
use rds_shared::model::vault::VaultRow;
use rds_shared::rules::high_confidence::is_high_confidence;
use rds_shared::rules::real_yield::real_yield_share;
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::MilliPoints;
use rds_shared::select::Indexed;
use rds_shared::select::vault_filters::{VaultFilter, VaultSort, VaultSortField};
use rds_shared::select::vaults::{VaultColumns, VaultIndex, VaultTraits};
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::record::Reader;
use rds_shared::wire::time::Timestamp;
use std::cmp::Ordering;

const CHAINS: [(u64, &str); 3] = [(1, "ethereum"), (8_453, "base"), (31_337, "devnet")];
const PROTOCOLS: [(&str, &str); 4] =
    [("aave", "Aave"), ("morpho", "Morpho"), ("yearn", "Yearn V3"), ("yearn", "Yearn TV")];
const CURATORS: [&str; 3] = ["Steakhouse", "Gauntlet", "ΔΕΛΤΑ Σ"];
const ASSETS: [&str; 4] = ["USDC", "usdc", "WETH", "cbBTC"];
const TIERS: &[&str] = &["prime", "core", "edge"];
const SEARCHES: &[&str] = &["", "usd", "PRIME", "σ", "Σ v", "v3", "curator-1", "sa", "δελτα", "zzz"];
const NAMES: [&str; 6] = ["Prime USDC", "prime usdc", "Σ Vault", "σ vault", "Core", "édge"];

/// A vault: its row, and the other properties that the filters test.
#[derive(Debug, Clone)]
struct Vault {
    row: VaultRow,
    slug: &'static str,
    symbol: Option<String>,
    traits: VaultTraits,
}

impl Vault {
    fn columns(&self) -> VaultColumns<'_> {
        VaultColumns::of(&self.row, self.slug, self.symbol.as_deref(), self.traits)
    }
}

fn row(number: usize, chain: usize, protocol: usize, name: usize) -> VaultRow {
    let address = Address::parse_any(&format!("0x{number:040x}")).unwrap().1;
    let (protocol_id, protocol_name) = PROTOCOLS[protocol];
    VaultRow {
        id: VaultId::new(protocol_id, ChainId(CHAINS[chain].0), &address),
        name: NAMES[name].into(),
        address,
        protocol_id: protocol_id.into(),
        protocol_name: protocol_name.into(),
        chain_id: ChainId(CHAINS[chain].0),
        chain_name: CHAINS[chain].1.to_uppercase(),
        asset_symbol: None,
        tvl_usd: 0.0,
        apr_net: None,
        base_apr: None,
        utilization: None,
        borrow_apr: None,
        borrow_reward_apr: None,
        borrow_apr_net: None,
        borrow_incentive_status: BorrowIncentiveStatus::None,
        has_borrow_rewards: false,
        borrow_status: BorrowStatus::Unknown,
        gross_interest_apy: None,
        active_loans_usd: None,
        available_liquidity_usd: None,
        liquidity_deficit_usd: None,
        liquidity_status: LiquidityStatus::Unknown,
        total_score: None,
        risk_tier: None,
        strategy_type: None,
        curator_name: None,
        is_audited: false,
        deposit_status: DepositStatus::Unknown,
        withdraw_status: WithdrawStatus::Unknown,
        is_depositable: None,
        deposit_capacity_usd: None,
        freshness_seconds: None,
        last_synced_at: None,
        score_status: ScoreStatus::Unscored,
        score_updated_at: None,
        tvl_status: TvlStatus::Observed,
        real_yield_share: None,
        curator_id: None,
        evidence: rds_shared::model::evidence::ScoreEvidence::NONE,
    }
}

/// Few distinct values, so that ties are frequent.
fn rate() -> impl Strategy<Value = Option<f64>> {
    proptest::option::weighted(0.7, prop::sample::select(vec![-0.5, 0.0, 0.03, 0.05, 0.1, 0.5]))
}

prop_compose! {
    fn vault()(
        (chain, protocol, name) in (0..CHAINS.len(), 0..PROTOCOLS.len(), 0..NAMES.len()),
        asset in proptest::option::of(0..ASSETS.len()), curator in proptest::option::of(0..CURATORS.len()),
        tvl in proptest::option::weighted(0.9, prop::sample::select(vec![0.0, 1e5, 1e6, 2.5e6])), score in proptest::option::weighted(0.7, 0i64..=100),
        (apr_net, base_apr, borrow_net, reward, utilization) in (rate(), rate(), rate(), rate(), rate()),
        (available, deficit) in (rate(), rate()), deposit in prop::sample::select(DepositStatus::ALL),
        synced in proptest::option::of(0i64..4),
        (stablecoin, lsd, single_exposure, no_il) in any::<(bool, bool, bool, bool)>(),
        is_audited in any::<bool>(),
        symbol in proptest::option::of("[sv]{1,2}[A-C]"),
    ) -> Vault {
        let mut row = row(0, chain, protocol, name);
        row.asset_symbol = asset.map(|asset| ASSETS[asset].into());
        row.curator_name = curator.map(|curator| CURATORS[curator].into());
        row.curator_id = curator.map(|curator| format!("curator-{curator}"));
        row.tvl_status = if tvl.is_some() { TvlStatus::Observed } else { TvlStatus::Unavailable };
        row.tvl_usd = tvl.unwrap_or(0.0);
        row.total_score = score.map(|tenths| MilliPoints::saturating(tenths * 100));
        row.risk_tier = row.total_score.map(tier_of);
        (row.apr_net, row.base_apr, row.borrow_apr_net) = (apr_net, base_apr, borrow_net);
        (row.borrow_reward_apr, row.utilization) = (reward, utilization);
        (row.available_liquidity_usd, row.liquidity_deficit_usd) = (available, deficit);
        row.deposit_status = deposit;
        row.last_synced_at = synced.map(Timestamp::from_seconds);
        row.is_audited = is_audited;
        row.real_yield_share = real_yield_share(base_apr, apr_net);
        let traits = VaultTraits { stablecoin, lsd, single_exposure, no_il };
        Vault { row, slug: CHAINS[chain].1, symbol, traits }
    }
}

/// Up to `max` vaults in id order, with distinct addresses.
fn vaults(max: usize) -> impl Strategy<Value = Vec<Vault>> {
    proptest::collection::vec(vault(), 0..max).prop_map(|mut vaults| {
        for (number, vault) in vaults.iter_mut().enumerate() {
            let address = Address::parse_any(&format!("0x{:040x}", number * 7_919 % 65_536)).unwrap().1;
            vault.row.id = VaultId::new(&vault.row.protocol_id, vault.row.chain_id, &address);
            vault.row.address = address;
        }
        vaults.sort_by(|a, b| a.row.id.cmp(&b.row.id));
        vaults
    })
}

/// The filters of one request with owned texts, which [`VaultFilter`] borrows.
#[derive(Debug, Clone)]
struct Filters {
    chains: Vec<String>,
    protocols: Vec<String>,
    curators: Vec<String>,
    assets: Vec<String>,
    tiers: Vec<&'static str>,
    scores: (Option<f64>, Option<f64>),
    search: Option<String>,
    min_tvl: Option<f64>,
    flags: [Option<bool>; 7],
}

impl Filters {
    fn filter(&self) -> VaultFilter<'_> {
        let [stablecoin, lsd, single_exposure, no_il, audited, high_confidence, depositable] = self.flags;
        VaultFilter {
            chains: &self.chains,
            protocols: &self.protocols,
            curators: &self.curators,
            assets: &self.assets,
            tiers: &self.tiers,
            min_score: self.scores.0,
            max_score: self.scores.1,
            search: self.search.as_deref(),
            min_tvl: self.min_tvl,
            stablecoin,
            lsd,
            single_exposure,
            no_il,
            audited,
            high_confidence,
            depositable,
        }
    }

    /// Whether a vault passes the filters, by a direct reading of the API documentation.
    fn passes(&self, vault: &Vault) -> bool {
        let row = &vault.row;
        let among = |words: &[String], candidates: &[&str]| {
            words.is_empty()
                || candidates.iter().any(|word| words.iter().any(|wanted| wanted.to_lowercase() == word.to_lowercase()))
        };
        let is = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        let score = row.total_score.map(|score| f64::from(score.get()) / 1_000.0);
        let tier = row.risk_tier.map(|tier| tier.as_str().to_lowercase());
        let corpus = [
            Some(&row.name),
            vault.symbol.as_ref(),
            row.asset_symbol.as_ref(),
            Some(&row.protocol_id),
            Some(&row.protocol_name),
            row.curator_id.as_ref(),
            row.curator_name.as_ref(),
        ];
        let folded = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
        among(&self.chains, &[vault.slug, &row.chain_id.to_string()])
            && among(&self.protocols, &[&row.protocol_id])
            && (self.curators.is_empty() || row.curator_id.as_ref().is_some_and(|id| among(&self.curators, &[id])))
            && (self.assets.is_empty() || row.asset_symbol.as_ref().is_some_and(|asset| among(&self.assets, &[asset])))
            && (self.tiers.is_empty() || tier.is_some_and(|tier| self.tiers.contains(&tier.as_str())))
            && self.scores.0.is_none_or(|min| score.is_some_and(|score| score >= min))
            && self.scores.1.is_none_or(|max| score.is_some_and(|score| score <= max))
            && self.min_tvl.is_none_or(|min| row.tvl_usd >= min)
            && self
                .search
                .as_ref()
                .is_none_or(|needle| corpus.iter().flatten().any(|text| folded(text).contains(&folded(needle))))
            && is(self.flags[0], vault.traits.stablecoin)
            && is(self.flags[1], vault.traits.lsd)
            && is(self.flags[2], vault.traits.single_exposure)
            && is(self.flags[3], vault.traits.no_il)
            && is(self.flags[4], row.is_audited)
            && is(self.flags[5], is_high_confidence(row.total_score, row.apr_net))
            && is(self.flags[6], row.deposit_status != DepositStatus::Closed)
    }
}

/// The words of one filter; usually none, so that most lists keep some rows.
fn names(known: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let some = proptest::collection::vec(prop::sample::select(known).prop_map(String::from), 1..4);
    proptest::option::weighted(0.25, some).prop_map(Option::unwrap_or_default)
}

prop_compose! {
    fn filters()(
        chains in names(&["base", "1", "DEVNET", "nowhere", "99"]), protocols in names(&["aave", "YEARN", "none"]),
        curators in names(&["curator-0", "curator-2"]), assets in names(&["usdc", "CBBTC"]),
        tiers in proptest::option::weighted(0.25, proptest::collection::vec(prop::sample::select(TIERS), 1..3)),
        scores in proptest::option::weighted(0.4, (proptest::option::of(0u8..100), proptest::option::of(0u8..100))),
        search in proptest::option::weighted(0.3, prop::sample::select(SEARCHES)),
        min_tvl in proptest::option::weighted(0.3, prop::sample::select(vec![0.0, 1e5, 1e6, 1e9])),
        flags in proptest::array::uniform7(proptest::option::weighted(0.08, any::<bool>())),
    ) -> Filters {
        let tenths = |bound: Option<u8>| bound.map(|tenths| f64::from(tenths) / 10.0);
        let (min, max) = scores.unwrap_or_default();
        let (tiers, search) = (tiers.unwrap_or_default(), search.map(String::from));
        Filters { chains, protocols, curators, assets, tiers, scores: (tenths(min), tenths(max)), search, min_tvl, flags }
    }
}

/// Compares two rows by the field, ascending; `None` if a value is missing.
fn compare(field: VaultSortField, a: &VaultRow, b: &VaultRow) -> Option<Ordering> {
    let folded = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
    let number = |of: fn(&VaultRow) -> Option<f64>| Some(of(a)?.partial_cmp(&of(b)?).unwrap());
    match field {
        VaultSortField::TvlUsd => number(|row| Some(row.tvl_usd)),
        VaultSortField::AvailableLiquidityUsd => number(|row| row.available_liquidity_usd),
        VaultSortField::LiquidityDeficitUsd => number(|row| row.liquidity_deficit_usd),
        VaultSortField::AprNet => number(|row| row.apr_net),
        VaultSortField::BorrowAprNet => number(|row| row.borrow_apr_net),
        VaultSortField::BorrowRewardApr => number(|row| row.borrow_reward_apr),
        VaultSortField::Utilization => number(|row| row.utilization),
        VaultSortField::RealYieldShare => number(|row| row.real_yield_share),
        VaultSortField::Name => Some(folded(&a.name).cmp(&folded(&b.name))),
        VaultSortField::TotalScore => Some(a.total_score?.cmp(&b.total_score?)),
        VaultSortField::LastSyncedAt => Some(a.last_synced_at?.cmp(&b.last_synced_at?)),
    }
}

/// The expected rows, filtered and sorted naively.
fn expected_rows(vaults: &[Vault], filters: &Filters, sort: VaultSort) -> Vec<u32> {
    let mut rows: Vec<u32> = (0u32..).zip(vaults).filter(|(_, it)| filters.passes(it)).map(|(row, _)| row).collect();
    let missing = |row: u32| {
        let row = &vaults[row as usize].row;
        compare(sort.by, row, row).is_none()
    };
    rows.sort_by(|&a, &b| {
        let (first, second) = (&vaults[a as usize].row, &vaults[b as usize].row);
        let by_value =
            compare(sort.by, first, second).map(|order| if sort.descending { order.reverse() } else { order });
        missing(a).cmp(&missing(b)).then(by_value.unwrap_or(Ordering::Equal)).then(first.id.cmp(&second.id))
    });
    rows
}

/// The index of the vaults' columns, after they were written and read back.
fn index(vaults: &[Vault]) -> VaultIndex {
    let mut bytes = Vec::new();
    vaults.iter().for_each(|vault| vault.columns().write(&mut bytes));
    let mut reader = Reader::new(&bytes);
    let read: Vec<VaultColumns<'_>> = vaults.iter().map(|_| VaultColumns::read(&mut reader).unwrap()).collect();
    assert!(reader.is_at_end());
    assert_eq!(read, vaults.iter().map(Vault::columns).collect::<Vec<_>>());
    VaultIndex::build(&read)
}

fn sort() -> impl Strategy<Value = VaultSort> {
    (prop::sample::select(VaultSortField::ALL), any::<bool>()).prop_map(|(by, descending)| VaultSort { by, descending })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn every_page_agrees_with_the_naive_implementation(
        vaults in vaults(300), filters in filters(), sort in sort(), number in 1u64..12, size in 1u64..40,
    ) {
        let page = PageRequest::new(number, size);
        let found = index(&vaults).select(&filters.filter(), sort, page);
        let expected = expected_rows(&vaults, &filters, sort);
        prop_assert_eq!(found.total, expected.len());
        let cut: Vec<u32> = expected.into_iter().skip(page.offset() as usize).take(size as usize).collect();
        prop_assert_eq!(found.rows, cut);
    }

    #[test]
    fn the_pages_of_a_list_contain_every_row_exactly_once(vaults in vaults(120), sort in sort(), size in 1u64..30) {
        let index = index(&vaults);
        let page = |number| index.select(&VaultFilter::default(), sort, PageRequest::new(number, size)).rows;
        let mut rows: Vec<u32> = (1..=vaults.len() as u64 / size + 2).flat_map(page).collect();
        rows.sort_unstable();
        prop_assert_eq!(rows, (0..vaults.len() as u32).collect::<Vec<u32>>());
    }
}

#[test]
fn a_page_far_beyond_the_end_is_empty_but_has_the_total() {
    let vaults: Vec<Vault> = (0..3)
        .map(|number| Vault {
            row: row(number, 0, 0, 0),
            slug: "ethereum",
            symbol: None,
            traits: VaultTraits::default(),
        })
        .collect();
    for page in [PageRequest::new(4_000_000_000, 100), PageRequest::new(u64::MAX, u64::MAX)] {
        let found = index(&vaults).select(&VaultFilter::default(), VaultSort::default(), page);
        assert_eq!((found.rows, found.total), (vec![], 3));
    }
    let whole = index(&vaults).select(&VaultFilter::default(), VaultSort::default(), PageRequest::new(1, u64::MAX));
    assert_eq!(whole.rows, [0, 1, 2]);
}
