//! The fault campaign of the providers: a real node behind three operators, of which one answers badly, and sometimes a second one.
//!
//! Each seed draws a fault, when it happens, and whose provider has it, and then reads everything that the service reads of a chain. What is
//! agreed is compared with what the node itself says at the block's hash. `e2e/FAULTS.md` says what is shown and how to run more seeds:
//! `RDS_FAULT_SEEDS` is their number and `RDS_FAULT_SEED` the first one.

#![expect(clippy::disallowed_methods, reason = "the tests measure how long a reading takes")]

mod dice;
mod fault;
mod hostile;
mod node;
mod proxy;
mod reading;

use dice::Dice;
use fault::Fault;
use futures_util::stream::{self, StreamExt};
use node::{Node, World};
use proxy::{Chain, Plan, Proxy};
use rds_rpc::agree::Reader;
use rds_rpc::file::Providers;
use reading::{Seen, Truth};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Seeds of an ordinary test run: each fault twice, and some more.
const SEEDS: u64 = 50;
/// Seeds that run at the same time.
const AT_ONCE: usize = 12;
/// Longest time of everything that a seed reads. A provider is slow by 30 seconds.
const LONGEST: Duration = Duration::from_secs(10);
const OPERATORS: [&str; 3] = ["operator-0", "operator-1", "operator-2"];

/// What a seed draws.
#[derive(Debug, Clone)]
struct Drawn {
    /// By operator.
    plans: [Option<Plan>; 3],
    faulty: usize,
    fault: Fault,
    /// Whether more than one of the operators has a fault, so that something may stay unread.
    is_second_faulty: bool,
}

fn draw(seed: u64, dice: &mut Dice) -> Drawn {
    // In turn, so that few seeds already have every fault.
    let fault = Fault::ALL[(seed % Fault::ALL.len() as u64) as usize];
    let faulty = dice.below(3);
    let method = match fault {
        Fault::OlderBlock | Fault::IgnoredHash | Fault::GasStarved | Fault::FalseRevert => "eth_call",
        Fault::EmptyLogs | Fault::FewerLogs => "eth_getLogs",
        Fault::Slow => dice.pick(&["", "", "eth_call", "eth_getLogs", "eth_getBlockByNumber"]),
        Fault::Behind | Fault::Fork | Fault::OtherChain | Fault::FlippedWord | Fault::NoBatches => "",
        _ => dice.pick(&["", "", "eth_call", "eth_getLogs", "eth_getBlockByNumber", "eth_getStorageAt", "eth_chainId"]),
    };
    // A node on a fork or behind is so in every answer.
    let one_of = if matches!(fault, Fault::Behind | Fault::Fork) { 1 } else { dice.pick(&[1, 1, 2, 4]) };
    let mut plans = [None; 3];
    plans[faulty] = Some(Plan { fault, method, one_of });
    let mut is_second_faulty = false;
    // A quorum that needs a slow operator waits for 20 seconds, which an ordinary run has no time for.
    let is_patient = seed >= SEEDS;
    let without_lie: Vec<Fault> =
        Fault::WITHOUT_LIE.into_iter().filter(|fault| is_patient || *fault != Fault::Slow).collect();
    if dice.one_of(4) && (is_patient || fault != Fault::Slow) {
        // The second one does not lie, or has the same fault: two nodes that ignore the block agree with each other.
        let shared = matches!(fault, Fault::IgnoredHash | Fault::OlderBlock | Fault::Behind | Fault::GasStarved);
        let other = if shared && dice.one_of(2) { fault } else { dice.pick(&without_lie) };
        let (method, one_of) = if other == fault { (method, one_of) } else { ("", 3) };
        plans[(faulty + 1) % 3] = Some(Plan { fault: other, method, one_of });
        // Now and then the third one fails as well, so that the liar is alone.
        if dice.one_of(2) {
            plans[(faulty + 2) % 3] = Some(Plan { fault: dice.pick(&without_lie), method: "", one_of: 2 });
        }
        is_second_faulty = true;
    }
    Drawn { plans, faulty, fault, is_second_faulty }
}

/// What a seed showed.
struct Shown {
    fault: Fault,
    injected: u64,
    shown: u64,
    agreed: u64,
    /// What is wrong; empty if nothing is.
    wrong: Vec<String>,
    took: Duration,
}

async fn run(seed: u64, chain: &Chain, truth: &Truth) -> Shown {
    let mut dice = Dice::new(seed);
    let drawn = draw(seed, &mut dice);
    let mut proxies = Vec::new();
    for plan in drawn.plans {
        proxies.push(Proxy::start(chain, plan, Dice::new(dice.roll())).await);
    }
    let providers: Vec<String> = proxies
        .iter()
        .zip(OPERATORS)
        .map(|(proxy, operator)| {
            format!(r#"{{"url": "{}", "operator": "{operator}", "requests_per_second": 10000}}"#, proxy.url)
        })
        .collect();
    let file = format!(r#"{{"chains": [{{"chain_id": 31337, "quorum": 2, "providers": [{}]}}]}}"#, providers.join(","));
    let mut reader = Reader::new(&Providers::parse(&file, &BTreeMap::new()).unwrap().chains[0]).unwrap();
    // Who serves another chain is asked of each provider alone, for an operator who waits: a slow one is waited for there.
    let is_slow = drawn.plans.iter().flatten().any(|plan| plan.fault == Fault::Slow);
    let others = if is_slow { Vec::new() } else { reader.of_other_chains().await };
    let started = Instant::now();
    let Seen { mut wrong, agreed, missing, mut named } = truth.compare(&mut reader).await;
    let took = started.elapsed();
    named.extend(others.into_iter().filter(|(_, chain)| chain.is_ok()).map(|(operator, _)| operator));
    if !drawn.is_second_faulty {
        wrong.extend(missing.iter().map(|what| format!("one faulty operator keeps out {what}")));
        let others = named.iter().filter(|operator| **operator != OPERATORS[drawn.faulty]);
        wrong.extend(others.map(|operator| format!("{operator} is honest and named")));
        if took > LONGEST {
            wrong.push(format!("it took {took:?}"));
        }
    }
    let (mut injected, mut shown) = (0, 0);
    for ((plan, proxy), operator) in drawn.plans.iter().zip(&proxies).zip(OPERATORS) {
        let meter = reader.meters().of(operator).unwrap();
        let Some(plan) = plan else { continue };
        let (of_proxy, of_meter) = (proxy.injected(), plan.fault.shown(meter));
        // Where the two others fail, there may be nothing that a lie could differ from.
        let is_alone = drawn.plans.iter().all(Option::is_some);
        let expected = match plan.fault.fails_each_request() {
            true => of_proxy,
            false if is_alone => 0,
            false => of_proxy.min(1),
        };
        if of_meter < expected {
            wrong.push(format!(
                "{operator}: {:?} happened {of_proxy} times, and its meter shows {of_meter}: {meter:?}",
                plan.fault
            ));
        }
        if plan.fault == drawn.fault {
            injected += of_proxy;
            shown += of_meter;
        }
    }
    let wrong = wrong.into_iter().map(|what| format!("seed {seed}, {drawn:?}: {what}")).collect();
    Shown { fault: drawn.fault, injected, shown, agreed, wrong, took }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_fault_of_a_provider_becomes_a_fact_and_every_one_is_counted() {
    let node = Node::start().await;
    let world = World::create(&node).await;
    let truth = Arc::new(Truth::read(&node, &world).await);
    let chain = Arc::new(truth.chain(&node).await);
    let (first, seeds) = (number("RDS_FAULT_SEED", 0), number("RDS_FAULT_SEEDS", SEEDS));
    let started = Instant::now();
    let shown: Vec<Shown> = stream::iter(first..first.saturating_add(seeds))
        .map(|seed| {
            let (chain, truth) = (Arc::clone(&chain), Arc::clone(&truth));
            async move { tokio::spawn(async move { run(seed, &chain, &truth).await }).await.unwrap() }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut by_fault: BTreeMap<Fault, (u64, u64, u64)> = BTreeMap::new();
    let (mut agreed, mut longest) = (0, Duration::ZERO);
    for it in &shown {
        let (runs, injected, counted) = by_fault.entry(it.fault).or_default();
        (*runs, *injected, *counted) = (*runs + 1, *injected + it.injected, *counted + it.shown);
        agreed += it.agreed;
        longest = longest.max(it.took);
    }
    for (fault, (runs, injected, counted)) in &by_fault {
        println!("{fault:?}: {runs} seeds, {injected} faulty answers, {counted} counted");
    }
    println!(
        "{seeds} seeds from {first} on in {:?}, the longest {longest:?}; {agreed} values agreed",
        started.elapsed()
    );
    let wrong: Vec<&String> = shown.iter().flat_map(|it| &it.wrong).collect();
    for what in wrong.iter().take(40) {
        println!("{what}");
    }
    assert!(wrong.is_empty(), "{} findings; repeat one with RDS_FAULT_SEED=N RDS_FAULT_SEEDS=1", wrong.len());
    // A campaign in which a fault never happens shows nothing of it.
    if seeds >= SEEDS {
        for fault in Fault::ALL {
            assert!(by_fault.get(&fault).is_some_and(|(_, injected, _)| *injected > 0), "{fault:?} never happened");
        }
    }
}
