//! Each planted fault is found: the checks of a world can fail.

use rds_world::ether::Planted;
use rds_world::scenario::Scenario;
use rds_world::world::World;

/// Whether a small world with this fault is found to be wrong, in a sentence that contains `words`, within a few seeds.
fn is_found(planted: Planted, words: &str) -> bool {
    (1..=6).any(|seed| {
        let world = World::new(Scenario { planted, ..Scenario::small(seed) }).unwrap();
        world.run();
        world.ether.violations().iter().any(|violation| violation.contains(words))
    })
}

#[test]
fn a_key_object_that_forgets_its_disk_is_found() {
    assert!(is_found(Planted { object_forgets_its_disk: true, ..Planted::default() }, "in the window before"));
}

#[test]
fn a_reservation_that_is_spent_after_its_end_is_found() {
    assert!(is_found(
        Planted { reservation_outlives_its_end: true, ..Planted::default() },
        "after the end of its reservation"
    ));
}

#[test]
fn a_settlement_that_hides_requests_is_found() {
    assert!(is_found(Planted { settlement_hides_requests: true, ..Planted::default() }, "in the window before"));
}

#[test]
fn an_acknowledgement_that_does_not_wait_for_leases_is_found() {
    assert!(is_found(Planted { acknowledgement_does_not_wait: true, ..Planted::default() }, "after its revocation"));
}

#[test]
fn an_address_object_that_forgets_its_disk_is_found() {
    assert!(is_found(Planted { address_object_forgets_its_disk: true, ..Planted::default() }, "in a minute"));
}

/// Whether a small world of readers with this fault is found, within some seeds, to serve what is older than acknowledged.
fn is_stale(planted: Planted) -> bool {
    (1..=24).any(|seed| {
        let world = World::new(Scenario { planted, ..Scenario::readers(seed) }).unwrap();
        world.run();
        world.publication.facts.reads.get().stale > 0
    })
}

#[test]
fn an_acknowledged_change_that_does_not_wait_for_leases_is_found() {
    assert!(is_stale(Planted { acknowledgement_does_not_wait: true, ..Planted::default() }));
}

#[test]
fn tag_versions_that_are_not_stored_are_found() {
    assert!(is_stale(Planted { tag_object_stores_nothing: true, ..Planted::default() }));
}

#[test]
fn an_answer_that_claims_a_change_it_lacks_is_found() {
    assert!(is_stale(Planted { origin_states_newer_versions: true, ..Planted::default() }));
}

#[test]
fn an_old_answer_to_a_lease_renewal_is_found() {
    assert!(is_stale(Planted { lease_answers_are_old: true, ..Planted::default() }));
}
