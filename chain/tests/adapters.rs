//! The adapters of lending protocols against arbitrary answers: none of them panics, and every list keeps its bound.

use proptest::prelude::*;
use rds_chain::abi::{Function, Word};
use rds_chain::adapt::deposit_gate::{MAX_REASON_BYTES, RoundTrip, Trial};
use rds_chain::adapt::question::{Answers, CallResult, Question};
use rds_chain::adapt::{aave_v3, compound_v3, erc7540, euler_v2, metamorpho, morpho, morpho_vault_v2, yearn_v3};
use rds_chain::failure::Failure;
use rds_chain::{Address, Block, BlockHash, BlockId};

const CONTRACT: Address = Address([7; 20]);
const OTHER: Address = Address([8; 20]);

/// Words that are often near to something that makes sense: small numbers, addresses, offsets.
fn word() -> impl Strategy<Value = [u8; 32]> {
    prop_oneof![
        any::<[u8; 32]>(),
        (0..70_u128).prop_map(|number| Word::from_u128(number).0),
        any::<u128>().prop_map(|number| Word::from_u128(number).0),
        any::<u8>().prop_map(|byte| Word::from_address(Address([byte; 20])).0),
        Just(Word::from_u128(32).0),
    ]
}

fn result() -> impl Strategy<Value = CallResult> {
    prop_oneof![
        8 => proptest::collection::vec(word(), 0..14).prop_map(|words| Ok(words.concat())),
        2 => proptest::collection::vec(any::<u8>(), 0..300).prop_map(Ok),
        1 => Just(Err(Failure::Transport)),
        1 => proptest::collection::vec(any::<u8>(), 0..8).prop_map(|data| Err(Failure::Reverted { data })),
    ]
}

/// Answers to questions from a supply that begins again when it is used up.
struct Oracle {
    supply: Vec<CallResult>,
    next: usize,
    answers: Answers,
}

impl Oracle {
    fn ask(&mut self, questions: impl IntoIterator<Item = Question>) {
        for question in questions {
            let result = self.supply[self.next % self.supply.len()].clone();
            self.next += 1;
            self.answers.insert(question, result);
        }
    }
}

fn oracle(supply: Vec<CallResult>) -> Oracle {
    Oracle { supply, next: 0, answers: Answers::new() }
}

proptest! {
    #[test]
    fn morpho_reads_any_answers(supply in proptest::collection::vec(result(), 1..40)) {
        let mut oracle = oracle(supply);
        oracle.ask(metamorpho::first_step(CONTRACT));
        let vault = metamorpho::Vault::from_answers(&oracle.answers, CONTRACT);
        let queues = vault.queue_step(CONTRACT);
        prop_assert!(queues.len() <= 60);
        oracle.ask(queues);
        let ids = vault.withdraw_markets(&oracle.answers, CONTRACT).unwrap_or_default();
        prop_assert!(vault.supply_markets(&oracle.answers, CONTRACT).unwrap_or_default().len() <= 30 && ids.len() <= 30);
        for id in &ids {
            oracle.ask(metamorpho::market_step(CONTRACT, OTHER, *id));
            let _ = metamorpho::market_config(&oracle.answers, CONTRACT, *id);
            let market = morpho::Market::from_answers(&oracle.answers, OTHER, *id);
            // Nobody finds parameters for a given hash.
            prop_assert!(market.params.is_err());
            if let Ok(totals) = market.totals {
                prop_assert!(totals.utilization_ppm().is_ok_and(|ppm| ppm <= 1_000_000));
                let _ = (totals.supplied(totals.supply_shares), totals.supply_rate_ppm(u32::MAX));
            }
        }
        let exposures = metamorpho::exposures(&oracle.answers, CONTRACT, OTHER, OTHER, &ids);
        prop_assert!(ids.is_empty() || exposures.is_err());
    }

    #[test]
    fn aave_reads_any_answers(supply in proptest::collection::vec(result(), 1..40), mode: u8) {
        let mut oracle = oracle(supply);
        oracle.ask(aave_v3::first_step(CONTRACT));
        prop_assert!(aave_v3::reserves(&oracle.answers, CONTRACT).unwrap_or_default().len() <= aave_v3::MAX_RESERVES);
        let contracts = aave_v3::Contracts { pool: CONTRACT, data_provider: OTHER, oracle: OTHER };
        oracle.ask(aave_v3::contracts_step(CONTRACT));
        let _ = aave_v3::Contracts::from_answers(&oracle.answers, CONTRACT, CONTRACT);
        oracle.ask([contracts.price_unit_question()]);
        let _ = contracts.price_unit(&oracle.answers);
        oracle.ask(aave_v3::reserve_step(&contracts, OTHER));
        let reserve = aave_v3::Reserve::from_answers(&oracle.answers, &contracts, OTHER);
        if let Ok(totals) = reserve.totals {
            let _ = (totals.debt(), totals.utilization_ppm());
        }
        if let Ok(configuration) = reserve.configuration {
            prop_assert!(configuration.ltv_ppm <= 1_000_000 && configuration.decimals <= 36);
        }
        oracle.ask(aave_v3::emode_step(CONTRACT, mode));
        let emode = aave_v3::Emode::from_answers(&oracle.answers, CONTRACT, mode);
        let is_defined = aave_v3::is_defined(&oracle.answers, CONTRACT, mode);
        prop_assert!(emode.terms.is_err() || is_defined == Ok(true));
        prop_assert!(emode.terms.map_or(0, |terms| terms.label.len()) <= 256);
        oracle.ask([aave_v3::name_question(OTHER)]);
        let name = aave_v3::name(&oracle.answers, OTHER).unwrap_or_default();
        prop_assert!(name.len() <= aave_v3::MAX_NAME && !name.contains('\0'));
    }

    #[test]
    fn euler_yearn_and_compound_read_any_answers(supply in proptest::collection::vec(result(), 1..40), time: u64) {
        let mut oracle = oracle(supply);
        oracle.ask(euler_v2::first_step(CONTRACT));
        let vault = euler_v2::Vault::from_answers(&oracle.answers, CONTRACT);
        let _ = vault.utilization_ppm();
        for collateral in vault.collaterals.unwrap_or_default() {
            oracle.ask([euler_v2::collateral_step(CONTRACT, collateral)]);
            if let Ok(terms) = euler_v2::collateral(&oracle.answers, CONTRACT, collateral) {
                prop_assert!((terms.liquidation_ltv_ppm..=1_000_000).contains(&terms.liquidation_ltv_at(time)));
            }
        }
        oracle.ask(yearn_v3::first_step(CONTRACT));
        let vault = yearn_v3::Vault::from_answers(&oracle.answers, CONTRACT);
        for strategy in vault.queue.iter().flatten() {
            oracle.ask([yearn_v3::strategy_step(CONTRACT, *strategy)]);
        }
        if let Ok(parts) = vault.exposures(&oracle.answers, CONTRACT) {
            prop_assert!(parts.len() <= yearn_v3::MAX_QUEUE + 2);
            prop_assert!([0, 1_000_000].contains(&parts.iter().map(|part| part.share_ppm).sum::<u32>()));
        }
        oracle.ask(compound_v3::first_step(CONTRACT));
        let market = compound_v3::Market::from_answers(&oracle.answers, CONTRACT);
        oracle.ask(market.second_step(CONTRACT));
        let _ = (market.utilization_ppm(), market.supply_rate_ppm(&oracle.answers, CONTRACT));
        let collaterals = market.collaterals(&oracle.answers, CONTRACT).unwrap_or_default();
        prop_assert!(collaterals.len() <= usize::from(compound_v3::MAX_COLLATERALS));
        for collateral in collaterals.into_iter().flatten() {
            oracle.ask([compound_v3::collateral_step(CONTRACT, collateral.asset)]);
            oracle.ask([compound_v3::price_step(CONTRACT, collateral.price_feed)]);
        }
        if let Ok(parts) = compound_v3::exposures(&oracle.answers, CONTRACT, &market) {
            prop_assert!([0, 1_000_000].contains(&parts.iter().map(|part| part.share_ppm).sum::<u32>()));
        }
    }

    #[test]
    fn morpho_vault_v2_reads_any_answers(
        supply in proptest::collection::vec(result(), 1..60),
        // The adapters must name their vault, or nothing else of them is looked at.
        is_own: bool,
        length in 0..4_u64,
    ) {
        let mut oracle = oracle(supply);
        oracle.ask(morpho_vault_v2::first_step(CONTRACT));
        let vault = morpho_vault_v2::Vault::from_answers(&oracle.answers, CONTRACT);
        let _ = (vault.shortest_delay(), vault.gates.let_everybody_in(), vault.gates.let_everybody_out());
        let vault = morpho_vault_v2::Vault { adapters: Ok(length), ..vault };
        let questions = vault.adapter_step(CONTRACT);
        prop_assert!(questions.len() <= 5);
        oracle.ask(questions);
        let contracts = vault.adapters(&oracle.answers, CONTRACT).unwrap_or_default();
        let mut adapters = Vec::new();
        for contract in contracts {
            oracle.ask(morpho_vault_v2::Adapter::first_step(contract));
            if is_own {
                let parent = Question::new(contract, Function::ParentVault);
                oracle.answers.insert(parent, Ok(Word::from_address(CONTRACT).0.to_vec()));
            }
            let adapter = morpho_vault_v2::Adapter::from_answers(&oracle.answers, CONTRACT, contract);
            let questions = adapter.position_step();
            prop_assert!(questions.len() <= 64);
            oracle.ask(questions);
            let questions = adapter.worth_step(&oracle.answers);
            prop_assert!(questions.len() <= 256);
            oracle.ask(questions);
            oracle.ask(morpho_vault_v2::caps_step(CONTRACT, adapter.id()));
            if let Ok(caps) = morpho_vault_v2::Caps::from_answers(&oracle.answers, CONTRACT, adapter.id()) {
                prop_assert!(caps.relative_ppm <= 1_000_000);
                prop_assert!(caps.absolute > 0 || caps.is_full());
            }
            adapters.push(adapter);
        }
        if let Ok(parts) = morpho_vault_v2::exposures(&oracle.answers, CONTRACT, &vault, &adapters) {
            prop_assert!([0, 1_000_000].contains(&parts.iter().map(|part| part.share_ppm).sum::<u32>()));
            // Whatever else the answers are, the assets are those that the adapters name and the vault has.
            let named = adapters.iter().map(|adapter| adapter.real_assets.unwrap_or(0)).sum::<u128>();
            let idle = parts.last().map_or(0, |part| part.assets);
            prop_assert_eq!(parts.iter().map(|part| part.assets).sum::<u128>(), named + idle);
        }
    }

    #[test]
    fn asynchronous_vaults_and_the_gate_read_any_answers(
        supply in proptest::collection::vec(result(), 1..12),
        words in proptest::collection::vec(word(), 0..14),
        amount: u128,
        cut in 0..32_usize,
    ) {
        let mut oracle = oracle(supply);
        oracle.ask(erc7540::first_step(CONTRACT));
        let _ = erc7540::Kind::from_answers(&oracle.answers, CONTRACT);
        let trial = Trial { vault: CONTRACT, asset: OTHER, balance_slot: Word::ZERO, amount, call_gas: 1 };
        let mut data = words.concat();
        data.truncate(data.len().saturating_sub(cut));
        let block = Block { id: BlockId { number: 2, hash: BlockHash([2; 32]) }, parent: BlockHash([1; 32]), time: 3 };
        // Time and chain as they must be; the rest is arbitrary.
        for (index, number) in [(5, 3), (6, 4)] {
            if let Some(word) = data.get_mut(32 * index..32 * index + 32) {
                word.copy_from_slice(&Word::from_u128(number).0);
            }
        }
        match RoundTrip::from_result(&trial, &block, 4, Ok(&data)) {
            RoundTrip::Completed { loss_ppm, .. } => prop_assert!(loss_ppm <= 1_000_000),
            RoundTrip::Refused { reason, .. } => prop_assert!((1..=MAX_REASON_BYTES).contains(&reason.len())),
            RoundTrip::NotSimulated(_) => {}
        }
    }
}
