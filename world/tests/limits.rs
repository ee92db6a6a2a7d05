//! Limits in small worlds: exact whatever goes wrong, and used as far as they allow.

use rds_world::scenario::Scenario;
use rds_world::world::World;

#[test]
fn no_window_of_a_key_or_address_gets_more_than_its_limit_whatever_goes_wrong() {
    for seed in 1..=4 {
        let world = World::new(Scenario::small(seed)).unwrap();
        world.run();
        assert_eq!(world.ether.violations(), Vec::<String>::new(), "seed {seed}");
        let ledger = world.ledger.borrow();
        // Answers that were lost on their way were counted, so callers may get a few requests less than the limit.
        let exhausted = ledger.keys.iter().filter(|key| key.refused > 0 && key.fullest * 100 >= key.limit * 98);
        assert!(exhausted.count() >= 3, "seed {seed}: few keys used up their limit");
        assert!(
            ledger.keys.iter().map(|key| key.reserved).sum::<u64>() > 20_000,
            "seed {seed}: few reservations were used"
        );
        assert!(
            ledger.keys.iter().filter(|key| key.after_revocation > 0).count() >= 2,
            "seed {seed}: few keys were revoked"
        );
        assert!(ledger.addresses_refused > 0, "no address ever used up its limit");
    }
}
