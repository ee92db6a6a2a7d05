//! The same seed gives the same log.

use rds_world::scenario::Scenario;
use rds_world::world::World;

fn log(scenario: Scenario) -> String {
    let world = World::new(scenario).unwrap();
    world.run();
    world.ether.journal.text()
}

/// Limits, readers and rows in one world.
fn whole(seed: u64) -> Scenario {
    Scenario { requests: 40_000, reads_per_second: 40, has_replica: true, ..Scenario::small(seed) }
}

#[test]
fn the_same_seed_gives_the_same_log_to_the_byte_and_another_seed_another_one() {
    let first = log(whole(11));
    assert!(first.lines().count() > 40_000, "the log has a line for each request");
    for part in
        ["Reserve", "a new isolate", "is cut off", "restarts at", "is set by", "is acknowledged", "rds-replica; hit"]
    {
        assert!(first.contains(part), "nothing of the kind happened: {part}");
    }
    assert!(first == log(whole(11)), "two runs of one seed differ");
    assert!(first != log(whole(12)), "the seed changes nothing");
}
