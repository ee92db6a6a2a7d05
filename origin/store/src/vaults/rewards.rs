//! Reward campaigns, and the rates that result from them.

use crate::db_enum::DbEnum;
use crate::decode::{DbAddress, Nullable};
use crate::shared_row::{Shared, shared_row};
use crate::{At, StoreError};
use rds_facts::IncentivesStatus;
use rds_shared::model::status::{RewardSide, RewardType};
use rds_shared::model::vault::Reward;
use rds_shared::rules::borrow::{BorrowCost, IncentiveReading, borrow_cost};
use rds_shared::wire::Timestamp;
use sqlx::{FromRow, PgExecutor};
use std::collections::HashMap;

/// A change of a campaign.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct CampaignStep {
    /// Start of this state.
    #[sqlx(rename = "observed_at", try_from = "At")]
    pub since: Timestamp,
    /// Whether the campaign runs; false if it ended at `since`.
    pub active: bool,
    /// The reward that the campaign pays.
    #[sqlx(flatten, try_from = "Shared<Reward>")]
    pub reward: Reward,
}

shared_row! { Reward {
    side: DbEnum<RewardSide>, token_symbol, token_address: Nullable<DbAddress>, apr, reward_type: DbEnum<RewardType>,
    source, campaign_id, source_url
} }

#[derive(FromRow)]
struct StepOfVault {
    vault_id: String,
    #[sqlx(flatten)]
    step: CampaignStep,
}

const COLUMNS: &str = "vault_id, source, campaign_id, side, observed_at, reward_type, token_symbol, token_address, apr, \
                       source_url, active";

/// The campaigns that run now, by vault; of all vaults if `vault_ids` is `None`.
pub async fn running(
    executor: impl PgExecutor<'_>,
    vault_ids: Option<&[String]>,
) -> Result<HashMap<String, Vec<Reward>>, StoreError> {
    let filter = if vault_ids.is_some() { "WHERE vault_id = ANY($1)" } else { "WHERE $1::text[] IS NULL" };
    let sql = format!(
        "SELECT * FROM (SELECT DISTINCT ON (vault_id, source, campaign_id, side) {COLUMNS} FROM reward {filter} \
         ORDER BY vault_id, source, campaign_id, side, observed_at DESC) AS newest WHERE active"
    );
    let mut running: HashMap<String, Vec<Reward>> = HashMap::new();
    for StepOfVault { vault_id, step } in sqlx::query_as(&sql).bind(vault_ids).fetch_all(executor).await? {
        running.entry(vault_id).or_default().push(step.reward);
    }
    Ok(running)
}

/// All steps of one vault's campaigns, in order of time.
pub async fn history(executor: impl PgExecutor<'_>, vault_id: &str) -> Result<Vec<CampaignStep>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM reward WHERE vault_id = $1 ORDER BY observed_at, source, campaign_id, side");
    Ok(sqlx::query_as(&sql).bind(vault_id).fetch_all(executor).await?)
}

/// All steps of these vaults' campaigns, each vault's in order of time.
pub async fn histories(
    executor: impl PgExecutor<'_>,
    vault_ids: &[String],
) -> Result<HashMap<String, Vec<CampaignStep>>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM reward WHERE vault_id = ANY($1) ORDER BY observed_at, source, campaign_id, side"
    );
    let mut histories: HashMap<String, Vec<CampaignStep>> = HashMap::new();
    for StepOfVault { vault_id, step } in sqlx::query_as(&sql).bind(vault_ids).fetch_all(executor).await? {
        histories.entry(vault_id).or_default().push(step);
    }
    Ok(histories)
}

/// The campaigns of one vault that run at an instant; the instants must be queried in ascending order.
#[derive(Debug, Default)]
pub struct Campaigns<'a> {
    steps: &'a [CampaignStep],
    /// The newest step of each campaign up to the current instant, including ended ones.
    newest: Vec<&'a CampaignStep>,
    /// The running campaigns at the current instant.
    running: Vec<Reward>,
}

impl<'a> Campaigns<'a> {
    /// Starts before the first step.
    pub fn new(steps: &'a [CampaignStep]) -> Self {
        Campaigns { steps, newest: Vec::new(), running: Vec::new() }
    }

    /// Advances to `at`, which must not be earlier than the previous instant, and returns the running campaigns.
    pub fn at(&mut self, at: Timestamp) -> &[Reward] {
        let before = self.steps.len();
        while let Some((step, rest)) = self.steps.split_first().filter(|(step, _)| step.since <= at) {
            self.steps = rest;
            match self.newest.iter_mut().find(|known| same_campaign(&known.reward, &step.reward)) {
                Some(known) => *known = step,
                None => self.newest.push(step),
            }
        }
        if self.steps.len() < before {
            self.running = self.newest.iter().filter(|step| step.active).map(|step| step.reward.clone()).collect();
        }
        &self.running
    }
}

fn same_campaign(a: &Reward, b: &Reward) -> bool {
    (a.side, &a.source, &a.campaign_id) == (b.side, &b.source, &b.campaign_id)
}

/// Rates of a vault including its campaigns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// `base_apr` plus every priced supply reward; null without a base rate.
    pub apr_net: Option<f64>,
    /// Cost of borrowing.
    pub borrow: BorrowCost,
}

impl Rates {
    /// `base_apr` plus every priced supply reward; null without a base rate.
    pub fn apr_net(base_apr: Option<f64>, running: &[Reward]) -> Option<f64> {
        let supply = running.iter().filter(|reward| reward.side == RewardSide::Supply);
        base_apr.map(|base| supply.filter_map(|reward| reward.apr).fold(base, |sum, apr| sum + apr))
    }

    /// The rates of a vault with these base and borrow rates and `running` campaigns.
    pub fn of(base_apr: Option<f64>, borrow_apr: Option<f64>, status: IncentivesStatus, running: &[Reward]) -> Rates {
        let reading = match status {
            IncentivesStatus::NotApplicable => IncentiveReading::NotApplicable,
            IncentivesStatus::Unavailable => IncentiveReading::Unavailable,
            IncentivesStatus::Checked => IncentiveReading::Checked(running),
        };
        Rates { apr_net: Rates::apr_net(base_apr, running), borrow: borrow_cost(borrow_apr, reading) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(seconds: i64, campaign: &str, apr: f64, active: bool) -> CampaignStep {
        CampaignStep {
            since: Timestamp::from_seconds(seconds),
            active,
            reward: Reward {
                side: RewardSide::Supply,
                token_symbol: None,
                token_address: None,
                apr: Some(apr),
                reward_type: RewardType::TokenIncentive,
                source: "fixture".to_owned(),
                campaign_id: Some(campaign.to_owned()),
                source_url: None,
            },
        }
    }

    #[test]
    fn a_campaign_runs_from_its_first_step_until_it_is_observed_to_have_ended() {
        let steps = [
            step(10, "a", 0.25, true),
            step(20, "b", 0.5, true),
            step(30, "a", 0.125, true),
            step(40, "b", 0.5, false),
        ];
        let mut campaigns = Campaigns::new(&steps);
        let mut net = |seconds| Rates::apr_net(Some(1.0), campaigns.at(Timestamp::from_seconds(seconds)));
        assert_eq!([net(9), net(10), net(25), net(30), net(40)], [1.0, 1.25, 1.75, 1.625, 1.125].map(Some));
    }

    #[test]
    fn rewards_without_a_base_rate_make_no_net_rate() {
        assert_eq!(Rates::apr_net(None, &[step(0, "a", 0.25, true).reward]), None);
    }
}
