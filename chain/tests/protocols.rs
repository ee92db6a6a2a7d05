//! The adapters against the recorded answers of published contracts; `fixtures/README.md` says how they were made.

use rds_chain::abi::{Event, Function, Word};
use rds_chain::adapt::feed::{self, NoPrice, Price};
use rds_chain::adapt::governance::{
    Answer, Code, Controlled, Delay, Doubt, Graph, Kind, Link, Options, Question, Signers, Walk,
};
use rds_chain::adapt::holders;
use rds_chain::adapt::token::{self, Token};
use rds_chain::adapt::{CallAnswer, Unknown};
use rds_chain::failure::{self, Failure, Response};
use rds_chain::logs::{self, Asked, BlockRange, Log, LogError, Parameters};
use rds_chain::plan::Reading;
use rds_chain::reader::Outcome;
use rds_chain::{Address, Block, hex, result};
use serde_json::{Value, json};

fn recorded() -> Value {
    serde_json::from_str(include_str!("../fixtures/protocols.json")).unwrap()
}

fn block(recorded: &Value) -> Block {
    result::block(serde_json::from_str(&recorded["block"].to_string()).unwrap()).unwrap()
}

fn address(value: &Value) -> Address {
    value.as_str().unwrap().parse().unwrap()
}

fn word(value: &Value) -> Word {
    Word(hex::decode_array(value.as_str().unwrap()).unwrap())
}

/// What the node's response to a call means: its result or its error object are recorded.
fn call(entry: &Value) -> CallAnswer {
    let mut body = json!({"jsonrpc": "2.0", "id": 1});
    body.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
    let body = body.to_string();
    let result = failure::read(Response { status: 200, retry_after: None, body: body.as_bytes() }, 1)?;
    Ok(result::bytes(result, 4_096).unwrap())
}

/// The same as the reader would give it.
fn reading(entry: &Value) -> Reading {
    let answer = call(entry);
    match answer {
        Ok(bytes) => Reading::Read(Outcome::succeeded(&bytes)),
        Err(Failure::Reverted { data }) => Reading::Read(Outcome::failed(&data)),
        Err(failure) => Reading::Unread(failure),
    }
}

fn logs_of(recorded: &Value, logs: &Value, contracts: &[Address], topics: &[Word]) -> Result<Vec<Log>, LogError> {
    let text = logs.to_string();
    let range = BlockRange::new(0, block(recorded).id.number).unwrap();
    logs::decode(serde_json::from_str(&text).unwrap(), Asked { range, contracts, topics }, 500)
}

fn answer(recorded: &Value, question: &Question) -> Answer {
    let contract = |address: &Address| &recorded["contracts"][address.to_string()];
    match question {
        Question::Code(address) => Answer::Code(match &contract(address)["code"] {
            Value::String(code) => Code::of(&hex::decode(code).unwrap()),
            known => Code {
                bytes: usize::try_from(known["bytes"].as_u64().unwrap()).unwrap(),
                hash: word(&known["hash"]).0,
                clone_of: None,
                delegate: None,
                may_run_foreign_code: known["may_run_foreign_code"].as_bool().unwrap(),
            },
        }),
        Question::Storage { contract: address, slot } => {
            Answer::Storage(word(&contract(address)["storage"][slot.to_string()]))
        }
        Question::Call { contract: address, data } => {
            let entry = &contract(address)["calls"][hex::encode(data)];
            assert!(entry.is_object(), "{address} {} is not recorded", hex::encode(data));
            Answer::Call(call(entry))
        }
        Question::Simulation(call) => panic!("{call:?} is not recorded"),
        Question::RoleGrants(address) => {
            let topics = [Event::RoleGranted.topic()];
            let logs = logs_of(recorded, &contract(address)["role_grants"], &[*address], &topics).unwrap();
            let grant = |log: &Log| match log.parameters().unwrap() {
                Parameters::RoleGranted { role, account, .. } => (role, account),
                other => panic!("{other:?}"),
            };
            Answer::RoleGrants(logs.iter().map(grant).collect())
        }
    }
}

fn graph(recorded: &Value, name: &str, options: Options) -> Graph {
    let mut walk = Walk::new(address(&recorded["targets"][name]), options);
    let mut rounds = 0;
    while walk.finished().is_none() {
        let questions: Vec<Question> = walk.next().cloned().collect();
        for question in questions {
            walk.record(&question, answer(recorded, &question)).unwrap();
        }
        rounds += 1;
        assert!(rounds <= 12, "{name}");
    }
    walk.finished().unwrap().clone()
}

fn weakest(recorded: &Value, name: &str) -> Controlled {
    graph(recorded, name, Options::default()).weakest()
}

fn code_hash(recorded: &Value, address: &str) -> [u8; 32] {
    let code = &recorded["contracts"][address]["code"];
    if let Some(code) = code.as_str() { Code::of(&hex::decode(code).unwrap()).hash } else { word(&code["hash"]).0 }
}

#[test]
fn controllers_of_published_contracts_are_found() {
    let recorded = recorded();
    let two_days = Delay::Seconds(172_800);
    let threshold = |needed, of| Signers::Threshold { needed, of };
    for (name, timelock, signers, steps) in [
        // The proxy's administrator obeys the timelock, whose proposer is the Safe of 3 of 5; the owner is Compound's timelock, which the
        // Safe of 2 of 3 administers.
        ("transparent", two_days, threshold(2, 3), 2),
        ("beaconProxy", Delay::Seconds(0), threshold(2, 3), 2),
        ("uups", Delay::Seconds(0), threshold(2, 3), 1),
        ("clone", Delay::Seconds(86_400), threshold(1, 1), 2),
        ("roleList", Delay::Seconds(0), threshold(3, 5), 1),
        ("ofAccount", Delay::Seconds(0), threshold(1, 1), 1),
        ("ofDelegated", Delay::Seconds(0), threshold(1, 1), 1),
        ("ofCompound", two_days, threshold(2, 3), 2),
        ("ofAdminTimelock", Delay::Seconds(86_400), threshold(1, 1), 2),
        ("pending", Delay::Seconds(0), threshold(1, 1), 1),
        ("renounced", Delay::Immutable, Signers::Immutable, 0),
        ("ofModuleSafe", Delay::Unknown, Signers::Unknown, 1),
        ("ofOther", Delay::Unknown, Signers::Unknown, 1),
    ] {
        let found = weakest(&recorded, name);
        assert_eq!((found.timelock, found.signers, found.path.len()), (timelock, signers, steps), "{name}: {found:?}");
    }
    assert_eq!(weakest(&recorded, "ofModuleSafe").doubt, Some(Doubt::UnknownModule));
    assert_eq!(weakest(&recorded, "ofOther").doubt, Some(Doubt::OtherContract));
}

#[test]
fn the_whole_graph_of_a_proxy_is_kept() {
    let recorded = recorded();
    let graph = graph(&recorded, "transparent", Options::default());
    assert_eq!(graph.is_upgradeable(), Some(true));
    let kinds: Vec<&Kind> = graph.nodes.iter().map(|node| &node.kind).collect();
    assert!(matches!(kinds[0], Kind::Target { is_upgradeable: true }));
    assert_eq!(kinds[1], &Kind::Administrator);
    assert_eq!(graph.nodes[0].edges[0].link, Link::ProxyAdmin);
    assert_eq!(kinds.iter().filter(|kind| matches!(kind, Kind::Timelock { delay: 172_800 })).count(), 2);
    let safe = |needed| {
        kinds.iter().find_map(|kind| match kind {
            Kind::Safe { threshold, owners, version, guard } if *threshold == needed => {
                Some((owners.len(), version.as_str(), guard.is_some()))
            }
            _ => None,
        })
    };
    assert_eq!((safe(3), safe(2)), (Some((5, "1.5.0", false)), Some((3, "1.5.0", true))));
    assert!(graph.nodes.iter().all(|node| node.doubts.is_empty()));
    for (name, is_upgradeable) in [("uups", true), ("beaconProxy", true), ("clone", false), ("ofAccount", false)] {
        let graph = self::graph(&recorded, name, Options::default());
        assert_eq!(graph.is_upgradeable(), Some(is_upgradeable), "{name}");
    }
}

#[test]
fn reviewed_code_of_controllers_and_modules_decides() {
    let recorded = recorded();
    let safe = graph(&recorded, "roleList", Options::default()).weakest().path[0].address;
    let code = |address: &str| code_hash(&recorded, address);
    let (singleton, module) = (recorded["singleton"].as_str().unwrap(), recorded["module"].as_str().unwrap());
    let known_controllers = [code(singleton), code(&safe.to_string())].into();
    let known_modules = [code(module)].into();
    let options = Options { known_controllers: Some(known_controllers), known_modules, ..Options::default() };
    let reviewed = graph(&recorded, "ofModuleSafe", options.clone()).weakest();
    assert_eq!((reviewed.timelock, reviewed.signers), (Delay::Seconds(0), Signers::Threshold { needed: 2, of: 3 }));
    // Its timelock's code is not among the known code.
    assert_eq!(graph(&recorded, "ofCompound", options).weakest().doubt, Some(Doubt::UnknownCode));
}

#[test]
fn feeds_are_judged_at_the_time_of_the_block() {
    let recorded = recorded();
    let time = block(&recorded).time;
    let judged = |name: &str, heartbeat: u64, time: u64| {
        let of = |signature: &str| &recorded["feeds"][name]["answers"][signature];
        let aggregator = feed::aggregator(Some(&reading(of("aggregator()"))));
        assert_eq!(aggregator, Ok(address(&recorded["feeds"][name]["aggregator"])));
        let bounds = feed::bounds(Some(&reading(of("minAnswer()"))), Some(&reading(of("maxAnswer()"))));
        assert_eq!(bounds.unwrap().min.is_some(), name != "stale", "{name}");
        let round = feed::round(Some(&call(of("latestRoundData()"))));
        let decimals = reading(of("decimals()"));
        feed::judge(round, Some(&decimals), bounds, heartbeat, time)
            .map(|Price { answer, decimals, .. }| (answer, decimals))
    };
    assert_eq!(judged("sound", 3_600, time), Ok((Word::from_u128(300_000_000_000), 8)));
    assert_eq!(judged("lowest", 3_600, time), Err(NoPrice::AtLowestAnswer));
    assert_eq!(judged("highest", 3_600, time), Err(NoPrice::AtHighestAnswer));
    assert_eq!(judged("negative", 3_600, time), Err(NoPrice::NotPositive));
    assert!(matches!(judged("stale", 3_600, time), Err(NoPrice::Stale { age: 7_200..7_300 })));
    assert_eq!(judged("stale", 86_400, time), Ok((Word::from_u128(100_000_000), 8)));
    assert_eq!(judged("sound", 3_600, time - 3_600), Err(NoPrice::AfterTheBlock));
    let description = feed::description(Some(&call(&recorded["feeds"]["sound"]["answers"]["description()"])));
    assert_eq!(description.as_deref(), Ok("v0.8/tests/MockV3Aggregator.sol"));
}

fn token(recorded: &Value, name: &str) -> Token {
    // The fields' order is that of the signatures that the calldata names.
    let readings: Vec<Option<Reading>> = token::fields(Address([0x11; 20]))
        .iter()
        .map(|field| {
            let selector: [u8; 4] = field.calldata()[..4].try_into().unwrap();
            let function = Function::ALL.iter().find(|function| function.selector() == selector).unwrap();
            Some(reading(&recorded["tokens"][name]["answers"][function.signature()]))
        })
        .collect();
    Token::from_readings(&readings)
}

#[test]
fn powers_over_tokens_are_found() {
    let recorded = recorded();
    let coin = token(&recorded, "token");
    assert_eq!((coin.decimals, coin.total_supply), (Ok(6), Ok(Word::from_u128(950_000))));
    assert_eq!((coin.paused, coin.owner.map(|owner| owner.is_some())), (Ok(true), Ok(true)));
    assert_eq!((coin.minting, coin.freezing), (Ok(vec![Function::MinterRole]), Ok(vec![Function::IsBlacklisted])));
    let old = token(&recorded, "old");
    assert_eq!((old.decimals, old.paused, old.owner), (Ok(18), Err(Unknown::NoAnswer), Err(Unknown::NoAnswer)));
    assert_eq!((old.minting, old.freezing), (Ok(vec![]), Ok(vec![])));
    assert_eq!(token(&recorded, "yes").freezing, Err(Unknown::Implausible), "it answers anything");
    let text =
        |name: &str, function: &str| token::text(Some(&call(&recorded["tokens"][name]["answers"][function])), 64);
    assert_eq!(text("token", "symbol()").as_deref(), Ok("COIN"));
    assert_eq!(text("old", "symbol()").as_deref(), Ok("OLD"));
    assert_eq!(text("old", "name()").as_deref(), Ok("Old Coin"));
}

#[test]
fn transfers_add_up_to_the_balances_that_the_token_names() {
    let recorded = recorded();
    let logs = logs_of(&recorded, &recorded["logs"], &[], &[]).unwrap();
    for name in ["token", "vault"] {
        let contract = address(&recorded["tokens"][name]["contract"]);
        let is_transfer = |log: &&Log| log.address == contract && log.event() == Some(Event::Transfer);
        let transfers: Vec<Log> = logs.iter().filter(is_transfer).cloned().collect();
        let supply = token(&recorded, name).total_supply.unwrap();
        let holders = holders::balances(contract, &transfers, supply, 10).unwrap();
        let named = recorded["tokens"][name]["balances"].as_object().unwrap();
        let mut with_balance = 0;
        for (holder, balance) in named {
            let balance = Word(call(balance).unwrap().try_into().unwrap());
            let found = holders.iter().find(|(it, _)| *it == holder.parse().unwrap());
            assert_eq!(found.map_or(Word::ZERO, |(_, balance)| *balance), balance, "{name} {holder}");
            with_balance += usize::from(balance != Word::ZERO);
        }
        assert_eq!(holders.len(), with_balance, "{name}");
        assert!(holders::balances(contract, &transfers[1..], supply, 10).is_err(), "a missing log is noticed");
    }
}

#[test]
fn every_event_of_the_table_was_emitted_and_is_read() {
    let recorded = recorded();
    let topics: Vec<Word> = Event::ALL.iter().map(|event| event.topic()).collect();
    let logs = logs_of(&recorded, &recorded["logs"], &[], &topics).unwrap();
    for log in &logs {
        log.parameters().unwrap();
    }
    for event in Event::ALL {
        assert!(logs.iter().any(|log| log.event() == Some(*event)), "{}", event.signature());
    }
    let module_safe = logs.iter().find(|log| log.event() == Some(Event::RemovedOwner)).unwrap();
    assert!(matches!(module_safe.parameters(), Ok(Parameters::RemovedOwner { .. })));
    let delays = logs.iter().filter_map(|log| match log.parameters() {
        Ok(Parameters::MinDelayChange { new, .. }) => Some(new),
        _ => None,
    });
    assert_eq!(delays.collect::<Vec<_>>(), [Word::from_u128(172_800), Word::from_u128(86_400)]);
    assert_eq!(logs_of(&recorded, &recorded["logs"], &[], &topics[..1]), Err(LogError::NotAsked));
}
