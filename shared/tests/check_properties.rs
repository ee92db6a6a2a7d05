//! Properties of checks and look-throughs.

mod graph_support;

use graph_support::{VAULTS, config, key, limits, mappings, portfolio, positions, vaults};
use proptest::prelude::*;
use proptest::sample::select;
use rds_shared::graph::amount::{Share, Usd};
use rds_shared::graph::check::{CheckOutcome, Verdict, check};
use rds_shared::graph::facts::{Facts, Holding, Reference, Trust, VaultFacts};
use rds_shared::graph::index::{ExposureIndex, Mapping};
use rds_shared::graph::limits::{Dimension, Limits};
use rds_shared::graph::look_through::ExposureGraph;
use rds_shared::graph::snapshot::{Manifest, Publication};
use rds_shared::model::ids::VaultKey;
use rds_shared::scoring::Ppm;
use rds_shared::wire::time::Timestamp;

type Given = Vec<(VaultKey, Vec<Mapping>)>;

/// Mappings of the first `VAULTS - 1` vaults. `positions` also draws the next two keys, which have no mappings.
fn given() -> impl Strategy<Value = Given> {
    proptest::collection::vec(mappings(), VAULTS - 1)
        .prop_map(|all| all.into_iter().enumerate().map(|(n, mappings)| (key(n), mappings)).collect())
}

fn checked(positions: &[(VaultKey, Usd)], given: &Given, limits: &Limits) -> CheckOutcome {
    check(&portfolio(positions), &ExposureIndex::from_mappings(given.clone()), limits)
}

fn snapshot(facts: &Facts) -> String {
    let built = Timestamp::from_seconds(0);
    Manifest::freeze([Publication::vaults(facts, None)], built).snapshot_id.to_hex()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_order_and_splitting_of_positions_do_not_matter(
        positions in positions(), given in given(), limits in limits(),
    ) {
        let whole = checked(&positions, &given, &limits);
        let mut cut: Vec<_> = positions.iter().rev().cloned().collect();
        let (vault, amount) = cut[0].clone();
        let half = Usd::from_micros(amount.micros() / 2);
        cut[0].1 = amount.minus(half);
        cut.push((vault, half));
        let mut turned = given.clone();
        turned.reverse();
        turned.iter_mut().for_each(|(_, mappings)| mappings.reverse());
        let again = checked(&cut, &turned, &limits);
        prop_assert_eq!(again.findings_hash(), whole.findings_hash());
        prop_assert_eq!(portfolio(&cut).hash(), portfolio(&positions).hash());
        prop_assert_eq!(again, whole);
    }

    #[test]
    fn a_stricter_limit_never_improves_the_verdict(
        positions in positions(), given in given(), limits in limits(),
        dimension in select(Dimension::ALL), stricter in 0..=1_000_000_i64,
    ) {
        let before = limits.get(dimension).unwrap_or(Ppm::ONE);
        let others = Dimension::ALL.iter().filter_map(|other| Some((*other, limits.get(*other)?)));
        let with = |limit| Limits::from_ppm(others.clone().chain([(dimension, limit)])).unwrap();
        let without = Limits::from_ppm(others.clone().filter(|(other, _)| *other != dimension)).unwrap();
        let lax = checked(&positions, &given, &with(before)).verdict;
        let strict = checked(&positions, &given, &with(Ppm(stricter.min(before.0)))).verdict;
        prop_assert!(strict >= lax, "{strict} is milder than {lax}");
        prop_assert!(lax >= checked(&positions, &given, &without).verdict);
    }

    #[test]
    fn an_uncertain_mapping_never_causes_a_rejection(
        positions in positions(), given in given(), limits in limits(),
        vault in 0..VAULTS - 1, dimension in select(Dimension::ALL), (verified, confidence) in
            select(vec![(false, 1_000_000), (false, 0), (true, 799_999)]),
    ) {
        let before = checked(&positions, &given, &limits).verdict;
        let mut more = given;
        let trust = Trust { verified, confidence: Ppm(confidence) };
        more[vault].1.push(Mapping { dimension, key: "new".into(), share: Share::ONE, trust });
        more[vault].1.push(Mapping { dimension, key: "k".into(), share: Share::ONE, trust });
        let after = checked(&positions, &more, &limits).verdict;
        prop_assert_eq!(after == Verdict::Reject, before == Verdict::Reject);
        prop_assert!(after >= before);
    }

    #[test]
    fn an_uncertain_mapping_in_the_facts_never_causes_a_rejection(
        positions in positions(), facts in vaults(), limits in limits(), vault in 0..VAULTS, id in select(vec!["s1", "b1", "new"]),
        what in 0..3_usize, (verified, confidence) in select(vec![(false, 1_000_000), (false, 0), (true, 799_999)]),
    ) {
        let verdict = |vaults: &[VaultFacts]| {
            let graph = ExposureGraph::build(Facts::new(vaults.to_vec()).unwrap());
            check(&portfolio(&positions), graph.index(), &limits).verdict
        };
        let mut more = facts.clone();
        let doubtful = Reference { id: id.into(), trust: Trust { verified, confidence: Ppm(confidence) } };
        let changed = &mut more[vault];
        let routes = changed.parts.iter_mut().flatten().filter_map(|part| match &mut part.holding {
            Holding::Asset(route) => Some(route),
            Holding::Vault(_) | Holding::Unpublished => None,
        });
        let routes = routes.chain(&mut changed.idle);
        match what {
            0 => changed.signer_sets.push(doubtful),
            1 => routes.for_each(|route| route.bridges.push(doubtful.clone())),
            _ => routes.for_each(|route| route.signer_sets.push(doubtful.clone())),
        }
        let (before, after) = (verdict(&facts), verdict(&more));
        prop_assert_eq!(after == Verdict::Reject, before == Verdict::Reject);
        prop_assert!(after >= before);
    }

    #[test]
    fn scaling_all_positions_does_not_change_the_findings(positions in positions(), given in given(), limits in limits(), factor in 1..1_000_u128) {
        let scaled: Vec<_> =
            positions.iter().map(|(vault, usd)| (vault.clone(), Usd::from_micros(usd.micros() * factor))).collect();
        let found = |positions: &[(VaultKey, Usd)]| {
            let outcome = checked(positions, &given, &limits);
            let found = outcome.findings.into_iter().map(|it| (it.dimension, it.exposure.key, it.kind, it.exposure.share));
            (outcome.verdict, found.collect::<Vec<_>>())
        };
        prop_assert_eq!(found(&scaled), found(&positions));
    }

    #[test]
    fn shares_of_a_whole_add_up_to_one_and_each_is_exact_to_a_millionth(
        positions in proptest::collection::vec(1..1_000_000_u128, 1..40), keys in 1..40_usize, dimension in select(Dimension::ALL),
    ) {
        let trust = Trust { verified: true, confidence: Ppm::ONE };
        let mapping = |n: usize| Mapping { dimension, key: (n % keys).to_string(), share: Share::ONE, trust };
        let given = (0..positions.len()).map(|n| (key(n), vec![mapping(n)])).collect();
        let of: Vec<_> = positions.iter().enumerate().map(|(n, cents)| (key(n), Usd::from_micros(cents * 10_000))).collect();
        let outcome = checked(&of, &given, &Limits::default());
        let listed = &outcome.exposures[&dimension];
        prop_assert_eq!(listed.iter().map(|it| it.share.0).sum::<i64>(), 1_000_000);
        let total = outcome.total_usd.micros();
        for exposure in listed {
            let share = u128::from(exposure.share.0.unsigned_abs());
            prop_assert!((share * total).abs_diff(exposure.usd.micros() * 1_000_000) < total);
        }
    }

    #[test]
    fn the_shares_and_amounts_of_a_look_through_add_up_exactly(vaults in vaults()) {
        let graph = ExposureGraph::build(Facts::new(vaults).unwrap());
        for vault in graph.facts().vaults() {
            let looked = graph.look_through(&vault.key).unwrap();
            let assets = looked.assets.iter().map(|asset| (asset.share, asset.usd_exposure));
            let all = assets.chain(looked.unattributed.iter().map(|gap| (gap.share, gap.usd_exposure)));
            let (mut shares, mut amounts) = (Share::ZERO, Usd::ZERO);
            for (share, usd) in all {
                prop_assert_eq!(usd.is_some(), vault.tvl.is_some());
                (shares, amounts) = (shares.plus(share), amounts.plus(usd.unwrap_or_default()));
            }
            prop_assert_eq!((shares, amounts), (Share::ONE, vault.tvl.unwrap_or_default()));
            for asset in &looked.assets {
                let borne = asset.bridges.iter().map(|it| it.share).chain(asset.oracles.iter().map(|it| it.share));
                prop_assert!(borne.max().unwrap_or_default() <= asset.share);
            }
            prop_assert!(looked.signer_sets.iter().all(|set| set.share <= Share::ONE));
            for own in &vault.signer_sets {
                prop_assert!(looked.signer_sets.iter().any(|set| set.id == own.id && set.share == Share::ONE));
            }
        }
    }

    #[test]
    fn every_reported_cycle_exists_and_every_cut_is_reported(vaults in vaults()) {
        let graph = ExposureGraph::build(Facts::new(vaults).unwrap());
        for vault in graph.facts().vaults() {
            let looked = graph.look_through(&vault.key).unwrap();
            for cycle in &looked.cycles {
                let holds = |holder: &VaultKey, held: &VaultKey| {
                    let place = graph.facts().position(holder).unwrap();
                    let parts = graph.facts().vaults()[place].parts.iter().flatten();
                    parts.into_iter().any(|part| part.holding == Holding::Vault(held.clone()))
                };
                let next = cycle.iter().cycle().skip(1);
                prop_assert!(cycle.iter().zip(next).all(|(holder, held)| holds(holder, held)), "{cycle:?}");
            }
            let cut = looked.unattributed.iter().any(|gap| gap.reason.as_str() == "cycle");
            prop_assert!(!cut || !looked.cycles.is_empty());
        }
    }

    #[test]
    fn the_snapshot_id_does_not_depend_on_the_order_of_facts(vaults in vaults(), place in 0..VAULTS) {
        let facts = Facts::new(vaults.clone()).unwrap();
        let mut turned = vaults.clone();
        turned.reverse();
        for vault in &mut turned {
            vault.clusters.reverse();
            vault.signer_sets.reverse();
            vault.parts.iter_mut().for_each(|parts| parts.reverse());
        }
        prop_assert_eq!(snapshot(&Facts::new(turned).unwrap()), snapshot(&facts));
        let mut changed = vaults;
        changed[place].curator = Some("another".into());
        prop_assert_ne!(snapshot(&Facts::new(changed).unwrap()), snapshot(&facts));
    }

    #[test]
    fn assets_and_the_unattributed_amount_add_up_to_the_portfolio(vaults in vaults(), positions in positions(), limits in limits()) {
        let graph = ExposureGraph::build(Facts::new(vaults).unwrap());
        let portfolio = portfolio(&positions);
        let outcome = check(&portfolio, graph.index(), &limits);
        let listed = outcome.exposures[&Dimension::Asset].iter().fold(Usd::ZERO, |sum, asset| sum.plus(asset.usd));
        prop_assert_eq!(listed.plus(outcome.unattributed_usd), portfolio.total());
        // The check's unattributed amount is the position-weighted sum of the vaults' unattributed shares.
        let lacking: u128 = portfolio.positions().map(|(vault, usd)| {
            let gaps = graph.look_through(vault).map_or(Share::ONE.get(), |it| it.unattributed.iter().map(|gap| gap.share.get()).sum());
            usd.micros() * u128::from(gaps)
        }).sum();
        let one = u128::from(Share::ONE.get());
        prop_assert!(outcome.unattributed_usd.micros().abs_diff(lacking / one) <= 1);
        let shares = |dimension| outcome.exposures[&dimension].iter().map(|it| it.share.0).sum::<i64>();
        let unattributed = i64::try_from(lacking / (portfolio.total().micros() * one / 1_000_000)).unwrap();
        prop_assert!((1_000_000 - shares(Dimension::Asset) - unattributed).abs() <= 1);
        let plain = |vault: &VaultKey| graph.facts().position(vault).is_some_and(|place| {
            !graph.facts().vaults()[place].parts.iter().flatten().any(|part| matches!(part.holding, Holding::Vault(_)))
        });
        if portfolio.positions().all(|(vault, _)| plain(vault)) {
            prop_assert_eq!(shares(Dimension::Chain), 1_000_000);
        }
        for exposure in outcome.exposures.values().flatten() {
            prop_assert!(exposure.usd <= portfolio.total().plus(Usd::from_micros(1)), "{exposure:?}");
        }
    }
}
