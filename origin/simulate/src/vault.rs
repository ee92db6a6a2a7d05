//! A simulated vault at one instant, and its observations.

use super::moment::Moment;
use super::platforms::{CHAIN_ID, Platform};
use super::random::Random;
use super::source::SOURCE;
use super::tokens::Token;
use rds_facts::fact::Kind;
use rds_facts::{
    Exposure, ExposurePart, IncentivesStatus, Reward, SignerSet, Signing, SigningKeyword, Vault, VaultState,
};
use rds_shared::model::status::{BorrowStatus, DepositStatus, RewardSide, RewardType, WithdrawStatus};
use rds_shared::scoring::vault::{AssetMode, Exit, ExposuresStatus, Source};
use rds_store::At;
use std::collections::BTreeMap;

/// The state of a vault at an instant.
#[derive(Debug, Clone)]
pub struct SimVault {
    /// Number of the vault, which selects its random stream.
    pub number: u64,
    /// `{protocol_id}-{chain_id}-{address}`.
    pub id: String,
    pub address: String,
    pub name: String,
    pub platform: &'static Platform,
    pub token: &'static Token,
    pub curator: Option<&'static str>,
    pub mode: AssetMode,
    /// Age at the start of the run; `None` if unknown.
    pub age_days: Option<u32>,
    pub control: Control,
    /// `None` if the exposures could not be read.
    pub exposures: Option<Vec<ExposurePart>>,
    pub campaigns: Vec<Campaign>,
    pub market: Market,
    pub is_active: bool,
    pub is_shutdown: bool,
    pub single_exposure: bool,
    pub no_il: bool,
}

/// Who can change the vault, and how a depositor leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    pub immutable: bool,
    pub timelock_hours: Option<u64>,
    pub signers: Option<Signing>,
    pub exit: Exit,
    pub source: Source,
}

impl Control {
    /// An immutable contract.
    pub const IMMUTABLE: Control = Control {
        immutable: true,
        timelock_hours: None,
        signers: Some(Signing::Word(SigningKeyword::Immutable)),
        exit: Exit::Instant,
        source: Source::Verified,
    };
    /// A week's timelock and five of nine keys; 9.25 points.
    pub const STRONG: Control = Control::keys(168, 5, 9, Exit::Instant, Source::Verified);
    /// Three days and three of five keys; 8.20 points.
    pub const SOUND: Control = Control::keys(72, 3, 5, Exit::Instant, Source::Verified);
    /// A day and two of three keys, and an administrator who can block exits; 5.00 points.
    pub const FAIR: Control = Control::keys(24, 2, 3, Exit::Blockable, Source::Partial);
    /// Six hours and two of three keys; 4.10 points.
    pub const THIN: Control = Control::keys(6, 2, 3, Exit::Blockable, Source::Partial);
    /// One key without a timelock.
    pub const ONE_KEY: Control = Control {
        immutable: false,
        timelock_hours: Some(0),
        signers: Some(Signing::Word(SigningKeyword::Eoa)),
        exit: Exit::Blockable,
        source: Source::Verified,
    };
    /// Control was not read.
    pub const UNKNOWN: Control =
        Control { immutable: false, timelock_hours: None, signers: None, exit: Exit::Unknown, source: Source::Unknown };

    /// A timelock in hours and a multisig.
    pub const fn keys(hours: u64, threshold: u32, owners: u32, exit: Exit, source: Source) -> Control {
        let signers = Some(Signing::Keys(SignerSet { threshold, owners }));
        Control { immutable: false, timelock_hours: Some(hours), signers, exit, source }
    }
}

/// The readings of the vault's market.
#[derive(Debug, Clone, Copy)]
pub struct Market {
    pub tvl_usd: Option<f64>,
    pub base_apr: Option<f64>,
    pub utilization: Option<f64>,
    pub borrow_apr: Option<f64>,
    pub borrow: BorrowStatus,
    pub incentives: IncentivesStatus,
    pub deposits: DepositStatus,
    pub withdrawals: WithdrawStatus,
    pub capacity_usd: Option<f64>,
    /// Fraction of the value that is bad debt.
    pub bad_debt: Option<f64>,
    pub quarantined: bool,
    /// Growth of the share price per year, as a fraction.
    pub growth: f64,
}

/// A campaign that pays depositors or borrowers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Campaign {
    pub id: &'static str,
    pub side: RewardSide,
    pub reward_type: RewardType,
    pub token: &'static str,
    /// `None` if the token has no price.
    pub apr: Option<f64>,
    pub active: bool,
}

impl SimVault {
    /// The vault's identity and control.
    pub fn identity(&self, moment: Moment) -> Vault {
        let Control { immutable, timelock_hours, signers, exit, source } = self.control;
        Vault {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            id: String::new(),
            protocol_id: self.platform.id.to_owned(),
            chain_id: CHAIN_ID,
            address: self.address.clone(),
            name: self.name.clone(),
            symbol: Some(format!("{}{}", self.platform.prefix, self.token.symbol)),
            asset_symbol: Some(self.token.symbol.to_owned()),
            asset_address: Some(self.token.address()),
            asset_decimals: Some(self.token.decimals),
            curator_id: self.curator.map(str::to_owned),
            strategy: None,
            asset_mode: self.mode,
            deployed_at: self.age_days.map(|days| moment.days_before_start(days)),
            first_seen_at: None,
            is_immutable: (immutable || timelock_hours.is_some()).then_some(immutable),
            timelock_seconds: timelock_hours.map(|hours| hours * 3_600),
            signers,
            exit,
            source_code: source,
            is_active: self.is_active,
            is_shutdown: self.is_shutdown,
            is_stablecoin: self.token.is_stablecoin(),
            is_lsd: self.token.is_staked(),
            single_exposure: self.single_exposure,
            no_il: self.no_il,
            management_fee: Some(0.0),
            performance_fee: Some(0.1),
            tags: Vec::new(),
            flags: Vec::new(),
            evidence: BTreeMap::new(),
        }
    }

    /// The vault's holdings or collateral.
    pub fn exposure(&self, moment: Moment) -> Exposure {
        Exposure {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            vault_id: self.id.clone(),
            status: if self.exposures.is_some() { ExposuresStatus::Observed } else { ExposuresStatus::Unavailable },
            basis: None,
            evidence: None,
            parts: self.exposures.clone().unwrap_or_default(),
        }
    }

    /// The observation of a campaign.
    pub fn reward(&self, campaign: &Campaign, moment: Moment) -> Reward {
        let token = Token::named(campaign.token);
        let is_points = campaign.reward_type == RewardType::Points;
        Reward {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            vault_id: self.id.clone(),
            campaign_id: campaign.id.to_owned(),
            side: campaign.side,
            reward_type: campaign.reward_type,
            token_symbol: Some(token.symbol.to_owned()),
            token_address: (!is_points).then(|| token.address()),
            apr: campaign.apr,
            source_url: Some(format!("https://{}.example/campaigns/{}", self.platform.id, campaign.id)),
            active: campaign.active,
        }
    }

    /// The reading `hours` after the start of the run; negative values are before the start.
    ///
    /// TVL and rates vary slightly around the vault's scripted values.
    pub fn reading(&self, observed_at: At, hours: i64, seed: u64) -> VaultState {
        let market = &self.market;
        let drift = |of: &str, width: f64| 1.0 + width * drift(seed, of, self.number, hours);
        let tvl = market.tvl_usd.map(|tvl| rounded(tvl * drift("tvl", 0.015), 100.0));
        // A utilization above 90 % does not vary, because scenarios depend on its exact value.
        let calm = market.utilization.filter(|share| *share <= 0.9).map(|share| share * drift("utilization", 0.02));
        let utilization = calm.or(market.utilization).map(rate);
        let years = self.age_days.map(|days| (f64::from(days) + hours as f64 / 24.0) / 365.0);
        let loss = market.bad_debt.unwrap_or(0.0);
        VaultState {
            kind: Kind,
            observed_at,
            source: SOURCE.to_owned(),
            vault_id: self.id.clone(),
            tvl_usd: tvl,
            tvl_native: tvl.map(|tvl| rounded(tvl / self.token.usd, 1e6)),
            base_apr: market.base_apr.map(|apr| rate(apr * drift("apr", 0.04))),
            utilization,
            borrow_apr: market.borrow_apr.map(|apr| rate(apr * drift("borrow", 0.04))),
            active_loans_usd: tvl.zip(utilization).map(|(tvl, utilization)| rounded(tvl * utilization, 100.0)),
            borrow_status: market.borrow,
            incentives: market.incentives,
            deposit_status: market.deposits,
            withdraw_status: market.withdrawals,
            deposit_capacity_usd: market.capacity_usd,
            price_per_share: years.map(|years| rounded((1.0 + market.growth * years) * (1.0 - loss), 1e9)),
            bad_debt_usd: tvl.zip(market.bad_debt).map(|(tvl, share)| rounded(tvl * share, 100.0)),
            needs_risk_review: market.quarantined,
        }
    }
}

/// A slow variation between -1 and 1: linear interpolation between random values every twelve hours.
fn drift(seed: u64, of: &str, number: u64, hour: i64) -> f64 {
    const HOURS: i64 = 12;
    let stretch = hour.div_euclid(HOURS);
    let height = |knot: i64| Random::of(seed ^ number.rotate_left(20), of, knot.cast_unsigned()).between(-1.0, 1.0);
    let share = hour.rem_euclid(HOURS) as f64 / HOURS as f64;
    height(stretch) * (1.0 - share) + height(stretch + 1) * share
}

fn rounded(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

/// A rate, to the millionth.
fn rate(value: f64) -> f64 {
    rounded(value, 1e6)
}
