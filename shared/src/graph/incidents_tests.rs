//! Tests of incident exposure: holders are exposed in proportion, overlapping incidents count once, and totals add up.

use super::*;
use crate::model::ids::{Address, ChainId};
use crate::scoring::Ppm;
use proptest::prelude::*;

fn key(number: u8) -> VaultKey {
    VaultKey { chain_id: ChainId(1), address: Address::from_evm_bytes([number; 20]) }
}

/// Vaults of protocol `p` with a TVL of 100 dollars each, and their shares in other vaults.
fn facts(nestings: &[(u8, &[(u8, i64)])]) -> Facts {
    let vault = |(number, parts): &(u8, &[(u8, i64)])| VaultFacts {
        key: key(*number),
        protocol: Some("p".into()),
        tvl: Some(Usd::from_micros(100_000_000)),
        parts: Some(
            parts
                .iter()
                .map(|(inner, share)| Part { share: Ppm(*share), holding: Holding::Vault(key(*inner)) })
                .collect(),
        ),
        ..with_incidents_as_clusters(
            &VaultFacts {
                key: key(*number),
                curator: None,
                protocol: None,
                clusters: Vec::new(),
                signer_sets: Vec::new(),
                tvl: None,
                idle: None,
                parts: None,
            },
            Vec::new(),
        )
    };
    Facts::new(nestings.iter().map(vault).collect()).unwrap()
}

fn incident(event_id: u64, hit: &[u8]) -> Incident {
    Incident {
        event_id,
        title: "Drained".into(),
        severity: "Critical".into(),
        incident_severity: None,
        occurred_at: Timestamp::from_seconds(1_000 + event_id as i64),
        vault_keys: hit.iter().map(|number| key(*number)).collect(),
    }
}

#[test]
fn a_holder_is_exposed_in_proportion_and_overlapping_incidents_count_once() {
    let facts = facts(&[(1, &[]), (2, &[]), (3, &[(1, 500_000), (2, 200_000)]), (4, &[])]);
    let map =
        IncidentMap::build(&facts, alloc::vec![incident(7, &[1]), incident(8, &[1, 2]), incident(9, &[99])]).unwrap();
    let holder = map.exposure(&facts, &key(3)).unwrap();
    assert_eq!(
        (holder.share, holder.usd_exposure.unwrap().to_string().as_str()),
        (Share::from_ppm(Ppm(700_000)).unwrap(), "70")
    );
    let listed: Vec<_> = holder
        .incidents
        .iter()
        .map(|it| (it.incident.event_id, it.is_direct, it.usd_exposure.unwrap().to_string()))
        .collect();
    assert_eq!(listed, [(8, false, "70".into()), (7, false, "50".into())]);
    assert_eq!(map.exposure(&facts, &key(1)).unwrap().share, Share::ONE);
    assert_eq!(map.exposure(&facts, &key(4)).unwrap().share, Share::ZERO);
    assert_eq!(map.exposure(&facts, &key(99)), None);

    let summary = map.summary(&facts);
    assert_eq!((summary.vault_count, summary.issuer_count), (3, 1));
    assert_eq!(summary.total_incident_exposure_usd.to_string(), "200", "the holder's position is not added again");
    assert_eq!((summary.issuers[0].incident_count, summary.issuers[0].vault_count), (2, 2));
    assert_eq!(summary.results["p"].incidents[0].event_id, 8, "newest first");
}

proptest! {
    #[test]
    fn incident_exposure_is_at_most_the_whole_vault_and_at_least_that_of_each_incident(
        edges in proptest::collection::vec((0..6_u8, 0..6_u8, 0..=250_000_i64), 0..12),
        hits in proptest::collection::vec(proptest::collection::vec(0..6_u8, 1..4), 1..4),
    ) {
        let mut nestings: BTreeMap<u8, Vec<(u8, i64)>> = (0..6).map(|number| (number, Vec::new())).collect();
        for (holder, held, share) in edges {
            let parts = nestings.get_mut(&holder).unwrap();
            if parts.len() < 4 {
                parts.push((held, share));
            }
        }
        let slices: Vec<(u8, &[(u8, i64)])> = nestings.iter().map(|(number, parts)| (*number, parts.as_slice())).collect();
        let facts = facts(&slices);
        let incidents = hits.iter().enumerate().map(|(id, hit)| incident(id as u64, hit)).collect();
        let map = IncidentMap::build(&facts, incidents).unwrap();
        for number in 0..6 {
            let exposure = map.exposure(&facts, &key(number)).unwrap();
            prop_assert!(exposure.share <= Share::ONE);
            prop_assert_eq!(exposure.share > Share::ZERO || exposure.incidents.iter().all(|it| it.share == Share::ZERO), true);
            prop_assert!(exposure.incidents.iter().all(|it| it.share <= exposure.share));
            prop_assert!(exposure.incidents.iter().all(|it| !it.is_direct || it.share == Share::ONE));
        }
        let summary = map.summary(&facts);
        prop_assert_eq!(summary.issuers.iter().fold(Usd::ZERO, |sum, it| sum.plus(it.incident_exposure_usd)), summary.total_incident_exposure_usd);
    }
}
