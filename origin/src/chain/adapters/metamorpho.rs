//! Vaults of MetaMorpho: in which markets of Morpho Blue the assets are, at which rates, and how long changes wait.

use super::super::asked::Asked;
use super::super::state::Vault;
use super::members::{Holdings, Member};
use super::price_source::PriceSources;
use super::{Adapted, Readings, Site, each, fraction};
use rds_chain::Address;
use rds_chain::abi::{Function, Word};
use rds_chain::adapt::metamorpho::Exposure;
use rds_chain::adapt::morpho::Params;
use rds_chain::adapt::part::Part;
use rds_chain::adapt::question::Question;
use rds_chain::adapt::{Value, metamorpho, morpho};
use rds_facts::ReadField;
use serde_json::json;
use std::collections::BTreeSet;

/// The functions of the first step that a list of markets stands on.
const LIST: [Function; 3] = [Function::Morpho, Function::Asset, Function::WithdrawQueueLength];

/// A vault with the markets of its withdraw queue.
struct Lender {
    contract: Address,
    vault: metamorpho::Vault,
    markets: Value<Vec<Word>>,
}

/// One market in which a vault has assets.
type Lent = Part<Exposure>;

pub(super) async fn read(site: Site<'_>, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    let Site { reader, block, .. } = site;
    asked.ask(reader, block, each(vaults, metamorpho::first_step)).await;
    let first = |contract: Address| metamorpho::Vault::from_answers(asked.answers(), contract);
    let parsed: Vec<(Address, metamorpho::Vault)> =
        vaults.iter().map(|(_, contract)| (*contract, first(*contract))).collect();
    let queues = parsed.iter().flat_map(|(contract, vault)| vault.queue_step(*contract)).collect();
    asked.ask(reader, block, queues).await;
    let lenders: Vec<Lender> = parsed
        .into_iter()
        .map(|(contract, vault)| {
            let markets = vault.withdraw_markets(asked.answers(), contract);
            Lender { contract, vault, markets }
        })
        .collect();
    asked.ask(reader, block, lenders.iter().flat_map(Lender::market_step).collect()).await;
    let lent: Vec<Value<Vec<Lent>>> = lenders.iter().map(|lender| lender.lent(asked)).collect();
    let markets = lent.iter().flatten().flatten().map(|part| &part.place);
    let rates = markets.clone().filter_map(|market| morpho::rate_question(&market.params, &market.totals)).collect();
    let oracles: BTreeSet<Address> = markets.filter_map(|market| market.params.oracle).collect();
    asked.ask(reader, block, rates).await;
    let sources = PriceSources::read(site, oracles, asked).await;

    let all = vaults.iter().zip(lenders.iter().zip(lent));
    all.map(|((id, _), (lender, lent))| lender.adapted(site, id, lent.ok(), &sources, asked)).collect()
}

impl Lender {
    fn market_step(&self) -> Vec<Question> {
        let (Ok(morpho), Ok(markets)) = (self.vault.morpho, &self.markets) else { return Vec::new() };
        markets.iter().flat_map(|id| metamorpho::market_step(self.contract, morpho, *id)).collect()
    }

    fn lent(&self, asked: &Asked) -> Value<Vec<Lent>> {
        let markets = self.markets.as_ref().map_err(|unknown| *unknown)?;
        metamorpho::exposures(asked.answers(), self.contract, self.vault.asset?, self.vault.morpho?, markets)
    }

    /// The questions on which the list of markets stands.
    fn list_questions(&self) -> Vec<Question> {
        let list = LIST.map(|function| Question::new(self.contract, function));
        let places = 0..self.vault.withdraw_queue.unwrap_or(0);
        let queue = places
            .map(|place| Question::with(self.contract, Function::WithdrawQueue, &[Word::from_u128(place.into())]));
        let markets = self.market_step().into_iter().filter(|it| !self.is_config(it));
        list.into_iter().chain(queue).chain(markets).collect()
    }

    /// Caps do not say where the assets are.
    fn is_config(&self, question: &Question) -> bool {
        question.contract() == self.contract
    }

    fn adapted(
        &self,
        site: Site<'_>,
        id: &str,
        lent: Option<Vec<Lent>>,
        sources: &PriceSources,
        asked: &Asked,
    ) -> Adapted {
        let timelock = Question::new(self.contract, Function::Timelock);
        let list = self.list_questions();
        let mut readings = Readings::new(site, id);
        let holdings = lent.map(|lent| {
            let lent: Vec<Lent> = lent.into_iter().filter(|part| part.share_ppm > 0).collect();
            self.rates(&mut readings, &lent, &list, asked);
            let oracles = lent.iter().filter_map(|part| part.place.params.oracle);
            let shown: Vec<&Question> = oracles.flat_map(|oracle| sources.questions(oracle)).collect();
            let from = asked.evidence(list.iter().chain(shown));
            let member = |Lent { place: Exposure { params, .. }, share_ppm, .. }: &Lent| {
                member(params, *share_ppm, self.vault.asset.unwrap_or(params.loan_token), sources)
            };
            let members = lent.iter().map(member).collect();
            Holdings::observed(site.registry, members, from)
        });
        Adapted {
            readings: readings.found,
            holdings,
            is_disputed: asked.is_disputed(list.iter().chain([&timelock])),
            seen: asked.evidence(&list).into_iter().next(),
            own_delay: self.vault.timelock.ok(),
        }
    }

    /// What is lent of the vault's assets, and what they earn: the means of the markets by the vault's shares.
    fn rates(&self, readings: &mut Readings<'_>, lent: &[Lent], list: &[Question], asked: &Asked) {
        let share = |part: &Lent| f64::from(part.share_ppm) / 1e6;
        if lent.is_empty() {
            return;
        }
        let utilization = |part: &Lent| Some(share(part) * f64::from(part.place.totals.utilization_ppm().ok()?));
        if let Some(ppm) = lent.iter().map(utilization).sum::<Option<f64>>() {
            readings.add(asked, ReadField::Utilization, json!(fraction(ppm)), list, None);
        }
        let question = |part: &Lent| morpho::rate_question(&part.place.params, &part.place.totals);
        let rate = |part: &Lent| {
            let borrow = match question(part) {
                Some(question) => morpho::borrow_rate_ppm(asked.answers(), &question).ok()?,
                // A market without a rate model lends for nothing.
                None => 0,
            };
            Some(share(part) * f64::from(part.place.totals.supply_rate_ppm(borrow).ok()?))
        };
        if let (Some(ppm), Ok(fee)) = (lent.iter().map(rate).sum::<Option<f64>>(), self.vault.fee_ppm) {
            let kept = 1.0 - f64::from(fee) / 1e6;
            let fee = Question::new(self.contract, Function::Fee);
            let rates: Vec<Question> = lent.iter().filter_map(question).collect();
            readings.add(
                asked,
                ReadField::BaseApr,
                json!(fraction(ppm * kept)),
                list.iter().chain(&rates).chain([&fee]),
                None,
            );
        }
    }
}

/// A market as what its loans are secured with; an idle market as `asset`, that of the vault.
pub(super) fn member(params: &Params, share_ppm: u32, asset: Address, sources: &PriceSources) -> Member {
    match params.collateral_token {
        Some(collateral) => Member {
            source: params.oracle.map(|oracle| sources.of(oracle)),
            lltv_ppm: params.lltv_ppm().ok(),
            ..Member::held(collateral, share_ppm)
        },
        None => Member::held(asset, share_ppm),
    }
}
