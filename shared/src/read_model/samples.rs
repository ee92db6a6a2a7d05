//! Rows of every family, for tests.

use super::vaults::EncodedVault;
use super::{assets, feeds, markets, registries, security, singles, symbols};
use crate::model::EncodedAsset;
use crate::model::asset::Renewal;
use crate::model::attestation::ReviewerRow;
use crate::model::chain::ChainRow;
use crate::model::curator::CuratorRow;
use crate::model::evidence::EvidenceCounts;
use crate::model::ids::{Address, ChainId, Namespace};
use crate::model::loss::{Coverage, Dossier, DossierCoverage, DossierEvidence, DossierProvenance, LossBasis, LossRow};
use crate::model::market::{Market, MarketShape, MarketSource, TotalsSource};
use crate::model::money::Cents;
use crate::model::oracle::{FeedKind, OracleFeed};
use crate::model::protocol::ProtocolRow;
use crate::model::security::{PublishedBy, SecurityEvent};
use crate::model::stats::Stats;
use crate::model::status::Severity;
use crate::model::symbol::AssetSymbol;
use crate::model::vault::RewardedVault;
use crate::model::vault_score::{ScoreFacts, VaultScoreRow};
use crate::replica::{Family, Row, Rows};
use crate::rules::tiers::tier_of;
use crate::scoring::MilliPoints;
use crate::scoring::asset::{AssetCategory, ReviewStatus};
use crate::select::assets::{AssetColumns, facets};
use crate::select::vaults::{VaultColumns, VaultTraits};
use crate::wire::Timestamp;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

const SYNCED: Timestamp = Timestamp::from_seconds(1_800_000_000);
const CHAINS: [(u64, &str); 2] = [(1, "ethereum"), (8_453, "base")];

/// Only the rows that are rows by themselves.
pub fn empty() -> Rows {
    let mut rows = Rows::default();
    set(&mut rows, Family::Singles, singles(0));
    rows
}

/// Some rows of every family, of which `vaults` are vaults.
pub fn rows(vaults: u32) -> Rows {
    let mut rows = Rows::default();
    set(&mut rows, Family::Vaults, (0..vaults).map(|number| vault(number, f64::from(number)).row().clone()).collect());
    set(&mut rows, Family::Markets, (0..3).map(market).collect());
    set(&mut rows, Family::Feeds, (0..4).map(feed).collect());
    set(&mut rows, Family::Assets, (0..3).map(asset).collect());
    set(&mut rows, Family::Rwa, (1..3).map(asset).collect());
    set(
        &mut rows,
        Family::Chains,
        vec![chain(CHAINS[0], Some(5.0)), chain(CHAINS[1], Some(9.0)), chain((7, "new"), None)],
    );
    set(&mut rows, Family::Protocols, vec![protocol("aave", 5.0), protocol("royco", 9.0), protocol("none", 0.0)]);
    set(&mut rows, Family::Curators, vec![curator("b"), curator("a")]);
    set(&mut rows, Family::Symbols, vec![symbol("USDC", 1), symbol("WETH", 300), symbol("DAI", 1)]);
    set(&mut rows, Family::Reviewers, vec![reviewer("r")]);
    set(&mut rows, Family::SecurityEvents, (1..4).map(|id| security::event_row(&event(id)).unwrap()).collect());
    set(&mut rows, Family::Losses, (1..4).map(|id| security::loss_row(&loss(id)).unwrap()).collect());
    set(&mut rows, Family::Singles, singles(vaults));
    rows
}

/// Replaces the rows of a family, in any order.
pub fn set(rows: &mut Rows, family: Family, mut of: Vec<Row>) {
    of.sort_by(|a, b| a.key().cmp(b.key()));
    rows.set(family, Arc::new(of)).unwrap();
}

/// A vault with this TVL; every third is one of the protocol whose rewards are listed.
pub fn vault(number: u32, tvl_usd: f64) -> EncodedVault {
    let (chain, slug) = CHAINS[number as usize % 2];
    let protocol = if number.is_multiple_of(3) { "royco" } else { "aave" };
    let mut row = crate::model::vault::tests::row(&format!("{protocol}-{chain}-0x{number:040x}"));
    row.name = format!("Steakhouse USDC {number}");
    row.protocol_id = protocol.into();
    row.protocol_name = protocol.to_uppercase();
    row.chain_id = ChainId(chain);
    row.tvl_usd = tvl_usd;
    row.utilization = Some(0.5);
    row.available_liquidity_usd = Some(tvl_usd / 2.0);
    row.liquidity_deficit_usd = Some(0.0);
    row.total_score = Some(MilliPoints::saturating(i64::from(number % 10_000)));
    row.risk_tier = row.total_score.map(tier_of);
    row.last_synced_at = (!number.is_multiple_of(4)).then_some(SYNCED);
    row.curator_id = Some("steakhouse".into());
    row.curator_name = Some("Steakhouse".into());
    let run = ScoreFacts { is_active: true, run_id: Some("run-1".into()), computed_at: None, needs_risk_review: false };
    let columns =
        VaultColumns::of(&row, slug, Some("steakUSDC"), VaultTraits { stablecoin: true, ..Default::default() });
    let rewarded = (protocol == "royco").then(|| RewardedVault { row: row.clone(), rewards: Vec::new() });
    EncodedVault::encode(&columns, &row, &VaultScoreRow::of(&row, run), rewarded.as_ref()).unwrap()
}

fn address(number: u32) -> Address {
    Address::parse_any(&format!("0x{number:040x}")).unwrap().1
}

fn market(number: u32) -> Row {
    let market = Market {
        id: format!("aave-v3-{number}"),
        protocol_id: "aave".into(),
        protocol_version: "v3".into(),
        protocol_name: "Aave".into(),
        chain_id: ChainId(1),
        chain_name: "Ethereum".into(),
        market_key: number.to_string(),
        name: format!("Market {number}"),
        address: address(number),
        hub_address: None,
        source: MarketSource::OnchainRpc,
        totals_source: TotalsSource::Members,
        reserve_count: number.into(),
        borrow_observed_count: 0,
        total_supplied_usd: number.into(),
        total_borrowed_usd: None,
        utilization: None,
        loan_asset_symbol: None,
        collateral_asset_symbol: None,
        lltv: None,
        is_protocol_listed: true,
        last_synced_at: SYNCED,
        shape: MarketShape::Pool,
        supplied_observed_count: 0,
    };
    markets::row(&market, "ethereum").unwrap()
}

fn feed(number: u32) -> Row {
    let (chain, slug) = CHAINS[number as usize % 2];
    let feed = OracleFeed {
        chain_id: ChainId(chain),
        chain_name: slug.to_uppercase(),
        address: address(number),
        kind: FeedKind::Price,
        asset: Some("ETH".into()),
        quote: None,
        description: None,
        vendor: (number > 1).then(|| "Chainlink".into()),
        heartbeat_seconds: Some(3_600),
        deviation_threshold: None,
        last_answer: Some("1".into()),
        last_update_at: Some(SYNCED),
        used_by: Vec::new(),
        reserve_symbols: Vec::new(),
        other_descriptions: Vec::new(),
        last_synced_at: SYNCED,
    };
    feeds::row(&feed, slug).unwrap()
}

fn asset(number: u32) -> Row {
    let row = crate::select::assets::tests::asset(number, AssetCategory::TokenizedTreasury, Some(6_000));
    assert_eq!(
        row.review_status,
        if number.is_multiple_of(2) { ReviewStatus::Provisional } else { ReviewStatus::Reviewed }
    );
    let renewal = Renewal { at: Some(SYNCED), before: None, cadence_seconds: 86_400 };
    let encoded = EncodedAsset::encode(&row, renewal, None).unwrap();
    assets::asset_row(number.into(), &AssetColumns::of(&row, "ethereum"), &encoded).unwrap()
}

fn chain((id, slug): (u64, &str), tvl_usd: Option<f64>) -> Row {
    let listed = tvl_usd.map(|tvl_usd| ChainRow {
        chain_id: ChainId(id),
        slug: slug.into(),
        name: slug.to_uppercase(),
        namespace: Namespace::Evm,
        native_symbol: None,
        explorer_url: None,
        vault_count: 1,
        scored_vault_count: 0,
        protocol_count: 1,
        tvl_usd,
        last_synced_at: None,
    });
    registries::chain_row((ChainId(id), slug, Namespace::Evm), listed.as_ref()).unwrap()
}

fn protocol(id: &str, tvl: f64) -> Row {
    let row = ProtocolRow { id: id.into(), name: id.to_uppercase(), logo_url: None, vault_count: 1, tvl };
    registries::protocol_row(&row).unwrap()
}

fn curator(id: &str) -> Row {
    let row = CuratorRow {
        id: id.into(),
        name: id.to_uppercase(),
        one_liner: None,
        logo_url: None,
        website: None,
        vault_count: 1,
        tvl_total: 3.5,
        avg_apr: None,
        created_at: SYNCED,
    };
    registries::curator_row(&row).unwrap()
}

fn symbol(asset_symbol: &str, vault_count: u64) -> Row {
    symbols::row(&AssetSymbol { asset_symbol: asset_symbol.into(), vault_count }).unwrap()
}

fn reviewer(id: &str) -> Row {
    let row = |is_active| ReviewerRow {
        reviewer_id: id.into(),
        name: "R".into(),
        organisation: None,
        website_url: None,
        is_active,
        keys: Vec::new(),
        attestation_count: 2,
        last_attested_at: None,
    };
    assets::reviewer_row(&row(true), &row(false), &[(SYNCED, None)]).unwrap()
}

fn event(id: u64) -> SecurityEvent {
    SecurityEvent {
        id,
        source: "list".into(),
        source_id: id.to_string(),
        chain_id: (id > 1).then_some(ChainId(1)),
        chain_slug: (id > 1).then(|| "ethereum".into()),
        title: format!("Attack {id}"),
        description: None,
        attackers: Vec::new(),
        victims: Vec::new(),
        net_score: 0,
        confirmations: 0,
        disconfirmations: 0,
        loss_amount_usd: Some(Cents(5)),
        severity: Severity::Critical,
        tx_hash: None,
        native_url: None,
        links: Vec::new(),
        affects_tracked_universe: true,
        attacked_at: SYNCED,
        promoted_event_id: None,
        published_by: PublishedBy::Auto,
    }
}

fn loss(id: u64) -> LossRow {
    LossRow {
        id: format!("case-{id}"),
        title: format!("Case {id}"),
        loss_amount_usd: Cents(100),
        attacked_at: SYNCED,
        severity: "high".into(),
        chain_id: ChainId(id - 1),
        chain_slug: if id == 1 { "unmapped".into() } else { "ethereum".into() },
        classification: None,
        technique: Some("reentrancy".into()),
        mechanism: None,
        chains: Vec::new(),
        returned_funds_usd: None,
        protocol: None,
        affects_tracked_universe: false,
        security_event_id: None,
        incident_dossier: Dossier {
            evidence: DossierEvidence::default(),
            provenance: DossierProvenance {
                source: "book".into(),
                source_id: "x".into(),
                retrieved_at: SYNCED,
                loss_text: None,
                loss_basis: LossBasis::Stated,
                note: None,
            },
            coverage: DossierCoverage {
                has_transactions: true,
                has_references: false,
                has_addresses: false,
                has_registry_row: false,
            },
        },
    }
}

fn singles(vaults: u32) -> Vec<Row> {
    let facets = facets(core::iter::empty());
    let coverage = if vaults > 0 { Coverage::of(&[loss(1), loss(2), loss(3)]) } else { Coverage::default() };
    let stats = singles::stats_row(&stats(vaults)).unwrap();
    let [all, rwa] = singles::facets_rows(&facets, &facets).unwrap();
    vec![all, rwa, singles::coverage_row(&coverage).unwrap(), stats]
}

fn stats(vaults: u32) -> Stats {
    Stats {
        vault_count: vaults.into(),
        scored_vault_count: 0,
        priced_vault_count: 0,
        tvl_usd: 0.0,
        scored_tvl_usd: 0.0,
        weighted_risk_score: None,
        avg_apr: None,
        chain_count: 0,
        protocol_count: 0,
        curator_count: 0,
        asset_count: 0,
        market_count: 0,
        oracle_feed_count: 0,
        last_synced_at: None,
        by_tier: Vec::new(),
        by_chain: Vec::new(),
        by_protocol: Vec::new(),
        by_curator: Vec::new(),
        by_category: Vec::new(),
        by_score_basis: Vec::new(),
        evidence: EvidenceCounts { asset_answers: 0, answered_assets: 0, protocol_answers: 0, answered_protocols: 0 },
        by_strategy: Vec::new(),
    }
}
