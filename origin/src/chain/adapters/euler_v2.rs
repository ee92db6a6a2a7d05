//! Vaults of Euler v2: what is lent at which rate, and what secures it.

use super::super::asked::Asked;
use super::super::state::Vault;
use super::members::{Holdings, Member};
use super::price_source::PriceSources;
use super::{Adapted, Readings, Site, each};
use rds_chain::Address;
use rds_chain::abi::Function;
use rds_chain::adapt::euler_v2::{self, Collateral};
use rds_chain::adapt::question::Question;
use rds_facts::ReadField;
use std::collections::BTreeSet;

/// The functions of the first step on which the list of collaterals stands.
const LIST: [Function; 4] = [Function::Asset, Function::TotalBorrows, Function::LtvList, Function::Oracle];

pub(super) async fn read(site: Site<'_>, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    let Site { reader, block, .. } = site;
    asked.ask(reader, block, each(vaults, euler_v2::first_step)).await;
    let lenders: Vec<Lender> = vaults
        .iter()
        .map(|(_, contract)| Lender {
            contract: *contract,
            vault: euler_v2::Vault::from_answers(asked.answers(), *contract),
        })
        .collect();
    asked.ask(reader, block, lenders.iter().flat_map(Lender::collateral_step).collect()).await;
    let oracles: BTreeSet<Address> = lenders.iter().filter_map(|it| it.vault.oracle.ok().flatten()).collect();
    let sources = PriceSources::read(site, oracles, asked).await;
    vaults.iter().zip(&lenders).map(|((id, _), lender)| lender.adapted(site, id, &sources, asked)).collect()
}

struct Lender {
    contract: Address,
    vault: euler_v2::Vault,
}

impl Lender {
    fn collaterals(&self) -> &[Address] {
        self.vault.collaterals.as_deref().unwrap_or_default()
    }

    /// The terms and the asset of each collateral.
    fn collateral_step(&self) -> Vec<Question> {
        let both = |collateral: &Address| {
            [euler_v2::collateral_step(self.contract, *collateral), Question::new(*collateral, Function::Asset)]
        };
        self.collaterals().iter().flat_map(both).collect()
    }

    /// The assets that secure loans now. Unknown if one of the collaterals is.
    fn secured(&self, asked: &Asked, time: u64) -> Option<Vec<(Address, u32)>> {
        self.vault.collaterals.as_ref().ok()?;
        let mut secured = Vec::new();
        for collateral in self.collaterals() {
            let terms: Collateral = euler_v2::collateral(asked.answers(), self.contract, *collateral).ok()?;
            let lltv = terms.liquidation_ltv_at(time);
            if lltv > 0 {
                let asset = asked.answers().contract(&Question::new(*collateral, Function::Asset)).ok()?;
                secured.push((asset, lltv));
            }
        }
        Some(secured)
    }

    fn adapted(&self, site: Site<'_>, id: &str, sources: &PriceSources, asked: &Asked) -> Adapted {
        let question = |function| Question::new(self.contract, function);
        let first = euler_v2::first_step(self.contract);
        let list: Vec<Question> = LIST.map(question).into_iter().chain(self.collateral_step()).collect();
        let mut readings = Readings::new(site, id);
        let lent = [Function::Cash, Function::TotalBorrows].map(question);
        readings.fraction(asked, ReadField::Utilization, self.vault.utilization_ppm().ok(), &lent);
        let rate = [question(Function::InterestRate)];
        readings.fraction(asked, ReadField::BorrowApr, self.vault.borrow_rate_ppm.ok(), &rate);
        let earned = lent.iter().chain(&rate);
        let fee = question(Function::InterestFee);
        readings.fraction(asked, ReadField::BaseApr, self.vault.supply_rate_ppm().ok(), earned.chain([&fee]));
        Adapted {
            readings: readings.found,
            holdings: self.holdings(site, sources, &list, asked),
            is_disputed: asked.is_disputed(first.iter().chain(&list)),
            seen: asked.evidence(&first).into_iter().next(),
            own_delay: Some(0),
        }
    }

    fn holdings(&self, site: Site<'_>, sources: &PriceSources, list: &[Question], asked: &Asked) -> Option<Holdings> {
        let secured = self.secured(asked, site.block.time)?;
        let (asset, oracle) = (self.vault.asset.ok()?, self.vault.oracle.ok()?);
        let shown: Vec<&Question> = oracle.into_iter().flat_map(|oracle| sources.questions(oracle)).collect();
        let from = asked.evidence(list.iter().chain(shown));
        if secured.is_empty() && self.vault.total_borrows.ok()? == 0 {
            // The vault does not lend: it holds its asset.
            return Some(Holdings::observed(site.registry, vec![Member::held(asset, 1_000_000)], from));
        }
        let member = |(asset, lltv): (Address, u32)| Member {
            source: oracle.map(|oracle| sources.of(oracle)),
            lltv_ppm: Some(lltv),
            ..Member::held(asset, 0)
        };
        // Nothing shows how much of each collateral secures this vault's loans.
        Some(Holdings::shares_unknown(site.registry, secured.into_iter().map(member).collect(), from))
    }
}
