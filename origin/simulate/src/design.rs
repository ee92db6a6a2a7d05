//! Builders of simulated vaults: a healthy vault of a platform, and methods that change it.

use super::platforms::{CHAIN_ID, Platform};
use super::random::Random;
use super::tokens::Token;
use super::vault::{Campaign, Control, Market, SimVault};
use rds_facts::{ExposurePart, IncentivesStatus, Share};
use rds_shared::model::status::{BorrowStatus, DepositStatus, RewardSide, RewardType, WithdrawStatus};
use rds_shared::scoring::vault::{AssetMode, Oracle};

const PER_PERCENT: u32 = 10_000;

/// Collateral: asset, percentage, oracle, and liquidation loan-to-value in percent.
pub type Collateral<'a> = (&'a str, u32, Oracle, u32);

impl SimVault {
    /// A healthy vault that lends `token` out on `platform`.
    pub fn lending(seed: u64, number: u64, name: &str, platform: &str, token: &str) -> SimVault {
        let (platform, token) = (Platform::named(platform), Token::named(token));
        let address = Random::of(seed, "vault", number).address();
        SimVault {
            number,
            id: format!("{}-{CHAIN_ID}-{address}", platform.id),
            address,
            name: name.to_owned(),
            platform,
            token,
            curator: None,
            mode: AssetMode::Lending,
            age_days: Some(420),
            control: Control::STRONG,
            exposures: Some(Vec::new()),
            campaigns: Vec::new(),
            market: Market {
                tvl_usd: Some(18_000_000.0),
                base_apr: Some(0.041),
                utilization: Some(0.72),
                borrow_apr: Some(0.063),
                borrow: BorrowStatus::Open,
                incentives: IncentivesStatus::Checked,
                deposits: if platform.gates_are_read { DepositStatus::Open } else { DepositStatus::Unknown },
                withdrawals: WithdrawStatus::Open,
                capacity_usd: platform.gates_are_read.then_some(5_000_000.0),
                bad_debt: None,
                quarantined: false,
                growth: 0.041,
            },
            is_active: true,
            is_shutdown: false,
            single_exposure: false,
            no_il: true,
        }
    }

    /// A healthy vault that holds `token` and does not lend.
    pub fn holding(seed: u64, number: u64, name: &str, platform: &str, token: &str) -> SimVault {
        let mut vault = SimVault::lending(seed, number, name, platform, token);
        vault.mode = AssetMode::Holdings;
        vault.exposures = Some(vec![asset_part(token, 100, Oracle::None, None)]);
        vault.market.utilization = None;
        vault.market.borrow_apr = None;
        vault.market.borrow = BorrowStatus::NotApplicable;
        vault.market.incentives = IncentivesStatus::NotApplicable;
        vault
    }

    /// Sets the curator.
    pub fn by(mut self, curator: &'static str) -> SimVault {
        self.curator = Some(curator);
        self
    }

    /// Sets the age at the start of the run.
    pub fn aged(mut self, days: u32) -> SimVault {
        self.age_days = Some(days);
        self
    }

    /// Sets who controls the vault.
    pub fn controlled(mut self, control: Control) -> SimVault {
        self.control = control;
        self
    }

    /// Sets the TVL.
    pub fn worth(mut self, tvl_usd: f64) -> SimVault {
        self.market.tvl_usd = Some(tvl_usd);
        self
    }

    /// Sets the annual rate without rewards, at which the share price also grows.
    pub fn yielding(mut self, apr: f64) -> SimVault {
        self.market.base_apr = Some(apr);
        self.market.growth = apr;
        self
    }

    /// Sets the collateral.
    pub fn against(mut self, parts: &[Collateral<'_>]) -> SimVault {
        let part = |(id, percent, oracle, lltv): &Collateral<'_>| asset_part(id, *percent, *oracle, Some(*lltv));
        self.single_exposure = parts.len() == 1;
        self.exposures = Some(parts.iter().map(part).collect());
        self
    }

    /// Sets the holdings: asset and percent.
    pub fn made_of(mut self, parts: &[(&str, u32)]) -> SimVault {
        self.single_exposure = parts.len() == 1;
        self.exposures = Some(parts.iter().map(|(id, percent)| asset_part(id, *percent, Oracle::None, None)).collect());
        self
    }

    /// Sets the vaults held: id and percent.
    pub fn nesting(mut self, parts: &[(&str, u32)]) -> SimVault {
        let part = |(id, percent): &(&str, u32)| {
            ExposurePart::plain(None, Some((*id).to_owned()), Share(percent * PER_PERCENT))
        };
        self.exposures = Some(parts.iter().map(part).collect());
        self
    }

    /// Adds a campaign.
    pub fn paying(mut self, campaign: Campaign) -> SimVault {
        self.campaigns.push(campaign);
        self
    }

    /// Changes the market's readings with `what`.
    pub fn reads(mut self, what: impl FnOnce(&mut Market)) -> SimVault {
        what(&mut self.market);
        self
    }
}

fn asset_part(id: &str, percent: u32, oracle: Oracle, lltv_percent: Option<u32>) -> ExposurePart {
    ExposurePart {
        oracle,
        lltv: lltv_percent.map(|percent| f64::from(percent) / 100.0),
        ..ExposurePart::plain(Some(id.to_owned()), None, Share(percent * PER_PERCENT))
    }
}

impl Campaign {
    /// An active campaign.
    const fn new(
        id: &'static str,
        side: RewardSide,
        reward_type: RewardType,
        token: &'static str,
        apr: Option<f64>,
    ) -> Campaign {
        Campaign { id, side, reward_type, token, apr, active: true }
    }

    /// A campaign that pays tokens to depositors.
    pub const fn supply(id: &'static str, token: &'static str, apr: f64) -> Campaign {
        Campaign::new(id, RewardSide::Supply, RewardType::TokenIncentive, token, Some(apr))
    }

    /// A campaign that pays tokens to borrowers; `apr` is `None` if the token has no price.
    pub const fn rebate(id: &'static str, token: &'static str, apr: Option<f64>) -> Campaign {
        Campaign::new(id, RewardSide::Borrow, RewardType::TokenIncentive, token, apr)
    }

    /// A campaign that pays points, which have no price.
    pub const fn points(id: &'static str, side: RewardSide) -> Campaign {
        Campaign::new(id, side, RewardType::Points, "quill", Some(0.0))
    }

    /// A campaign that pays depositors a share of the trading fees.
    pub const fn fees(id: &'static str, token: &'static str, apr: f64) -> Campaign {
        Campaign::new(id, RewardSide::Supply, RewardType::TradingFee, token, Some(apr))
    }

    /// A campaign on the net rate of a leveraged position.
    pub const fn position(id: &'static str, token: &'static str, apr: f64) -> Campaign {
        Campaign::new(id, RewardSide::Borrow, RewardType::Strategy, token, Some(apr))
    }
}
