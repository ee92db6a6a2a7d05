//! Property of what the adapters make of contracts' answers.

use rds_chain::abi::Word;
use rds_chain::adapt::deposit_gate::{MAX_REASON_BYTES, RoundTrip, Trial};
use rds_chain::adapt::part::Part;
use rds_chain::adapt::question::{Answers, CallResult, Question};
use rds_chain::adapt::{
    aave_v3, compound_v3, erc7540, euler_v2, feed, metamorpho, morpho, morpho_vault_v2, token, yearn_v3,
};
use rds_chain::failure::Failure;
use rds_chain::{Address, Block, BlockHash, BlockId};

const CONTRACT: Address = Address([7; 20]);
const OTHER: Address = Address([8; 20]);
/// A million parts of a million.
const WHOLE: u32 = 1_000_000;

/// Answers made of the input's bytes; empty ones when they are used up.
struct Contracts<'a> {
    bytes: &'a [u8],
    answers: Answers,
}

impl Contracts<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A word that is often near to something that makes sense: a small number, an address, an offset.
    fn word(&mut self) -> Word {
        match self.byte() % 8 {
            0 => Word::ZERO,
            1 => Word::from_u128(32),
            2 | 3 => Word::from_u128(self.byte().into()),
            4 => Word::from_address(Address([self.byte(); 20])),
            5 => Word::from_u128(u128::from(self.byte()) << (self.byte() % 120)),
            6 => Word([self.byte(); 32]),
            _ => {
                let mut word = [0; 32];
                word.iter_mut().for_each(|byte| *byte = self.byte());
                Word(word)
            }
        }
    }

    fn result(&mut self) -> CallResult {
        match self.byte() % 20 {
            16 => Err(Failure::Transport),
            17 => Err(Failure::Reverted { data: Vec::new() }),
            18 => Err(Failure::Reverted { data: vec![self.byte(); 4] }),
            19 => Ok(vec![1; usize::from(self.byte())]),
            words => Ok((0..words).flat_map(|_| self.word().0).collect()),
        }
    }

    fn ask(&mut self, questions: impl IntoIterator<Item = Question>) {
        for question in questions {
            let result = self.result();
            self.answers.insert(question, result);
        }
    }
}

fn is_whole_or_nothing<T>(parts: &[Part<T>]) {
    let sum: u32 = parts.iter().map(|part| part.share_ppm).sum();
    assert!(sum == 0 || sum == WHOLE, "{sum}");
}

/// No answer makes an adapter panic; lists keep their bounds, parts are of one whole, and shares are at most all of it.
pub fn holds(data: &[u8]) {
    let mut contracts = Contracts { bytes: data, answers: Answers::new() };
    match contracts.byte() % 9 {
        0 => metamorpho_vault(&mut contracts),
        1 => aave_pool(&mut contracts),
        2 => euler_vault(&mut contracts),
        3 => yearn_vault(&mut contracts),
        4 => comet(&mut contracts),
        5 => gate(&mut contracts),
        8 => vault_v2(&mut contracts),
        6 => {
            contracts.ask(erc7540::first_step(CONTRACT));
            let _ = erc7540::Kind::from_answers(&contracts.answers, CONTRACT);
            contracts.ask(erc7540::request_step(CONTRACT, OTHER));
            let _ = erc7540::Requests::from_answers(&contracts.answers, CONTRACT, OTHER);
        }
        _ => {
            let answer = contracts.result();
            if let Ok(text) = token::text(Some(&answer), token::MAX_TEXT_BYTES) {
                assert!(!text.is_empty() && token::safe_text(&text) == text);
            }
            let _ = (feed::round(Some(&answer)), feed::description(Some(&answer)));
        }
    }
}

fn metamorpho_vault(contracts: &mut Contracts<'_>) {
    contracts.ask(metamorpho::first_step(CONTRACT));
    let vault = metamorpho::Vault::from_answers(&contracts.answers, CONTRACT);
    contracts.ask(vault.queue_step(CONTRACT));
    let ids = vault.withdraw_markets(&contracts.answers, CONTRACT).unwrap_or_default();
    assert!(ids.len() <= 30);
    for id in &ids {
        contracts.ask(metamorpho::market_step(CONTRACT, OTHER, *id));
        let _ = metamorpho::market_config(&contracts.answers, CONTRACT, *id);
        let market = morpho::Market::from_answers(&contracts.answers, OTHER, *id);
        if let Ok(params) = market.params {
            assert_eq!(params.id(), *id);
        }
        if let Ok(totals) = market.totals {
            assert!(totals.utilization_ppm().is_ok_and(|ppm| ppm <= WHOLE));
            let _ = (totals.supplied(totals.supply_shares), totals.supply_rate_ppm(u32::MAX));
        }
    }
    if let Ok(parts) = metamorpho::exposures(&contracts.answers, CONTRACT, OTHER, OTHER, &ids) {
        is_whole_or_nothing(&parts);
    }
}

fn vault_v2(contracts: &mut Contracts<'_>) {
    contracts.ask(morpho_vault_v2::first_step(CONTRACT));
    let vault = morpho_vault_v2::Vault::from_answers(&contracts.answers, CONTRACT);
    let _ = (vault.shortest_delay(), vault.gates.let_everybody_in(), vault.gates.let_everybody_out());
    contracts.ask(vault.adapter_step(CONTRACT));
    let listed = vault.adapters(&contracts.answers, CONTRACT).unwrap_or_default();
    let mut adapters = Vec::new();
    for contract in listed {
        contracts.ask(morpho_vault_v2::Adapter::first_step(contract));
        let adapter = morpho_vault_v2::Adapter::from_answers(&contracts.answers, CONTRACT, contract);
        contracts.ask(adapter.position_step());
        contracts.ask(adapter.worth_step(&contracts.answers));
        contracts.ask(morpho_vault_v2::caps_step(CONTRACT, adapter.id()));
        if let Ok(caps) = morpho_vault_v2::Caps::from_answers(&contracts.answers, CONTRACT, adapter.id()) {
            assert!(caps.relative_ppm <= WHOLE && (caps.absolute > 0 || caps.is_full()));
        }
        adapters.push(adapter);
    }
    if let Ok(parts) = morpho_vault_v2::exposures(&contracts.answers, CONTRACT, &vault, &adapters) {
        is_whole_or_nothing(&parts);
    }
}

fn aave_pool(contracts: &mut Contracts<'_>) {
    contracts.ask(aave_v3::first_step(CONTRACT));
    assert!(aave_v3::reserves(&contracts.answers, CONTRACT).unwrap_or_default().len() <= aave_v3::MAX_RESERVES);
    contracts.ask(aave_v3::contracts_step(OTHER));
    let _ = aave_v3::Contracts::from_answers(&contracts.answers, CONTRACT, OTHER);
    let pool = aave_v3::Contracts { pool: CONTRACT, data_provider: OTHER, oracle: OTHER };
    contracts.ask([pool.price_unit_question()]);
    let _ = pool.price_unit(&contracts.answers);
    contracts.ask(aave_v3::reserve_step(&pool, OTHER));
    let reserve = aave_v3::Reserve::from_answers(&contracts.answers, &pool, OTHER);
    if let Ok(totals) = reserve.totals {
        let _ = (totals.debt(), totals.utilization_ppm());
    }
    if let Ok(configuration) = reserve.configuration {
        assert!(configuration.ltv_ppm <= WHOLE && configuration.decimals <= 36);
    }
    let mode = contracts.byte();
    contracts.ask(aave_v3::emode_step(CONTRACT, mode));
    let emode = aave_v3::Emode::from_answers(&contracts.answers, CONTRACT, mode);
    assert!(emode.terms.map_or(0, |terms| terms.label.len()) <= 256);
}

fn euler_vault(contracts: &mut Contracts<'_>) {
    contracts.ask(euler_v2::first_step(CONTRACT));
    let vault = euler_v2::Vault::from_answers(&contracts.answers, CONTRACT);
    let _ = (vault.utilization_ppm(), vault.supply_rate_ppm());
    for collateral in vault.collaterals.unwrap_or_default() {
        contracts.ask([euler_v2::collateral_step(CONTRACT, collateral)]);
        let time = u64::from(contracts.byte()) << 24;
        if let Ok(terms) = euler_v2::collateral(&contracts.answers, CONTRACT, collateral) {
            assert!((terms.liquidation_ltv_ppm..=WHOLE).contains(&terms.liquidation_ltv_at(time)));
        }
    }
}

fn yearn_vault(contracts: &mut Contracts<'_>) {
    contracts.ask(yearn_v3::first_step(CONTRACT));
    let vault = yearn_v3::Vault::from_answers(&contracts.answers, CONTRACT);
    for strategy in vault.queue.iter().flatten() {
        contracts.ask([yearn_v3::strategy_step(CONTRACT, *strategy)]);
    }
    if let Ok(parts) = vault.exposures(&contracts.answers, CONTRACT) {
        assert!(parts.len() <= yearn_v3::MAX_QUEUE + 2);
        is_whole_or_nothing(&parts);
    }
}

fn comet(contracts: &mut Contracts<'_>) {
    contracts.ask(compound_v3::first_step(CONTRACT));
    let market = compound_v3::Market::from_answers(&contracts.answers, CONTRACT);
    contracts.ask(market.second_step(CONTRACT));
    let _ = (market.utilization_ppm(), market.supply_rate_ppm(&contracts.answers, CONTRACT));
    let _ = market.borrow_rate_ppm(&contracts.answers, CONTRACT);
    let collaterals = market.collaterals(&contracts.answers, CONTRACT).unwrap_or_default();
    assert!(collaterals.len() <= usize::from(compound_v3::MAX_COLLATERALS));
    for collateral in collaterals.into_iter().flatten() {
        contracts.ask([compound_v3::collateral_step(CONTRACT, collateral.asset)]);
        contracts.ask([compound_v3::price_step(CONTRACT, collateral.price_feed)]);
    }
    if let Ok(parts) = compound_v3::exposures(&contracts.answers, CONTRACT, &market) {
        is_whole_or_nothing(&parts);
    }
}

fn gate(contracts: &mut Contracts<'_>) {
    let amount = u128::from(contracts.byte()) << (contracts.byte() % 120);
    let trial = Trial { vault: CONTRACT, asset: OTHER, balance_slot: Word::ZERO, amount, call_gas: 1 };
    let block = Block { id: BlockId { number: 2, hash: BlockHash([2; 32]) }, parent: BlockHash([1; 32]), time: 3 };
    // Time and chain are often right, so that the rest is looked at.
    let (is_right, mut answer) = (!contracts.byte().is_multiple_of(4), contracts.result().unwrap_or_default());
    for (index, number) in [(5, 3), (6, 4)] {
        if let Some(word) = answer.get_mut(32 * index..32 * index + 32).filter(|_| is_right) {
            word.copy_from_slice(&Word::from_u128(number).0);
        }
    }
    match RoundTrip::from_result(&trial, &block, 4, Ok(&answer)) {
        RoundTrip::Completed { loss_ppm, .. } => assert!(loss_ppm <= WHOLE),
        RoundTrip::Refused { reason, .. } => assert!((1..=MAX_REASON_BYTES).contains(&reason.len())),
        RoundTrip::NotSimulated(_) => {}
    }
}
