//! The adapters of lending protocols against the recorded answers of real contracts; `fixtures/README.md` says how they were made.

use rds_chain::Address;
use rds_chain::abi::Word;
use rds_chain::adapt::morpho_vault_v2::{Adapter, Caps, Delay, Kind, Place, Vault};
use rds_chain::adapt::question::{Answers, Question};
use rds_chain::adapt::{Unknown, aave_v3, metamorpho, morpho, morpho_vault_v2, part};
use rds_chain::failure::{self, Response};
use serde_json::Value;

struct Recorded(Value);

impl Recorded {
    fn new() -> Self {
        Self::of(include_str!("../fixtures/lending.json"))
    }

    fn of(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap())
    }

    fn known(&self, name: &str) -> Address {
        self.0["known"][name].as_str().unwrap().parse().unwrap()
    }

    fn market(&self, name: &str) -> Word {
        Word(hex(&self.0["markets"][name]).try_into().unwrap())
    }

    fn time(&self) -> u64 {
        u64::from_str_radix(self.0["block"]["timestamp"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    }

    /// The answer to a question, which must have been recorded with exactly these bytes.
    fn answer(&self, question: &Question) -> Result<Vec<u8>, failure::Failure> {
        let (to, data) = (question.contract().to_string(), rds_chain::hex::encode(&question.calldata()));
        let call = self.0["calls"].as_array().unwrap().iter().find(|call| call["to"] == *to && call["data"] == *data);
        let call = call.unwrap_or_else(|| panic!("{question:?} was not recorded"));
        let body = match call.get("answer") {
            Some(answer) => serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": answer}),
            None => serde_json::json!({"jsonrpc": "2.0", "id": 1, "error": call["error"]}),
        };
        let body = body.to_string();
        let response = Response { status: 200, retry_after: None, body: body.as_bytes() };
        failure::read(response, 1).map(|result| hex(&serde_json::from_str(result.get()).unwrap()))
    }

    fn ask(&self, answers: &mut Answers, questions: impl IntoIterator<Item = Question>) {
        for question in questions {
            let result = self.answer(&question);
            answers.insert(question, result);
        }
    }

    /// Words of a recorded answer that no adapter asks for, by signature; of the first asset or the second.
    fn words(&self, signature: &str, index: usize) -> Vec<Word> {
        let calls = self.0["calls"].as_array().unwrap().iter();
        let call = calls.filter(|call| call["signature"] == signature).nth(index).unwrap();
        hex(&call["answer"]).chunks(32).map(|word| Word(word.try_into().unwrap())).collect()
    }
}

fn hex(value: &Value) -> Vec<u8> {
    rds_chain::hex::decode(value.as_str().unwrap()).unwrap()
}

#[test]
fn a_market_of_morpho_blue_is_read_and_its_id_is_the_hash_of_its_parameters() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let (contract, id) = (recorded.known("morpho"), recorded.market("lent"));
    recorded.ask(&mut answers, morpho::first_step(contract, id));
    let market = morpho::Market::from_answers(&answers, contract, id);
    let params = market.params.unwrap();
    assert_eq!(params.id(), id);
    assert_eq!(
        (params.loan_token, params.collateral_token, params.oracle, params.rate_model),
        (
            recorded.known("usd"),
            Some(recorded.known("eth")),
            Some(recorded.known("oracle")),
            Some(recorded.known("irm"))
        )
    );
    assert_eq!(params.lltv_ppm(), Ok(860_000));
    let totals = market.totals.unwrap();
    // 1,000,000 supplied and 700,000 borrowed for a month at 70 % a year, then 123,456.789123 supplied by another account.
    assert!((1_164_000_000_000..1_166_000_000_000).contains(&totals.supply_assets), "{totals:?}");
    assert!((741_000_000_000..742_000_000_000).contains(&totals.borrow_assets), "{totals:?}");
    assert!((630_000..640_000).contains(&totals.utilization_ppm().unwrap()));
    assert_eq!((totals.fee_wad, totals.last_update), (0, recorded.time()));
    let question = morpho::price_question(&params).unwrap();
    recorded.ask(&mut answers, [question.clone()]);
    assert_eq!(morpho::price(&answers, &question), Ok(Word::from_u128(3_000 * 10_u128.pow(24))));
    // This model's rate is the utilization, in whole parts of 10^18 a second.
    let question = morpho::rate_question(&params, &totals).unwrap();
    recorded.ask(&mut answers, [question.clone()]);
    let rate = morpho::borrow_rate_ppm(&answers, &question).unwrap();
    assert!(totals.utilization_ppm().unwrap().abs_diff(rate) <= 1, "{rate}");
    assert!((402_000..406_000).contains(&totals.supply_rate_ppm(rate).unwrap()));
}

#[test]
fn an_id_without_a_market_is_implausible_and_an_idle_market_is_none_with_collateral() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let contract = recorded.known("morpho");
    for name in ["unknown", "idle"] {
        recorded.ask(&mut answers, morpho::first_step(contract, recorded.market(name)));
    }
    let unknown = morpho::Market::from_answers(&answers, contract, recorded.market("unknown"));
    assert_eq!((unknown.params, unknown.totals), (Err(Unknown::Implausible), Err(Unknown::Implausible)));
    let idle = morpho::Market::from_answers(&answers, contract, recorded.market("idle"));
    let params = idle.params.unwrap();
    assert_eq!((params.collateral_token, params.oracle, params.rate_model, params.lltv_wad), (None, None, None, 0));
    assert_eq!(morpho::price_question(&params), None);
    assert_eq!(idle.totals.unwrap().utilization_ppm(), Ok(0));
}

#[test]
fn shares_are_worth_what_morpho_itself_pays_for_them() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let (contract, id) = (recorded.known("morpho"), recorded.market("lent"));
    let question = morpho::position_question(contract, id, recorded.known("lender"));
    recorded.ask(&mut answers, morpho::first_step(contract, id));
    recorded.ask(&mut answers, [question.clone()]);
    let position = morpho::position(&answers, &question).unwrap();
    assert_eq!((position.borrow_shares, position.collateral), (0, 0));
    let totals = morpho::Market::from_answers(&answers, contract, id).totals.unwrap();
    let withdraw = recorded.words("withdraw(MarketParams,uint256,uint256,address,address)", 0);
    let expected = [totals.supplied(position.supply_shares).unwrap(), position.supply_shares].map(Word::from_u128);
    assert_eq!(withdraw, expected);
    let borrower = morpho::position_question(contract, id, recorded.known("admin"));
    recorded.ask(&mut answers, [borrower.clone()]);
    let position = morpho::position(&answers, &borrower).unwrap();
    assert_eq!((position.borrow_shares, position.collateral), (totals.borrow_shares, 10_u128.pow(21)));
}

#[test]
fn the_exposures_of_an_account_in_three_markets_are_its_assets_with_shares_of_a_million() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let (contract, vault, asset) = (recorded.known("morpho"), recorded.known("lender"), recorded.known("usd"));
    let ids = ["lent", "small", "idle"].map(|name| recorded.market(name));
    for id in ids {
        recorded.ask(&mut answers, morpho::first_step(contract, id));
        recorded.ask(&mut answers, [morpho::position_question(contract, id, vault)]);
    }
    let parts = metamorpho::exposures(&answers, vault, asset, contract, &ids).unwrap();
    let summary = |part: &part::Part<metamorpho::Exposure>| (part.place.params.collateral_token, part.share_ppm);
    let eth = Some(recorded.known("eth"));
    assert!(parts[0].assets > 123_456_000_000 && parts[0].assets < 123_500_000_000, "{}", parts[0].assets);
    assert_eq!((parts[1].assets, parts[2].assets), (7, 50_000_000_000));
    assert_eq!(parts.iter().map(|part| part.share_ppm).sum::<u32>(), 1_000_000);
    let shares: Vec<_> = parts.iter().map(summary).collect();
    assert_eq!((shares[0].0, shares[1], shares[2].0), (eth, (eth, 0), None));
    assert!((711_000..712_000).contains(&shares[0].1), "{shares:?}");
    let of_another_token = metamorpho::exposures(&answers, vault, recorded.known("eth"), contract, &ids);
    assert_eq!(of_another_token, Err(Unknown::Implausible));
}

/// The pool's contracts, found from the pool alone.
fn contracts(recorded: &Recorded, answers: &mut Answers) -> aave_v3::Contracts {
    let pool = recorded.known("pool");
    recorded.ask(answers, aave_v3::first_step(pool));
    let provider = aave_v3::addresses_provider(answers, pool).unwrap();
    recorded.ask(answers, aave_v3::contracts_step(provider));
    aave_v3::Contracts::from_answers(answers, pool, provider).unwrap()
}

#[test]
fn a_pool_of_aave_leads_to_its_contracts_and_reserves() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let contracts = contracts(&recorded, &mut answers);
    assert_eq!((contracts.data_provider, contracts.oracle), (recorded.known("dataProvider"), recorded.known("prices")));
    let reserves = aave_v3::reserves(&answers, contracts.pool).unwrap();
    assert_eq!(reserves, [recorded.known("usd"), recorded.known("eth")]);
    recorded.ask(&mut answers, [contracts.price_unit_question()]);
    assert_eq!(contracts.price_unit(&answers), Ok(100_000_000));
}

#[test]
fn a_reserve_of_aave_has_the_supply_the_debt_the_rates_and_the_price_of_the_contracts() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let contracts = contracts(&recorded, &mut answers);
    let (usd, eth) = (recorded.known("usd"), recorded.known("eth"));
    for asset in [usd, eth] {
        recorded.ask(&mut answers, aave_v3::reserve_step(&contracts, asset));
    }
    let reserve = aave_v3::Reserve::from_answers(&answers, &contracts, usd);
    let totals = reserve.totals.unwrap();
    assert_eq!((totals.supply, totals.stable_debt), (1_000_000_000_000, 0));
    assert!((500_000_000_000..500_001_000_000).contains(&totals.variable_debt), "{totals:?}");
    assert_eq!(totals.utilization_ppm().unwrap() / 10, 50_000);
    // Half is borrowed: 4 % · 50 / 80 for the borrowers, half of it less 10 % for the depositors.
    assert_eq!((totals.borrow_rate_ppm, totals.supply_rate_ppm), (25_000, 11_250));
    assert_eq!((reserve.price, reserve.deficit), (Ok(100_000_000), Err(Unknown::NoAnswer)));
    let feed = recorded.0["known"]["feeds"][0].as_str().unwrap().parse().unwrap();
    assert_eq!(reserve.price_source, Ok(Some(feed)));
    assert!(reserve.supply_token.is_ok_and(|token| token != usd));
    let configuration = reserve.configuration.unwrap();
    assert_eq!((configuration.decimals, configuration.emode), (6, Some(1)));
    assert!(configuration.is_active && !configuration.is_frozen && !configuration.is_paused);
    let reserve = aave_v3::Reserve::from_answers(&answers, &contracts, eth);
    assert_eq!((reserve.price, reserve.totals.unwrap().debt()), (Ok(300_000_000_000), Ok(0)));
    let configuration = reserve.configuration.unwrap();
    assert!(configuration.is_frozen && configuration.is_paused && configuration.borrow_cap.is_none());
    let stranger = aave_v3::Reserve::from_answers(&answers, &contracts, contracts.pool);
    assert_eq!(stranger.configuration, Err(Unknown::Unread));
}

#[test]
fn a_configuration_of_aave_is_decoded_as_by_its_own_contracts() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let contracts = contracts(&recorded, &mut answers);
    for (index, asset) in [recorded.known("usd"), recorded.known("eth")].into_iter().enumerate() {
        recorded.ask(&mut answers, aave_v3::reserve_step(&contracts, asset));
        let ours = aave_v3::Reserve::from_answers(&answers, &contracts, asset).configuration.unwrap();
        let number = |value: u32| Word::from_u128(u128::from(value) / 100);
        let theirs = recorded.words("getReserveConfigurationData(address)", index);
        assert_eq!(theirs[0], Word::from_u128(ours.decimals.into()));
        let bonus = number(ours.liquidation_bonus_ppm + 1_000_000);
        let expected =
            [number(ours.ltv_ppm), number(ours.liquidation_threshold_ppm), bonus, number(ours.reserve_factor_ppm)];
        assert_eq!(theirs[1..5], expected);
        // Then: collateral, borrowing, stable rate, active, frozen.
        let flags = [ours.can_be_borrowed, ours.is_active, ours.is_frozen].map(Word::from_bool);
        assert_eq!([theirs[6], theirs[8], theirs[9]], flags);
        assert_eq!(recorded.words("getPaused(address)", index), [Word::from_bool(ours.is_paused)]);
        let caps = [ours.borrow_cap, ours.supply_cap].map(|cap| Word::from_u128(cap.unwrap_or(0).into()));
        assert_eq!(recorded.words("getReserveCaps(address)", index), caps);
        let emode = Word::from_u128(ours.emode.unwrap_or(0).into());
        assert_eq!(recorded.words("getReserveEModeCategory(address)", index), [emode]);
    }
}

#[test]
fn an_efficiency_mode_of_aave_is_read_and_a_missing_one_is_implausible() {
    let (recorded, mut answers) = (Recorded::new(), Answers::new());
    let pool = recorded.known("pool");
    for mode in [1, 2] {
        recorded.ask(&mut answers, aave_v3::emode_step(pool, mode));
    }
    let mode = aave_v3::Emode::from_answers(&answers, pool, 1);
    let expected = aave_v3::Terms {
        label: "stable".into(),
        ltv_ppm: 930_000,
        liquidation_threshold_ppm: 950_000,
        liquidation_bonus_ppm: 10_000,
        price_source: None,
    };
    assert_eq!(mode.terms, Ok(expected));
    // This version has no lists of the assets of a mode.
    assert_eq!([mode.collateral, mode.borrowable, mode.ltv_zero], [Err(Unknown::NoAnswer); 3]);
    assert_eq!(aave_v3::Emode::from_answers(&answers, pool, 2).terms, Err(Unknown::Implausible));
}

/// The vault and its adapters are ours, because no package has the published ones; the markets are in Morpho Blue itself.
#[test]
fn a_vault_of_morpho_vault_v2_is_read_with_what_its_adapters_hold() {
    let (recorded, mut answers) = (Recorded::of(include_str!("../fixtures/vault_v2.json")), Answers::new());
    let (contract, inner) = (recorded.known("vault"), recorded.known("inner"));
    recorded.ask(&mut answers, morpho_vault_v2::first_step(contract));
    let vault = Vault::from_answers(&answers, contract);
    assert_eq!((vault.asset, vault.total_assets), (Ok(recorded.known("usd")), Ok(1_000_000_000_000)));
    assert_eq!(vault.shortest_delay(), Ok(Delay::Seconds(259_200)));
    assert_eq!((vault.gates.let_everybody_in(), vault.gates.let_everybody_out()), (Ok(true), Ok(true)));
    assert_eq!(vault.liquidity_adapter, Ok(Some(recorded.known("ofVault"))));
    recorded.ask(&mut answers, vault.adapter_step(contract));
    let contracts = vault.adapters(&answers, contract).unwrap();
    assert_eq!(contracts, [recorded.known("ofVault"), recorded.known("ofMarkets")]);
    recorded.ask(&mut answers, contracts.iter().flat_map(|it| Adapter::first_step(*it)));
    let adapters: Vec<Adapter> = contracts.iter().map(|it| Adapter::from_answers(&answers, contract, *it)).collect();
    assert_eq!(adapters[0].kind, Ok(Kind::Vault(inner)));
    assert!(matches!(adapters[1].kind, Ok(Kind::Markets { length: 2, .. })), "{:?}", adapters[1]);
    recorded.ask(&mut answers, adapters.iter().flat_map(Adapter::position_step));
    let worth: Vec<Question> = adapters.iter().flat_map(|it| it.worth_step(&answers)).collect();
    recorded.ask(&mut answers, worth);
    let parts = morpho_vault_v2::exposures(&answers, contract, &vault, &adapters).unwrap();
    let [held, lent, idle_market, idle] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((held.place, held.share_ppm), (Place::Vault(inner), 500_000));
    let Place::Market(market) = lent.place else { panic!("{lent:?}") };
    assert_eq!((market.params.collateral_token, market.params.lltv_ppm()), (Some(recorded.known("eth")), Ok(625_000)));
    assert!(matches!(idle_market.place, Place::Market(market) if market.params.collateral_token.is_none()));
    assert_eq!((lent.share_ppm, idle_market.share_ppm), (200_000, 100_000));
    assert_eq!((idle.place, idle.assets), (Place::Idle, 200_000_000_000));
    recorded.ask(&mut answers, morpho_vault_v2::caps_step(contract, adapters[0].id()));
    let caps = Caps::from_answers(&answers, contract, adapters[0].id()).unwrap();
    let expected = Caps { absolute: 10_000_000_000_000, relative_ppm: 1_000_000, allocation: 500_000_000_000 };
    assert_eq!(caps, expected);
    assert!(!caps.is_full());
}
