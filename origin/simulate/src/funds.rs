//! Documents of the simulated real-world assets: issuers, wrappers, products. None of them exists.

use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::random::Random;
use super::source::SOURCE;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Asset, AssetReview, Institutional, Issuer, Points, Provenance};
use rds_shared::model::asset::KycGate::{self, *};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::AssetCategory::{self, RwaCredit, TokenizedTreasury};
use rds_shared::scoring::asset::{AttestationCadence, Dimension, ReviewStatus};
use rds_shared::scoring::tables;
use std::collections::BTreeMap;

/// The documented properties of a real-world asset.
#[derive(Debug)]
pub struct Fund {
    /// Id of the asset.
    pub id: &'static str,
    /// Id of the product that its documents name.
    pub product: &'static str,
    issuer: &'static str,
    instrument: &'static str,
    wrapper: &'static str,
    jurisdiction: &'static str,
    gate: KycGate,
    custodian: Option<&'static str>,
    auditor: Option<&'static str>,
    window: &'static str,
    aum_usd: Option<f64>,
    yield_pct: Option<f64>,
    duration_days: Option<f64>,
    /// A currency other than the dollar, and its price in USD.
    foreign: Option<(&'static str, f64)>,
}

const fn fund(id: &'static str, product: &'static str, issuer: &'static str, gate: KycGate) -> Fund {
    Fund {
        id,
        product,
        issuer,
        instrument: "money_market_fund",
        wrapper: "reg_d_fund",
        jurisdiction: "Fernwater",
        gate,
        custodian: Some("Stonebridge Trust"),
        auditor: Some("Copperfield Audit"),
        window: "T+1",
        aum_usd: None,
        yield_pct: None,
        duration_days: None,
        foreign: None,
    }
}

/// An asset whose product claim no reviewer signs.
pub const ASSET_WITHOUT_SIGNED_REVIEW: &str = "deqx";
/// An asset whose reviewers name different products.
pub const ASSET_WITH_DISPUTED_REVIEW: &str = "loom";

pub static FUNDS: [Fund; 9] = [
    Fund {
        aum_usd: Some(252_400_000.0),
        yield_pct: Some(4.31),
        duration_days: Some(41.0),
        ..fund("dtb", "devnet-treasury-fund", "Harrowgate Asset Management", QualifiedPurchaser)
    },
    Fund {
        aum_usd: Some(58_100_000.0),
        ..fund("dtb-vale", "devnet-treasury-fund", "Harrowgate Asset Management", QualifiedPurchaser)
    },
    Fund {
        instrument: "stablecoin",
        wrapper: "bearer_token",
        window: "instant",
        yield_pct: Some(3.9),
        ..fund("tpny", "treasury-penny", "Penny Issuance", Permissionless)
    },
    Fund {
        instrument: "private_credit",
        wrapper: "luxembourg_sv",
        auditor: None,
        window: "quarterly",
        aum_usd: Some(31_000_000.0),
        yield_pct: Some(9.4),
        duration_days: Some(187.0),
        foreign: Some(("EUR", 1.08)),
        ..fund("kite", "paperkite-receivables", "Paperkite Finance", Accredited)
    },
    Fund {
        instrument: "commodity_trust",
        wrapper: "grantor_trust",
        window: "T+5",
        ..fund("dgld", "devnet-gold", "Goldwater Vaulting", KycRequired)
    },
    Fund {
        instrument: "index_certificate",
        wrapper: "certificate",
        custodian: None,
        auditor: None,
        ..fund(ASSET_WITHOUT_SIGNED_REVIEW, "devnet-equity-index", "Plumtree Certificates", InstitutionalOnly)
    },
    Fund {
        instrument: "private_credit",
        wrapper: "luxembourg_sv",
        custodian: None,
        auditor: None,
        ..fund("nimbus", "nimbus-invoices", "Nimbus Factoring", ProfessionalInvestor)
    },
    fund(ASSET_WITH_DISPUTED_REVIEW, "loom-income", "Loom Partners", Accredited),
    Fund { auditor: None, ..fund("ember", "ember-bills", "Ember Treasury", QualifiedPurchaser) },
];

impl Fund {
    /// The documents of this asset, if it is a real-world asset.
    pub fn of(asset_id: &str) -> Option<&'static Fund> {
        FUNDS.iter().find(|fund| fund.id == asset_id)
    }

    pub fn issuer(&self) -> Issuer {
        Issuer {
            id: None,
            name: self.issuer.to_owned(),
            jurisdiction: Some(self.jurisdiction.to_owned()),
            kind: Some("asset_manager".to_owned()),
            website_url: None,
        }
    }

    pub fn instrument(&self) -> String {
        self.instrument.to_owned()
    }

    /// Wrapper, custody, audit and figures.
    pub fn institutional(&self, moment: Moment) -> Institutional {
        let text = |text: &str| Some(text.to_owned());
        let foreign = self.foreign.zip(self.aum_usd);
        Institutional {
            regulatory_wrapper: text(self.wrapper),
            regulatory_jurisdiction: text(self.jurisdiction),
            kyc_gate: Some(self.gate),
            custodian_name: self.custodian.map(str::to_owned),
            auditor_name: self.auditor.map(str::to_owned),
            redemption_window: text(self.window),
            aum_usd: self.aum_usd,
            yield_pct: self.yield_pct,
            duration_days: self.duration_days,
            currency: text(self.foreign.map_or("USD", |(currency, _)| currency)),
            aum_native: foreign.map(|((_, rate), usd)| usd / rate),
            fx_rate_used: foreign.map(|((_, rate), _)| rate),
            fx_rate_at: foreign.map(|_| moment.at()),
            aum_usd_source: self.aum_usd.map(|_| "issuer_factsheet".to_owned()),
            yield_basis: self.yield_pct.map(|_| "sec_7_day".to_owned()),
        }
    }

    /// The document on which the asset's review is based.
    pub fn provenance(&self, moment: Moment) -> Vec<Provenance> {
        vec![Provenance {
            source_type: "issuer_disclosure".to_owned(),
            source_url: Some(format!("https://{}.example/factsheet", self.product)),
            retrieved_at: Some(moment.at()),
            document_hash: None,
            notes: None,
        }]
    }
}

/// A real-world asset that no vault holds, with the state of its review.
struct Sidelined {
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    category: AssetCategory,
    /// The reviewed dimensions.
    evidence: Evidence,
    status: ReviewStatus,
}

#[derive(Clone, Copy)]
enum Evidence {
    None,
    Only(&'static [(Dimension, i64)]),
    /// All dimensions of the category, at this level in milli-points.
    Level(i64),
}

const SIDELINED: [Sidelined; 5] = [
    Sidelined {
        id: "dtb-vale",
        symbol: "DTBv",
        name: "Devnet Treasury Bill, Vale class",
        category: TokenizedTreasury,
        evidence: Evidence::Level(8_800),
        status: ReviewStatus::Provisional,
    },
    Sidelined {
        id: "nimbus",
        symbol: "NMBS",
        name: "Nimbus Invoices",
        category: RwaCredit,
        evidence: Evidence::Only(&[(Dimension::IssuerCustody, 6_400), (Dimension::Liquidity, 2_700)]),
        status: ReviewStatus::Provisional,
    },
    Sidelined {
        id: ASSET_WITH_DISPUTED_REVIEW,
        symbol: "LOOM",
        name: "Loom Income",
        category: RwaCredit,
        evidence: Evidence::Level(6_100),
        status: ReviewStatus::Reviewed,
    },
    Sidelined {
        id: "ember",
        symbol: "EMBR",
        name: "Ember Bills",
        category: TokenizedTreasury,
        evidence: Evidence::Level(7_700),
        status: ReviewStatus::Reviewed,
    },
    Sidelined {
        id: "glimmer",
        symbol: "GLMR",
        name: "Glimmer Notes",
        category: TokenizedTreasury,
        evidence: Evidence::None,
        status: ReviewStatus::Unreviewed,
    },
];

/// The assets that no vault holds.
pub fn registry(moment: Moment) -> Vec<Observation> {
    SIDELINED.iter().map(|asset| Observation::Asset(Box::new(asset.observed(moment)))).collect()
}

/// The reviews of the assets that no vault holds, in the first hour of the run only.
pub fn reviews(moment: Moment) -> Vec<AssetReview> {
    let due = SIDELINED.iter().filter(|_| moment.before().is_none());
    due.filter_map(|asset| asset.reviewed(moment)).collect()
}

/// The contract of a simulated asset; it does not depend on the seed.
pub fn address(asset_id: &str) -> String {
    Random::of(0, asset_id, 0).address()
}

impl Sidelined {
    fn observed(&self, moment: Moment) -> Asset {
        let fund = Fund::of(self.id);
        Asset {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            id: self.id.to_owned(),
            discovered_at: moment.at(),
            chain_id: CHAIN_ID,
            address: Some(address(self.id)),
            symbol: self.symbol.to_owned(),
            name: Some(self.name.to_owned()),
            category: self.category,
            tags: Vec::new(),
            underlying: None,
            dependency_chain: Vec::new(),
            lockup_days: 0,
            attestation_cadence: fund.map(|_| AttestationCadence::Monthly),
            instrument_type: fund.map(Fund::instrument),
            issuer: fund.map(Fund::issuer),
            product_candidate: fund.map(|fund| fund.product.to_owned()),
        }
    }

    fn reviewed(&self, moment: Moment) -> Option<AssetReview> {
        let points = |milli: i64| Some(Points(MilliPoints::saturating(milli)));
        let named = |dimension: Dimension| dimension.as_str().to_owned();
        let dimensions: BTreeMap<_, _> = match self.evidence {
            Evidence::None => return None,
            Evidence::Only(known) => {
                known.iter().map(|(dimension, milli)| (named(*dimension), points(*milli))).collect()
            }
            Evidence::Level(milli) => {
                tables::weights(self.category).iter().map(|(dimension, _)| (named(*dimension), points(milli))).collect()
            }
        };
        let fund = Fund::of(self.id);
        Some(AssetReview {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            asset_id: self.id.to_owned(),
            review_status: self.status,
            dimensions,
            backing_profile: None,
            hard_fail_events: Vec::new(),
            hard_fail_overrides: Vec::new(),
            last_refresh_at: Some(moment.at()),
            reviewed_by: Some(super::reviewers::ORGANISATION.to_owned()),
            reviewer: Some(super::reviewers::LEAD.to_owned()),
            institutional: fund.map(|fund| fund.institutional(moment)),
            data_provenance: fund.map(|fund| fund.provenance(moment)).unwrap_or_default(),
        })
    }
}
