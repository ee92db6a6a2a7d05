//! Reads in small worlds: once a change is acknowledged, no isolate that holds the lease serves an older list as current.

use rds_world::scenario::Scenario;
use rds_world::world::World;

#[test]
fn an_acknowledged_change_is_in_every_later_answer_of_an_isolate_that_holds_the_lease() {
    for seed in 1..=4 {
        let has_replica = seed % 2 == 0;
        let world = World::new(Scenario { has_replica, ..Scenario::readers(seed) }).unwrap();
        world.run();
        assert_eq!(world.ether.violations(), Vec::<String>::new(), "seed {seed}");
        let facts = &world.publication.facts;
        let reads = facts.reads.get();
        assert!(facts.acknowledgements.get() > 10, "seed {seed}: few changes were acknowledged");
        assert!(reads.answered > 1_000 && reads.answered * 2 > reads.sent, "seed {seed}: {reads:?}");
        assert_eq!(reads.from_replica > 0, has_replica, "seed {seed}: {reads:?}");
    }
}
