//! The simulated assets and their reviews. None of them exists.

use super::funds::{self, Fund};
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::reviewers;
use super::source::SOURCE;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Asset, AssetReview, BackingProfile, FlagEvent, Points};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::AssetCategory::{self, *};
use rds_shared::scoring::asset::Dimension::{self, *};
use rds_shared::scoring::asset::{AttestationCadence, HardFailFlag, ReviewStatus, Transition};
use rds_shared::scoring::tables;
use std::collections::BTreeMap;

/// An asset of the simulation.
#[derive(Debug)]
pub struct Token {
    pub id: &'static str,
    pub symbol: &'static str,
    name: &'static str,
    category: AssetCategory,
    /// Score of every dimension of the category that is not in `except`, in milli-points.
    level: i64,
    except: &'static [(Dimension, i64)],
    underlying: Option<&'static str>,
    dependencies: &'static [&'static str],
    lockup_days: u32,
    cadence: Option<AttestationCadence>,
    review: ReviewStatus,
    /// Off-chain, exogenous, endogenous and hedged backing, in percent.
    backing: Option<[f64; 4]>,
    /// Age of the evidence at the start of the run, in days.
    evidence_days: u32,
    pub decimals: u32,
    pub usd: f64,
}

impl Token {
    /// A reviewed token with fresh evidence, 18 decimals and a price of 1 USD; `TOKENS` overrides these fields where a token differs.
    const fn new(
        id: &'static str,
        symbol: &'static str,
        name: &'static str,
        category: AssetCategory,
        level: i64,
    ) -> Token {
        Token {
            id,
            symbol,
            name,
            category,
            level,
            except: &[],
            underlying: None,
            dependencies: &[],
            lockup_days: 0,
            cadence: None,
            review: ReviewStatus::Reviewed,
            backing: None,
            evidence_days: 0,
            decimals: 18,
            usd: 1.0,
        }
    }
}

/// The stablecoin that loses its peg.
const DEPEGGED: &str = "mrg";
/// Hours before the end of the run at which [`DEPEGGED`] loses its peg.
const DEPEG_HOURS: u32 = 20;
/// The token whose evidence is withdrawn and renewed.
const RECONSIDERED: &str = "wisp";
/// Hours before the end of the run at which the evidence of [`RECONSIDERED`] is withdrawn, and at which it is renewed.
const RECONSIDERED_HOURS: (u32, u32) = (26, 12);
/// Hours between two reviews.
const REVIEW_EVERY_HOURS: u32 = 24;

/// All assets; a token comes after those that it depends on.
pub static TOKENS: [Token; 17] = [
    Token { usd: 2_850.0, except: &[(Volatility, 6_500)], ..Token::new("deth", "dETH", "Devnet Ether", Native, 9_600) },
    Token {
        cadence: Some(AttestationCadence::Monthly),
        backing: Some([100.0, 0.0, 0.0, 0.0]),
        decimals: 6,
        ..Token::new("pny", "PNY", "Penny Dollar", FiatBackedStablecoin, 9_300)
    },
    Token {
        except: &[(DependencyDepth, 8_400)],
        backing: Some([0.0, 100.0, 0.0, 0.0]),
        ..Token::new("flrn", "FLRN", "Florin", CdpStablecoin, 9_000)
    },
    Token {
        except: &[(DependencyDepth, 5_500)],
        backing: Some([5.0, 10.0, 5.0, 80.0]),
        ..Token::new(DEPEGGED, "MRG", "Mirage Dollar", SyntheticStablecoin, 8_600)
    },
    Token { underlying: Some("deth"), usd: 3_120.0, ..Token::new("sdeth", "sdETH", "Staked Devnet Ether", Lst, 8_900) },
    Token {
        underlying: Some("sdeth"),
        dependencies: &["sdeth"],
        lockup_days: 7,
        usd: 3_020.0,
        except: &[(DependencyDepth, 5_200)],
        ..Token::new("rdeth", "rdETH", "Restaked Devnet Ether", Lrt, 7_900)
    },
    Token { decimals: 8, usd: 91_400.0, ..Token::new("dbtc", "dBTC", "Devnet Bitcoin", WrappedBtc, 8_700) },
    Token { usd: 4.2, except: &[(Volatility, 3_500)], ..Token::new("quill", "QUILL", "Quill", GovernanceToken, 6_400) },
    Token {
        cadence: Some(AttestationCadence::Quarterly),
        backing: Some([99.6, 0.2, 0.0, 0.0]),
        decimals: 6,
        ..Token::new("tpny", "tPNY", "Treasury Penny", TBillBackedStable, 9_100)
    },
    Token {
        cadence: Some(AttestationCadence::Daily),
        backing: Some([100.0, 0.0, 0.0, 0.0]),
        decimals: 6,
        usd: 104.3,
        ..Token::new("dtb", "DTB", "Devnet Treasury Bill", TokenizedTreasury, 9_200)
    },
    Token {
        cadence: Some(AttestationCadence::Quarterly),
        review: ReviewStatus::Provisional,
        lockup_days: 30,
        backing: Some([100.0, 0.0, 0.0, 0.0]),
        except: &[(SubadvisorConcentration, 2_600), (DefaultRate, 6_800)],
        decimals: 6,
        ..Token::new("kite", "KITE", "Paperkite Receivables", RwaCredit, 5_800)
    },
    Token {
        cadence: Some(AttestationCadence::Monthly),
        backing: Some([100.0, 0.0, 0.0, 0.0]),
        usd: 2_410.0,
        ..Token::new("dgld", "dGLD", "Devnet Gold", CommodityBacked, 8_400)
    },
    Token {
        underlying: Some("pny"),
        dependencies: &["pny"],
        decimals: 6,
        usd: 1.09,
        ..Token::new("spny", "sPNY", "Savings Penny", DefiDerivative, 9_100)
    },
    Token { evidence_days: 40, usd: 140.0, ..Token::new("bsol", "bSOL", "Bridged Solstice", WrappedCrypto, 7_600) },
    Token {
        review: ReviewStatus::Unreviewed,
        decimals: 6,
        usd: 61.0,
        ..Token::new("deqx", "DEQX", "Devnet Equity Index", TokenizedEquity, 7_200)
    },
    Token {
        backing: Some([0.0, 92.0, 8.0, 0.0]),
        ..Token::new(RECONSIDERED, "WISP", "Wisp Dollar", CdpStablecoin, 7_400)
    },
    Token::new("shrd", "SHRD", "Shard", Unreviewed, 0),
];

pub fn registry(moment: Moment) -> Vec<Observation> {
    TOKENS.iter().map(|token| Observation::Asset(Box::new(token.observed(moment)))).collect()
}

/// The reviews written at `moment`: all of them once a day, and those of tokens whose stage changed.
pub fn reviews(moment: Moment) -> Vec<AssetReview> {
    let daily = moment.hour.is_multiple_of(REVIEW_EVERY_HOURS);
    let reviewed = TOKENS.iter().filter(|token| token.category != Unreviewed);
    let due = reviewed.filter(|token| {
        let stage_before = moment.before().map(|before| token.stage(before));
        daily || stage_before != Some(token.stage(moment))
    });
    due.map(|token| token.reviewed(moment)).collect()
}

/// The scripted state of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Quiet,
    Depegged,
    Withdrawn,
}

impl Token {
    /// The token of this id; the first of [`TOKENS`] if there is no such token.
    pub fn named(id: &str) -> &'static Token {
        TOKENS.iter().find(|token| token.id == id).unwrap_or(&TOKENS[0])
    }

    /// Address of the token's contract; it does not depend on the seed.
    pub fn address(&self) -> String {
        funds::address(self.id)
    }

    /// Whether it is pegged to a currency.
    pub fn is_stablecoin(&self) -> bool {
        matches!(self.category, FiatBackedStablecoin | CdpStablecoin | SyntheticStablecoin | TBillBackedStable)
    }

    /// Whether it is a staking derivative.
    pub fn is_staked(&self) -> bool {
        matches!(self.category, Lst | Lrt)
    }

    fn stage(&self, moment: Moment) -> Stage {
        let (withdrawn, renewed) = RECONSIDERED_HOURS;
        match self.id {
            DEPEGGED if moment.in_the_last(DEPEG_HOURS) => Stage::Depegged,
            RECONSIDERED if moment.in_the_last(withdrawn) && !moment.in_the_last(renewed) => Stage::Withdrawn,
            _ => Stage::Quiet,
        }
    }

    fn observed(&self, moment: Moment) -> Asset {
        Asset {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            id: self.id.to_owned(),
            chain_id: CHAIN_ID,
            address: Some(self.address()),
            symbol: self.symbol.to_owned(),
            name: Some(self.name.to_owned()),
            category: self.category,
            tags: Vec::new(),
            underlying: self.underlying.map(str::to_owned),
            dependency_chain: self.dependencies.iter().map(|id| (*id).to_owned()).collect(),
            lockup_days: self.lockup_days,
            attestation_cadence: self.cadence,
            discovered_at: moment.at(),
            instrument_type: Fund::of(self.id).map(Fund::instrument),
            issuer: Fund::of(self.id).map(Fund::issuer),
            product_candidate: Fund::of(self.id).map(|fund| fund.product.to_owned()),
        }
    }

    fn reviewed(&self, moment: Moment) -> AssetReview {
        let stage = self.stage(moment);
        let depeg = FlagEvent {
            flag: HardFailFlag::DepegActive,
            transition: Transition::Triggered,
            at: moment.start_of_the_last(DEPEG_HOURS),
        };
        let renewed = if self.evidence_days == 0 { moment.at() } else { moment.days_before_start(self.evidence_days) };
        AssetReview {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            asset_id: self.id.to_owned(),
            review_status: self.review,
            dimensions: self.dimensions(stage),
            backing_profile: self.backing.map(|[offchain, exogenous, endogenous, hedged]| BackingProfile {
                offchain_pct: offchain,
                crypto_exogenous_pct: exogenous,
                crypto_endogenous_pct: endogenous,
                delta_hedge_pct: hedged,
            }),
            hard_fail_events: if stage == Stage::Depegged { vec![depeg] } else { Vec::new() },
            hard_fail_overrides: Vec::new(),
            last_refresh_at: Some(renewed),
            reviewed_by: Some(reviewers::ORGANISATION.to_owned()),
            reviewer: Some(reviewers::LEAD.to_owned()),
            institutional: Fund::of(self.id).map(|fund| fund.institutional(moment)),
            data_provenance: Fund::of(self.id).map(|fund| fund.provenance(moment)).unwrap_or_default(),
        }
    }

    /// The answers per dimension. Withdrawn evidence leaves more than 40 percent of the weight unanswered, so that the asset is unscored.
    fn dimensions(&self, stage: Stage) -> BTreeMap<String, Option<Points>> {
        let answer = |dimension: Dimension| {
            let special = self.except.iter().find(|(named, _)| *named == dimension);
            Points(MilliPoints::saturating(special.map_or(self.level, |(_, milli)| *milli)))
        };
        let withdrawn = |dimension| {
            stage == Stage::Withdrawn && matches!(dimension, ProtocolSecurity | PegStability | DependencyDepth)
        };
        let weighted = tables::weights(self.category).iter().map(|(dimension, _)| *dimension);
        let answered = |dimension| (!withdrawn(dimension)).then(|| answer(dimension));
        weighted.map(|dimension| (dimension.as_str().to_owned(), answered(dimension))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::wire::Timestamp;

    #[test]
    fn a_token_depends_only_on_tokens_before_it() {
        for (place, token) in TOKENS.iter().enumerate() {
            let below = token.underlying.iter().chain(token.dependencies);
            assert!(
                below.into_iter().all(|id| TOKENS[..place].iter().any(|earlier| earlier.id == *id)),
                "{}",
                token.id
            );
        }
    }

    #[test]
    fn reviews_are_daily_and_at_every_change_of_stage() {
        let end = Timestamp::from_seconds(1_800_000_000);
        let counts: Vec<_> = (0..72).map(|hour| reviews(Moment::of(end, hour, 72)).len()).collect();
        let daily = TOKENS.len() - 1;
        let expected = |hour: usize| match hour {
            0 | 24 | 48 => daily,
            46 | 52 | 60 => 1,
            _ => 0,
        };
        assert!(counts.iter().enumerate().all(|(hour, count)| *count == expected(hour)), "{counts:?}");
    }
}
