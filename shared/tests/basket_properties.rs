//! Properties of basket weights, and examples of rebalances.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rds_shared::rules::baskets::definition::{Caps, Definition, EligibilityRule, Weighting};
use rds_shared::rules::baskets::eligibility::{Candidate, StaleInput};
use rds_shared::rules::baskets::rebalance::{Current, Halt, RebalanceOutcome, rebalance};
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use rds_shared::rules::baskets::version::{BasketVersion, ChangeSet};
use rds_shared::rules::baskets::weights::{Constituent, EligibleName, Infeasible, compute_weights};
use rds_shared::scoring::{MilliPoints, Ppm};
use rds_shared::wire::time::Timestamp;
use std::collections::BTreeMap;

fn names() -> impl Strategy<Value = Vec<EligibleName>> {
    let one = (0..12_u8, prop_oneof![400..=1000_i64, 700..=1000_i64]);
    vec(one, 0..40).prop_map(|drawn| {
        let named = drawn.into_iter().enumerate().map(|(place, (issuer, hundredths))| EligibleName {
            id: format!("n{place:02}"),
            issuer: format!("i{issuer}"),
            score: MilliPoints::saturating(10 * hundredths),
        });
        named.collect()
    })
}

fn weighting() -> impl Strategy<Value = Weighting> {
    let cap = |usual: Vec<i64>| prop_oneof![select(usual), 30_000..=1_000_000_i64];
    let caps = (cap(vec![200_000, 250_000, 333_333]), cap(vec![350_000, 400_000, 1_000_000]), 0..60_000_i64);
    (caps, 0..8_u32, select(vec![5000, 7000])).prop_map(|((single, issuer, floor), min_constituents, pivot)| {
        Weighting {
            pivot: MilliPoints::saturating(pivot),
            caps: Caps::new(Ppm(single), Ppm(issuer), Ppm(floor.min(single))).unwrap(),
            min_constituents,
        }
    })
}

fn held_by_issuer(constituents: &[Constituent]) -> BTreeMap<&str, i64> {
    constituents.iter().fold(BTreeMap::new(), |mut held, constituent| {
        *held.entry(constituent.issuer.as_str()).or_default() += constituent.weight.0;
        held
    })
}

/// Expected weights in floating point, independent of the production algorithm: bisection finds the factor between score excess and
/// weight.
fn by_bisection(constituents: &[Constituent], weighting: &Weighting) -> BTreeMap<String, f64> {
    let (single, issuer) = (weighting.caps.single_name().0 as f64, weighting.caps.issuer().0 as f64);
    let excess = |it: &Constituent| f64::from(it.score.get() - weighting.pivot.get());
    let of_issuer = |name: &str| constituents.iter().filter(|it| it.issuer == name).collect::<Vec<_>>();
    let held = |members: &[&Constituent], lambda: f64| -> f64 {
        members.iter().map(|it| single.min(lambda * excess(it))).sum()
    };
    let solve = |goal: f64, total: &dyn Fn(f64) -> f64| {
        let (mut low, mut high) = (0.0, 1e7);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if total(middle) < goal { low = middle } else { high = middle }
        }
        high
    };
    let issuers: Vec<&str> = held_by_issuer(constituents).into_keys().collect();
    let capped = |name: &str, lambda: f64| issuer.min(held(&of_issuer(name), lambda));
    let lambda = solve(1e6, &|lambda| issuers.iter().map(|name| capped(name, lambda)).sum());
    let mut weights = BTreeMap::new();
    for name in issuers {
        let members = of_issuer(name);
        let over = held(&members, lambda) > issuer;
        let own = if over { solve(issuer, &|lambda| held(&members, lambda)) } else { lambda };
        weights.extend(members.iter().map(|it| (it.id.clone(), single.min(own * excess(it)))));
    }
    weights
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_weights_sum_to_one_within_all_bounds(names in names(), weighting in weighting()) {
        let Ok(constituents) = compute_weights(&names, &weighting) else { return Ok(()) };
        prop_assert_eq!(constituents.iter().map(|it| it.weight.0).sum::<i64>(), 1_000_000);
        prop_assert!(constituents.len() >= weighting.min_constituents as usize);
        for constituent in &constituents {
            prop_assert!(constituent.weight <= weighting.caps.single_name());
            prop_assert!(constituent.weight >= weighting.caps.floor());
            prop_assert!(constituent.score > weighting.pivot);
        }
        for held in held_by_issuer(&constituents).into_values() {
            prop_assert!(held <= weighting.caps.issuer().0);
        }
    }

    #[test]
    fn the_order_of_the_names_does_not_matter(names in names(), weighting in weighting(), seed in any::<u64>()) {
        let mut shuffled = names.clone();
        shuffled.sort_by_key(|name| name.id.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte)));
        prop_assert_eq!(compute_weights(&shuffled, &weighting), compute_weights(&names, &weighting));
    }

    #[test]
    fn the_weights_agree_with_a_bisection(names in names(), weighting in weighting()) {
        let Ok(constituents) = compute_weights(&names, &weighting) else { return Ok(()) };
        let searched = by_bisection(&constituents, &weighting);
        for constituent in &constituents {
            let difference = (constituent.weight.0 as f64 - searched[&constituent.id]).abs();
            prop_assert!(difference <= 3.0, "{constituent:?}: {}", searched[&constituent.id]);
        }
    }

    #[test]
    fn a_basket_is_refused_only_when_its_caps_are_infeasible(names in names(), weighting in weighting()) {
        let Err(Infeasible::CapsTooTight { attainable }) = compute_weights(&names, &weighting) else { return Ok(()) };
        prop_assert!(attainable < Ppm::ONE);
        // Without a minimum weight every constituent is kept, so the attainable total is the sum of the capped weights.
        let unfloored = Weighting {
            caps: Caps::new(weighting.caps.single_name(), weighting.caps.issuer(), Ppm(0)).unwrap(),
            min_constituents: 0,
            ..weighting
        };
        let above: Vec<_> = names.iter().filter(|name| name.score > weighting.pivot).collect();
        let mut held: BTreeMap<&str, i64> = BTreeMap::new();
        for name in above {
            *held.entry(&name.issuer).or_default() += weighting.caps.single_name().0;
        }
        let sum: i64 = held.into_values().map(|held| held.min(weighting.caps.issuer().0)).sum();
        prop_assert_eq!(compute_weights(&names, &unfloored).is_ok(), sum >= 1_000_000);
    }

    #[test]
    fn a_change_log_leads_from_one_version_to_the_next(before in names(), after in names(), weighting in weighting()) {
        let (Ok(before), Ok(after)) = (compute_weights(&before, &weighting), compute_weights(&after, &weighting)) else { return Ok(()) };
        let changes = ChangeSet::between(&before, &after);
        let mut weights: BTreeMap<_, _> = before.iter().map(|it| (it.id.clone(), it.weight)).collect();
        for gone in &changes.removed {
            prop_assert_eq!(weights.remove(&gone.id), Some(gone.weight));
        }
        for change in &changes.weight_changed {
            prop_assert_eq!(weights.insert(change.id.clone(), change.weight), Some(change.previous_weight));
        }
        for new in &changes.added {
            prop_assert_eq!(weights.insert(new.id.clone(), new.weight), None);
        }
        prop_assert_eq!(weights, after.iter().map(|it| (it.id.clone(), it.weight)).collect());
    }
}

fn named(id: &str, issuer: &str, milli: i64) -> EligibleName {
    EligibleName { id: id.into(), issuer: issuer.into(), score: MilliPoints::saturating(milli) }
}

#[test]
fn a_refused_basket_names_the_reason() {
    let weighting = Weighting { pivot: MilliPoints::saturating(7000), caps: Caps::VAULTS, min_constituents: 5 };
    let one_issuer = ["A", "B", "C"].map(|id| named(id, "X", 9000));
    let others = [named("D", "Z", 8400), named("E", "W", 8200), named("F", "V", 8100)];
    let all = [one_issuer.as_slice(), &others].concat();
    assert_eq!(compute_weights(&all, &weighting), Err(Infeasible::CapsTooTight { attainable: Ppm(950_000) }));
    assert_eq!(compute_weights(&others, &weighting), Err(Infeasible::TooFewNames { names: 3, minimum: 5 }));
    let twice = [others.as_slice(), &others[..1]].concat();
    assert_eq!(compute_weights(&twice, &weighting), Err(Infeasible::RepeatedName { id: "D".into() }));
}

fn definition(methodology_version: &str) -> Definition {
    Definition {
        basket_id: "core".into(),
        methodology_version: methodology_version.into(),
        eligibility: EligibilityRule { min_tvl_usd: Some(1_000_000), ..EligibilityRule::default() },
        weighting: Weighting { pivot: MilliPoints::saturating(5000), caps: Caps::VAULTS, min_constituents: 5 },
    }
}

fn candidate(id: &str, milli: i64) -> Candidate {
    Candidate {
        id: id.into(),
        issuer: id.into(),
        protocol: Some(id.into()),
        score: Some(MilliPoints::saturating(milli)),
        asset_category: None,
        review_status: None,
        terminal_underlying_category: None,
        terminal_underlying_backing_offchain: None,
        tvl_usd: Some(2_000_000),
        age_days: None,
        hard_fail_since: None,
        stale: Vec::new(),
    }
}

fn market() -> Vec<Candidate> {
    [("a", 9000), ("b", 8500), ("c", 8000), ("d", 7500), ("e", 7000), ("f", 6500)]
        .map(|(id, mp)| candidate(id, mp))
        .into()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn first_version(now: Timestamp) -> BasketVersion {
    match rebalance(&definition("m1"), None, &market(), now) {
        Ok(RebalanceOutcome::Rebalanced { version, trigger: Trigger::Inception, changes }) => {
            assert_eq!(changes.added, version.constituents);
            version
        }
        other => panic!("{other:?}"),
    }
}

/// The state of a basket whose current version is the first one, `version`.
fn begun(version: &BasketVersion) -> Current<'_> {
    Current {
        version_id: "v1",
        version,
        last_rebalanced_at: version.effective_from,
        confirmed_under: &version.methodology_version,
    }
}

#[test]
fn a_basket_is_rebalanced_only_by_a_trigger() {
    let start = at("2026-10-05T00:00:00Z");
    let version = first_version(start);
    assert_eq!((version.effective_from, version.prior_version_id.as_deref()), (start, None));
    let current = begun(&version);
    let on = |candidates: &[Candidate], now: &str| rebalance(&definition("m1"), Some(current), candidates, at(now));
    let mut moved = market();
    moved[3].score = Some(MilliPoints::saturating(7210));
    assert_eq!(on(&moved, "2026-11-21T00:00:00Z"), Ok(RebalanceOutcome::NotDue));
    // The calendar triggers a rebalance, but the candidates are unchanged, so there is no new version.
    assert_eq!(on(&market(), "2026-12-31T16:00:00Z"), Ok(RebalanceOutcome::Unchanged));
    moved[3].score = Some(MilliPoints::saturating(7200));
    let Ok(RebalanceOutcome::Rebalanced { version: next, trigger, changes }) = on(&moved, "2026-11-21T00:00:00Z")
    else {
        panic!("a fall of 0.30 rebalances");
    };
    assert_eq!((trigger, next.prior_version_id.as_deref()), (Trigger::ScoreDown, Some("v1")));
    assert!(changes.added.is_empty() && changes.removed.is_empty() && !changes.weight_changed.is_empty());
    assert_ne!(next.content_hash(), version.content_hash());
}

#[test]
fn a_name_that_no_longer_qualifies_leaves_and_a_new_one_joins() {
    let start = at("2026-10-05T00:00:00Z");
    let version = first_version(start);
    let current = begun(&version);
    let mut later = market();
    later[5].score = Some(MilliPoints::saturating(4000));
    later.push(candidate("g", 9500));
    let outcome = rebalance(&definition("m1"), Some(current), &later, at("2026-11-21T00:00:00Z"));
    let Ok(RebalanceOutcome::Rebalanced { trigger, changes, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(trigger, Trigger::TierCross);
    assert_eq!((changes.added[0].id.as_str(), changes.removed[0].id.as_str()), ("g", "f"));
}

#[test]
fn stale_inputs_or_too_few_names_halt_the_rebalance() {
    let start = at("2026-10-05T00:00:00Z");
    let version = first_version(start);
    let current = begun(&version);
    let later = at("2026-12-31T16:00:00Z");
    // A TVL that was not read is served as 0. It must halt the rebalance, not remove the vault.
    let mut unread = market();
    unread[1] = Candidate { tvl_usd: Some(0), stale: vec![StaleInput::TvlUnavailable], ..unread[1].clone() };
    let halt = Halt::Stale { id: "b".into(), input: StaleInput::TvlUnavailable };
    assert_eq!(rebalance(&definition("m1"), Some(current), &unread, later), Err(halt));
    // A quarantined newcomer halts only if it would otherwise become a constituent.
    let mut newcomer = market();
    newcomer.push(Candidate { stale: vec![StaleInput::Quarantine], ..candidate("g", 9500) });
    assert!(rebalance(&definition("m1"), Some(current), &newcomer, later).is_err());
    newcomer[6].tvl_usd = Some(10);
    assert_eq!(rebalance(&definition("m1"), Some(current), &newcomer, later), Ok(RebalanceOutcome::Unchanged));
    let few = &market()[..4];
    let halt = Halt::Infeasible(Infeasible::TooFewNames { names: 4, minimum: 5 });
    assert_eq!(rebalance(&definition("m2"), Some(current), few, start), Err(halt));
}
