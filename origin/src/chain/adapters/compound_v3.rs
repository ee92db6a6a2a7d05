//! Markets of Compound v3: the vault of a market is the market's own contract.

use super::super::asked::Asked;
use super::super::state::{self, Price, Vault};
use super::members::{Holdings, Member};
use super::price_source::PriceSources;
use super::{Adapted, Readings, Site, each};
use rds_chain::abi::{Function, Word};
use rds_chain::adapt::compound_v3::{self, Collateral, Market};
use rds_chain::adapt::erc4626;
use rds_chain::adapt::part::Part;
use rds_chain::adapt::question::Question;
use rds_chain::{Address, Block};
use rds_facts::ReadField;
use rds_rpc::agree::Reader;
use serde_json::json;
use std::collections::BTreeSet;

/// The base tokens of the markets.
pub(super) async fn assets(reader: &Reader, block: &Block, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Address> {
    asked.ask(reader, block, each(vaults, compound_v3::first_step)).await;
    let base = |(_, contract): &Vault<'_>| Market::from_answers(asked.answers(), *contract).base_token.ok();
    vaults.iter().filter_map(base).collect()
}

pub(super) async fn read(site: Site<'_>, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    let Site { reader, block, .. } = site;
    asked.ask(reader, block, each(vaults, compound_v3::first_step)).await;
    let lenders: Vec<Lender> = vaults
        .iter()
        .map(|(_, contract)| Lender { contract: *contract, market: Market::from_answers(asked.answers(), *contract) })
        .collect();
    let second = lenders.iter().flat_map(|it| it.market.second_step(it.contract).into_iter().chain(it.decimals()));
    asked.ask(reader, block, second.collect()).await;
    let third = lenders.iter().flat_map(|lender| lender.collateral_step(asked)).collect();
    asked.ask(reader, block, third).await;
    let feeds: BTreeSet<Address> =
        lenders.iter().flat_map(|it| it.collaterals(asked)).map(|collateral| collateral.price_feed).collect();
    let sources = PriceSources::read(site, feeds, asked).await;
    vaults.iter().zip(&lenders).map(|((id, _), lender)| lender.adapted(site, id, &sources, asked)).collect()
}

struct Lender {
    contract: Address,
    market: Market,
}

impl Lender {
    fn question(&self, function: Function) -> Question {
        Question::new(self.contract, function)
    }

    /// The question for the decimals of the base token.
    fn decimals(&self) -> Option<Question> {
        Some(Question::new(self.market.base_token.ok()?, Function::Decimals))
    }

    fn collaterals(&self, asked: &Asked) -> Vec<Collateral> {
        let collaterals = self.market.collaterals(asked.answers(), self.contract);
        collaterals.into_iter().flatten().filter_map(Result::ok).collect()
    }

    fn collateral_step(&self, asked: &Asked) -> Vec<Question> {
        let both = |collateral: Collateral| {
            let deposited = compound_v3::collateral_step(self.contract, collateral.asset);
            [deposited, compound_v3::price_step(self.contract, collateral.price_feed)]
        };
        self.collaterals(asked).into_iter().flat_map(both).collect()
    }

    fn adapted(&self, site: Site<'_>, id: &str, sources: &PriceSources, asked: &Asked) -> Adapted {
        let first = compound_v3::first_step(self.contract);
        let second = self.market.second_step(self.contract);
        let third = self.collateral_step(asked);
        let mut readings = Readings::new(site, id);
        self.rates(&mut readings, &second, asked);
        self.amounts(&mut readings, asked);
        Adapted {
            readings: readings.found,
            holdings: self.holdings(site, sources, &second, &third, asked),
            is_disputed: asked.is_disputed(first.iter().chain(&second).chain(&third)),
            seen: asked.evidence(&first).into_iter().next(),
            own_delay: Some(0),
        }
    }

    fn rates(&self, readings: &mut Readings<'_>, second: &[Question], asked: &Asked) {
        let utilization = [self.question(Function::GetUtilization)];
        readings.fraction(asked, ReadField::Utilization, self.market.utilization_ppm().ok(), &utilization);
        // The first two questions of the second step are the rates, at the utilization of the first.
        let rate = |place: usize| utilization.iter().chain(second.get(place));
        let supply = self.market.supply_rate_ppm(asked.answers(), self.contract).ok();
        readings.fraction(asked, ReadField::BaseApr, supply, rate(0));
        let borrow = self.market.borrow_rate_ppm(asked.answers(), self.contract).ok();
        readings.fraction(asked, ReadField::BorrowApr, borrow, rate(1));
    }

    fn amounts(&self, readings: &mut Readings<'_>, asked: &Asked) {
        let status = |is_paused: bool| json!(if is_paused { "closed" } else { "open" });
        let (supply, withdraw) = (self.question(Function::IsSupplyPaused), self.question(Function::IsWithdrawPaused));
        if let Ok(is_paused) = self.market.is_supply_paused {
            readings.add(asked, ReadField::DepositStatus, status(is_paused), [&supply], None);
        }
        if let Ok(is_paused) = self.market.is_withdraw_paused {
            readings.add(asked, ReadField::WithdrawStatus, status(is_paused), [&withdraw], None);
            // A loan is a withdrawal of the base token.
            let borrow = json!(if is_paused { "paused" } else { "open" });
            readings.add(asked, ReadField::BorrowStatus, borrow, [&withdraw], None);
        }
        let (Some(base), Some(decimals)) = (self.market.base_token.ok(), self.decimals()) else { return };
        let Some(unit) = asked.answers().word(&decimals).ok().and_then(|it| erc4626::decimals(it).ok()) else { return };
        let price: Option<&Price> = readings.site.prices.get(&base);
        let amount = |raw: u128| state::units(Word::from_u128(raw), unit);
        if let Some(supplied) = self.market.total_supply.ok().and_then(amount) {
            let from = [self.question(Function::TotalSupply), decimals.clone()];
            readings.add(asked, ReadField::TvlNative, json!(supplied), &from, None);
            if let Some(price) = price {
                readings.add(asked, ReadField::TvlUsd, json!(price.of(supplied)), &from, Some(price));
            }
        }
        if let (Some(lent), Some(price)) = (self.market.total_borrow.ok().and_then(amount), price) {
            let from = [self.question(Function::TotalBorrow), decimals];
            readings.add(asked, ReadField::ActiveLoansUsd, json!(price.of(lent)), &from, Some(price));
        }
    }

    fn holdings(
        &self,
        site: Site<'_>,
        sources: &PriceSources,
        second: &[Question],
        third: &[Question],
        asked: &Asked,
    ) -> Option<Holdings> {
        let parts = compound_v3::exposures(asked.answers(), self.contract, &self.market).ok()?;
        let number = self.question(Function::NumAssets);
        let feeds = parts.iter().flat_map(|part| sources.questions(part.place.price_feed));
        // The two rates, which come first, say nothing of the collaterals.
        let rates = if self.market.utilization_wad.is_ok() { 2 } else { 0 };
        let list = [&number].into_iter().chain(second.iter().skip(rates)).chain(third).chain(feeds);
        let from = asked.evidence(list);
        let member = |part: &Part<Collateral>| Member {
            source: Some(sources.of(part.place.price_feed)),
            lltv_ppm: Some(part.place.liquidation_threshold_ppm),
            ..Member::held(part.place.asset, part.share_ppm)
        };
        Some(Holdings::observed(site.registry, parts.iter().map(member).collect(), from))
    }
}
