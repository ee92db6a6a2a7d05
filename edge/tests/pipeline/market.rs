//! A small market as rows of the replica, and the origin's documents about its states.

use rds_shared::access::AssertionKey;
use rds_shared::access::link::ReplicaAsk;
use rds_shared::access::link::put_part;
use rds_shared::model::chain::ChainRow;
use rds_shared::model::evidence::{EvidenceCounts, ScoreEvidence};
use rds_shared::model::facets::{AssetFacets, Counts};
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use rds_shared::model::loss::Coverage;
use rds_shared::model::protocol::ProtocolRow;
use rds_shared::model::stats::Stats;
use rds_shared::model::status::{
    BorrowIncentiveStatus, BorrowStatus, DepositStatus, LiquidityStatus, ScoreStatus, TvlStatus, WithdrawStatus,
};
use rds_shared::model::symbol::AssetSymbol;
use rds_shared::model::vault::VaultRow;
use rds_shared::model::vault_score::VaultScoreRow;
use rds_shared::read_model::vaults::EncodedVault;
use rds_shared::read_model::{registries, singles, symbols};
use rds_shared::replica::{
    Delta, FAMILIES, Family, Kind, Manifest, Row, Rows, Segment, SegmentName, Stamp, StateId, Step, Update, cut, seal,
};
use rds_shared::route::{Tag, TagVersions};
use rds_shared::select::vaults::{VaultColumns, VaultTraits};
use rds_shared::wire::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const ETHEREUM: ChainId = ChainId(1);
pub const OPTIMISM: ChainId = ChainId(10);
const CHAINS: [(ChainId, &str); 2] = [(ETHEREUM, "ethereum"), (OPTIMISM, "optimism")];
/// When every vault was synced last: 2026-11-20T23:59:30Z.
const SYNCED: Timestamp = Timestamp::from_seconds(1_795_219_170);
/// Vaults, half of them on each chain.
pub const VAULTS: u64 = 60;

fn vault(number: u64, tvl_usd: f64) -> EncodedVault {
    let (chain_id, slug) = CHAINS[usize::from(number % 2 == 1)];
    let address = Address::parse_any(&format!("0x{number:040x}")).unwrap().1;
    let row = VaultRow {
        id: VaultId::new("aave", chain_id, &address),
        name: format!("Vault {number}"),
        address: address.clone(),
        protocol_id: "aave".into(),
        protocol_name: "Aave".into(),
        chain_id,
        chain_name: slug.to_uppercase(),
        asset_symbol: Some("USDC".into()),
        tvl_usd,
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
        last_synced_at: Some(SYNCED),
        score_status: ScoreStatus::Unscored,
        score_updated_at: None,
        tvl_status: TvlStatus::Observed,
        real_yield_share: None,
        curator_id: None,
        evidence: ScoreEvidence::NONE,
    };
    let scores = VaultScoreRow {
        id: row.id.clone(),
        address,
        chain_id,
        chain_name: row.chain_name.clone(),
        protocol_id: row.protocol_id.clone(),
        asset_symbol: row.asset_symbol.clone(),
        tvl_usd,
        apr_net: None,
        total_score: None,
        risk_tier: None,
        is_active: true,
        last_synced_at: row.last_synced_at,
        score_run_id: None,
        score_computed_at: None,
        score_updated_at: None,
        freshness_seconds: None,
        needs_risk_review: false,
        is_high_confidence: false,
        tvl_status: TvlStatus::Observed,
        evidence: ScoreEvidence::NONE,
    };
    let columns = VaultColumns::of(&row, slug, None, VaultTraits::default());
    EncodedVault::encode(&columns, &row, &scores, None).unwrap()
}

/// The rows after `step` changes, without those of the withheld chains. The first vault's value is a million, and one more with each change.
pub fn rows(step: i64, withheld: &[ChainId]) -> Rows {
    let mut rows = Rows::default();
    let tvl = |number: u64| if number == 0 { 1_000_000.0 + step as f64 } else { number as f64 };
    let shown = |number: &u64| !withheld.contains(&CHAINS[usize::from(number % 2 == 1)].0);
    let numbers: Vec<u64> = (0..VAULTS).filter(shown).collect();
    let total: f64 = numbers.iter().map(|number| tvl(*number)).sum();
    set(&mut rows, Family::Vaults, numbers.iter().map(|number| vault(*number, tvl(*number)).row().clone()).collect());
    let chains = CHAINS.into_iter().filter(|(id, _)| !withheld.contains(id));
    set(&mut rows, Family::Chains, chains.map(|(id, slug)| chain(id, slug)).collect());
    let protocol = ProtocolRow {
        id: "aave".into(),
        name: "Aave".into(),
        logo_url: None,
        vault_count: numbers.len() as u64,
        tvl: total,
    };
    set(&mut rows, Family::Protocols, vec![registries::protocol_row(&protocol).unwrap()]);
    let symbol = AssetSymbol { asset_symbol: "USDC".into(), vault_count: numbers.len() as u64 };
    set(&mut rows, Family::Symbols, vec![symbols::row(&symbol).unwrap()]);
    let stats = stats(numbers.len() as u64, total);
    let [assets, rwa] = singles::facets_rows(&facets(), &facets()).unwrap();
    let coverage = singles::coverage_row(&Coverage::default()).unwrap();
    set(&mut rows, Family::Singles, vec![assets, rwa, coverage, singles::stats_row(&stats).unwrap()]);
    rows
}

pub fn set(rows: &mut Rows, family: Family, mut all: Vec<Row>) {
    all.sort_by(|a, b| a.key().cmp(b.key()));
    rows.set(family, Arc::new(all)).unwrap();
}

fn chain(id: ChainId, slug: &str) -> Row {
    let listed = ChainRow {
        chain_id: id,
        slug: slug.into(),
        name: slug.to_uppercase(),
        namespace: Namespace::Evm,
        native_symbol: None,
        explorer_url: None,
        vault_count: VAULTS / 2,
        scored_vault_count: 0,
        protocol_count: 1,
        tvl_usd: 1.0,
        last_synced_at: Some(SYNCED),
    };
    registries::chain_row((id, slug, Namespace::Evm), Some(&listed)).unwrap()
}

fn facets() -> AssetFacets {
    let texts = |field| Counts::of_texts(field, std::iter::empty());
    AssetFacets {
        chains: Counts::of("chain_id", std::iter::empty()),
        categories: texts("category"),
        review_statuses: texts("review_status"),
        risk_tiers: texts("risk_tier"),
        regulatory_wrappers: texts("regulatory_wrapper"),
        kyc_gates: texts("kyc_gate"),
        jurisdictions: texts("jurisdiction"),
        custodians: texts("custodian"),
        auditors: texts("auditor"),
    }
}

fn stats(vault_count: u64, tvl_usd: f64) -> Stats {
    Stats {
        vault_count,
        scored_vault_count: 0,
        priced_vault_count: vault_count,
        tvl_usd,
        scored_tvl_usd: 0.0,
        weighted_risk_score: None,
        avg_apr: None,
        chain_count: 2,
        protocol_count: 1,
        curator_count: 0,
        asset_count: 1,
        market_count: 0,
        oracle_feed_count: 0,
        last_synced_at: Some(SYNCED),
        by_tier: Vec::new(),
        by_chain: Vec::new(),
        by_protocol: Vec::new(),
        by_curator: Vec::new(),
        by_category: Vec::new(),
        by_score_basis: Vec::new(),
        evidence: EvidenceCounts::default(),
        by_strategy: Vec::new(),
    }
}

/// Number of states that the origin remembers.
const MAX_STATES: usize = 64;

/// The origin's states and its documents about them.
pub struct Documents {
    pub key: AssertionKey,
    /// Adds rows of other families to the states that are published, given their version.
    pub more: fn(&mut Rows, i64),
    /// The tags that a change raises.
    pub changed: &'static [Tag],
    /// The latest states by version.
    states: BTreeMap<i64, (Stamp, Rows)>,
    segments: BTreeMap<SegmentName, Vec<u8>>,
}

impl Documents {
    /// The documents of an origin whose first state has the version 1.
    pub fn new(key: &str, now: Timestamp) -> Self {
        let key = AssertionKey::parse(key).unwrap();
        let (states, segments) = (BTreeMap::new(), BTreeMap::new());
        let mut documents = Documents { key, more: |_, _| (), changed: &[Tag::Vaults], states, segments };
        documents.publish(&[], now);
        documents
    }

    /// The version of the current state.
    pub fn version(&self) -> i64 {
        self.states.last_key_value().map_or(0, |(version, _)| *version)
    }

    /// The current rows.
    pub fn rows(&self) -> &Rows {
        &self.states.last_key_value().unwrap().1.1
    }

    /// Commits a change; returns its version.
    pub fn publish(&mut self, withheld: &[ChainId], now: Timestamp) -> i64 {
        let version = self.version() + 1;
        let mut rows = rows(version, withheld);
        (self.more)(&mut rows, version);
        let tags = [Tag::Vaults, Tag::Markets, Tag::Feeds, Tag::Assets, Tag::Security];
        let version_of = |tag: Tag| if self.changed.contains(&tag) { version } else { 1 };
        let tags: TagVersions = tags.into_iter().map(|tag| (tag, version_of(tag))).collect();
        let state = StateId::of(&rows);
        let stamp = Stamp { state, version, tags, withheld: withheld.to_vec(), made_at: now };
        self.states.insert(version, (stamp, rows));
        if self.states.len() > MAX_STATES {
            self.states.pop_first();
        }
        version
    }

    /// The name of the state with this version.
    pub fn state(&self, version: i64) -> StateId {
        self.states[&version].0.state
    }

    /// The sealed stamp of the state with this version.
    pub fn stamp(&self, version: i64) -> Vec<u8> {
        seal(Kind::Stamp, &self.states[&version].0.encode(), &self.key)
    }

    /// The sealed delta from the state before to the state with this version.
    pub fn delta(&self, version: i64) -> Vec<u8> {
        let ((from, old), (to, new)) = (&self.states[&(version - 1)], &self.states[&version]);
        seal(Kind::Delta, &Delta::between((old, from.state), (new, to.state)).encode(), &self.key)
    }

    /// The sealed manifest of the state with this version. Its segments are had from now on.
    pub fn manifest(&mut self, version: i64) -> Vec<u8> {
        let (stamp, rows) = &self.states[&version];
        let segments = &mut self.segments;
        let families: [Vec<SegmentName>; FAMILIES] = Family::ALL.map(|family| {
            let names = cut(rows.of(family)).map(|part| {
                let Segment { name, bytes } = Segment::encode(part);
                segments.insert(name, bytes.to_vec());
                name
            });
            names.collect()
        });
        seal(Kind::Manifest, &Manifest::new(stamp.state, rows, families).encode(), &self.key)
    }

    /// What the origin answers.
    pub fn update(&mut self, ask: &ReplicaAsk) -> Update {
        let now = self.version();
        let known =
            self.states.iter().rfind(|(_, (stamp, _))| Some(stamp.state) == ask.have).map(|(version, _)| *version);
        let step = match known.filter(|_| !ask.whole) {
            Some(version) if version == now => Step::Current,
            Some(version) => Step::Deltas((version + 1..=now).map(|version| self.delta(version)).collect()),
            None => Step::Whole { manifest: self.manifest(now), deltas: Vec::new() },
        };
        Update { stamp: self.stamp(now), step }
    }

    /// Every segment named so far.
    pub fn segments(&self) -> &BTreeMap<SegmentName, Vec<u8>> {
        &self.segments
    }

    /// The segments with these names.
    pub fn segments_of(&self, names: &[SegmentName]) -> Vec<u8> {
        let mut out = Vec::new();
        names.iter().for_each(|name| put_part(self.segments.get(name).map_or([].as_slice(), Vec::as_slice), &mut out));
        out
    }
}
