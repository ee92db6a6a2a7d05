//! Tests of the walk to whoever can change a contract.

mod world;

use super::access::role;
use super::*;
use crate::abi::{Call, Function};
use std::string::ToString;
use std::vec;
use world::*;

fn known(delay: u64, needed: u32, of: u32) -> (Delay, Signers, Option<Doubt>) {
    (Delay::Seconds(delay), Signers::Threshold { needed, of }, None)
}

fn unknown(doubt: Doubt) -> (Delay, Signers, Option<Doubt>) {
    (Delay::Unknown, Signers::Unknown, Some(doubt))
}

const PROPOSER: &str = "PROPOSER_ROLE";

#[test]
fn an_owner_with_a_key_is_one_of_one_without_delay() {
    assert_eq!(World::default().target(address(2)).weakest(), known(0, 1, 1));
    let mut delegated = World::default().target(address(2));
    delegated.codes.insert(address(2), [&[0xef, 0x01, 0x00][..], &[7; 20]].concat());
    assert_eq!(delegated.weakest(), known(0, 1, 1), "EIP-7702");
}

#[test]
fn a_contract_without_owner_is_immutable_unless_it_may_change_in_another_way() {
    let immutable = (Delay::Immutable, Signers::Immutable, None);
    let bare = World::default().contract(TARGET, &[]);
    assert_eq!(bare.weakest(), immutable);
    assert_eq!(World::default().target(Address::ZERO).weakest(), immutable);
    let mut foreign = bare.clone();
    foreign.codes.insert(TARGET, vec![0x61, 0x00, 0xf4, 0xf4]);
    assert_eq!(foreign.weakest(), unknown(Doubt::ForeignCode));
    foreign.codes.insert(TARGET, vec![0x61, 0x00, 0xf4]);
    assert_eq!(foreign.weakest(), immutable, "the byte is data");
    assert_eq!(bare.slot(TARGET, IMPLEMENTATION_SLOT, address(5)).weakest(), unknown(Doubt::UpgradeAuthority));
    assert_eq!(World::default().weakest(), unknown(Doubt::NoCode));
}

#[test]
fn a_minimal_clone_is_judged_by_the_code_that_it_runs() {
    let clone = |code: Vec<u8>| {
        let mut world = World::default().contract(TARGET, &[]);
        let head = [0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73];
        let tail = [0x5a, 0xf4, 0x3d, 0x82, 0x80, 0x3e, 0x90, 0x3d, 0x91, 0x60, 0x2b, 0x57, 0xfd, 0x5b, 0xf3];
        world.codes.insert(TARGET, [&head[..], &[6; 20], &tail].concat());
        world.codes.insert(address(6), code);
        world.weakest()
    };
    assert_eq!(clone(vec![0x00]).0, Delay::Immutable);
    assert_eq!(clone(vec![0xf4]), unknown(Doubt::ForeignCode));
}

#[test]
fn a_safe_behind_a_timelock_has_the_timelocks_delay_and_the_safes_signers() {
    let (timelock, safe) = (address(2), address(3));
    let world = World::default().target(timelock).safe(safe, 3, 5, &[]);
    let proposed =
        world.timelock(timelock, 172_800, &[(role(PROPOSER), safe, true), (role(PROPOSER), address(4), false)]);
    assert_eq!(proposed.weakest(), known(172_800, 3, 5));
    let path = proposed.graph(Options::default()).weakest().path;
    assert_eq!(
        path,
        [Step { link: Link::Owner, address: timelock }, Step { link: Link::Role(role(PROPOSER)), address: safe },]
    );
    // An administrator with a key can propose, too, but waits as well.
    let administered =
        proposed.timelock(timelock, 172_800, &[(role(PROPOSER), safe, true), (Word::ZERO, address(4), true)]);
    assert_eq!(administered.weakest(), known(172_800, 1, 1));
}

#[test]
fn a_timelock_without_proposers_or_with_incomplete_logs() {
    let timelock = address(2);
    let world = World::default().target(timelock).timelock(timelock, 60, &[]);
    assert_eq!(world.weakest(), unknown(Doubt::DeadEnd), "what was proposed before may still be carried out");
    let mut silent = world.clone();
    silent.grants.clear();
    // The delay is sure, whoever proposes.
    assert_eq!(silent.weakest(), (Delay::Seconds(60), Signers::Unknown, Some(Doubt::Implausible)));
    // Its own code can be replaced without waiting.
    let replaceable = world.slot(timelock, IMPLEMENTATION_SLOT, address(9));
    assert_eq!(replaceable.weakest(), unknown(Doubt::UpgradeAuthority));
    assert_eq!(replaceable.slot(timelock, ADMIN_SLOT, address(4)).weakest(), known(0, 1, 1));
}

#[test]
fn the_weakest_way_counts() {
    let (timelock, safe, other) = (address(2), address(3), address(4));
    let slow = World::default().safe(safe, 3, 5, &[]).safe(other, 2, 7, &[]);
    let slow = slow.timelock(timelock, 60, &[(role(PROPOSER), safe, true), (role(PROPOSER), other, true)]);
    assert_eq!(slow.clone().target(timelock).weakest(), known(60, 2, 7), "fewest signers");
    let both = [(Function::Owner, word(timelock)), (Function::PendingOwner, word(safe))];
    assert_eq!(slow.contract(TARGET, &both).weakest(), known(0, 3, 5), "smallest delay");
}

#[test]
fn what_is_not_understood_is_unknown_unless_another_way_is_as_weak_as_can_be() {
    let strange = World::default().contract(address(2), &[(Function::Owner, word(address(9)))]);
    assert_eq!(strange.clone().target(address(2)).weakest(), unknown(Doubt::OtherContract));
    let with = |other| [(Function::Owner, word(address(2))), (Function::PendingOwner, word(other))];
    assert_eq!(strange.clone().contract(TARGET, &with(address(5))).weakest(), known(0, 1, 1));
    let safe = strange.safe(address(3), 2, 3, &[]).contract(TARGET, &with(address(3)));
    assert_eq!(safe.weakest(), (Delay::Seconds(0), Signers::Unknown, Some(Doubt::OtherContract)));
}

#[test]
fn a_safe_with_a_module_of_unknown_code_is_unknown() {
    let world = World::default().target(address(3)).safe(address(3), 2, 3, &[address(7)]);
    let world = world.contract(address(7), &[]);
    assert_eq!(world.weakest(), unknown(Doubt::UnknownModule));
    let known_modules = [Code::of(&[0x00]).hash].into();
    let reviewed = world.graph(Options { known_modules, ..Options::default() }).weakest();
    assert_eq!(reviewed.signers, Signers::Threshold { needed: 2, of: 3 });
}

#[test]
fn an_imitated_controller_is_found_out_by_its_code() {
    let mut world = World::default().target(address(3)).safe(address(3), 2, 3, &[]);
    world = world.slot(address(3), &Word::ZERO.to_string(), address(8)).contract(address(8), &[]);
    world.codes.insert(address(8), vec![0x08]);
    let judged = |world: &World, known: &[u8]| {
        let known = known.iter().map(|code| Code::of(&[*code]).hash).collect();
        world.graph(Options { known_controllers: Some(known), ..Options::default() }).weakest()
    };
    for known in [&[][..], &[0x00], &[0x08]] {
        assert_eq!(judged(&world, known).doubt, Some(Doubt::UnknownCode), "{known:?}");
    }
    assert_eq!(judged(&world, &[0x00, 0x08]).signers, Signers::Threshold { needed: 2, of: 3 });
    let timelock = World::default().target(address(2)).timelock(address(2), 60, &[(Word::ZERO, address(4), true)]);
    assert_eq!(judged(&timelock, &[]).timelock, Delay::Unknown, "its delay is not to be trusted either");
    assert_eq!(judged(&timelock, &[0x00]).timelock, Delay::Seconds(60));
}

#[test]
fn a_safe_whose_numbers_contradict_each_other_is_unknown() {
    for (threshold, owners) in [(0, 3), (4, 3), (1 << 64, 3), (1, 33)] {
        let world = World::default().target(address(3)).safe(address(3), threshold, owners, &[]);
        assert_eq!(world.weakest(), unknown(Doubt::Implausible), "{threshold} of {owners}");
    }
}

#[test]
fn a_proxy_is_controlled_through_its_administrator_and_a_beacon_by_its_owner() {
    let admin = [
        (Function::Owner, word(address(5))),
        (Function::UpgradeInterfaceVersion, Call::tuple().bytes(b"5.0.0").encode()),
    ];
    let proxy =
        World::default().contract(TARGET, &[]).slot(TARGET, ADMIN_SLOT, address(2)).contract(address(2), &admin);
    assert_eq!(proxy.weakest(), known(0, 1, 1));
    assert_eq!(proxy.graph(Options::default()).is_upgradeable(), Some(true));
    assert_eq!(proxy.clone().contract(address(5), &[]).weakest(), unknown(Doubt::OtherContract));
    let nameless =
        World::default().contract(TARGET, &[]).slot(TARGET, ADMIN_SLOT, address(2)).contract(address(2), &admin[..1]);
    assert_eq!(nameless.weakest(), unknown(Doubt::OtherContract), "an owner alone does not make it a ProxyAdmin");
    let beacon = [(Function::Owner, word(address(5))), (Function::Implementation, word(address(6)))];
    let world = World::default().contract(TARGET, &[]).slot(TARGET, BEACON_SLOT, address(2));
    assert_eq!(world.clone().contract(address(2), &beacon).weakest(), known(0, 1, 1));
    assert_eq!(world.contract(address(2), &beacon[1..]).weakest(), unknown(Doubt::OtherContract));
}

#[test]
fn the_slots_from_before_erc_1967_are_read() {
    let name = role("org.zeppelinos.proxy.admin").to_string();
    let proxy = World::default().contract(TARGET, &[]).slot(TARGET, &name, address(2));
    assert_eq!(proxy.weakest(), known(0, 1, 1));
    assert_eq!(name, "0x10d6a54a4754c8869d6886b5f5d7fbfa5b4522237ea5c60d11bc4e7a1ff9390b");
}

#[test]
fn a_role_with_more_holders_than_the_bound_is_too_large() {
    let mut world = World::default().timelock(TARGET, 0, &[]);
    let count = Call::new(Function::RoleMemberCount.selector()).word(Word::ZERO).encode();
    for (members, expected) in [(33, Doubt::TooLarge), (1, Doubt::Implausible)] {
        // One member is counted, but not named.
        world.calls.insert((TARGET, count.clone()), Word::from_u128(members).0.into());
        assert_eq!(world.weakest(), unknown(expected));
    }
    world.calls.remove(&(TARGET, count));
    world.grants.insert(TARGET, (0..33).map(|holder| (Word::ZERO, address(holder))).collect());
    assert_eq!(world.weakest(), unknown(Doubt::TooLarge));
}

#[test]
fn answers_that_were_not_read_are_unknown_and_never_immutable() {
    let mut world = World::default().target(address(2)).safe(address(2), 2, 3, &[]);
    world.unread = vec![address(2)];
    assert_eq!(world.weakest(), unknown(Doubt::Unread));
    world.unread = vec![TARGET];
    assert_eq!(world.weakest(), unknown(Doubt::Unread));
    assert_eq!(world.graph(Options::default()).is_upgradeable(), None);
}

#[test]
fn cycles_end_and_long_chains_of_timelocks_are_too_large() {
    let admin = |of, delay: u128| [(Function::Admin, word(of)), (Function::Delay, Word::from_u128(delay).0.into())];
    let cycle = World::default().target(address(2)).contract(address(2), &admin(address(3), 5));
    let cycle = cycle.contract(address(3), &admin(address(2), 5));
    assert_eq!(cycle.weakest(), unknown(Doubt::DeadEnd), "two timelocks that only obey each other");
    let chain = |length: u8| {
        let end = World::default().target(address(2));
        (2..length).fold(end, |world, at| world.contract(address(at), &admin(address(at + 1), 10))).weakest()
    };
    assert_eq!(chain(9), known(70, 1, 1));
    assert_eq!(chain(12).1, Signers::Unknown);
    assert_eq!(chain(12).2, Some(Doubt::TooLarge));
}

#[test]
fn a_proxy_whose_administrator_was_given_up_is_not_proved_to_be_immutable() {
    let version = Call::tuple().bytes(b"5.0.0").encode();
    let admin = [(Function::Owner, word(Address::ZERO)), (Function::UpgradeInterfaceVersion, version)];
    let proxy =
        World::default().contract(TARGET, &[]).slot(TARGET, ADMIN_SLOT, address(2)).contract(address(2), &admin);
    assert_eq!(proxy.weakest(), unknown(Doubt::DeadEnd));
}

#[test]
fn whoever_is_to_become_owner_or_administrator_counts_as_such() {
    let delay = (Function::Delay, Word::from_u128(60).0.into());
    let timelock = [delay, (Function::Admin, word(address(3))), (Function::PendingAdmin, word(address(4)))];
    let world = World::default().safe(address(3), 2, 3, &[]).contract(address(2), &timelock);
    assert_eq!(world.clone().target(address(2)).weakest(), known(60, 1, 1));
    // An administrator of proxies before version 5 of OpenZeppelin does not name its version.
    let mut world = world.contract(address(5), &[(Function::Owner, word(address(3)))]);
    world = world.contract(TARGET, &[]).slot(TARGET, ADMIN_SLOT, address(5));
    assert_eq!(world.weakest(), unknown(Doubt::OtherContract));
    let question = Call::new(Function::ProxyAdminOf.selector()).word(Word::from_address(TARGET)).encode();
    world.calls.insert((address(5), question), word(address(5)));
    assert_eq!(world.weakest(), known(0, 2, 3));
    world.calls.insert((address(5), Function::PendingOwner.selector().to_vec()), word(address(4)));
    assert_eq!(world.weakest(), known(0, 1, 1));
}

#[test]
fn a_safe_with_more_modules_than_a_page_or_with_one_owner_twice_is_unknown() {
    let mut world = World::default().target(address(3)).safe(address(3), 2, 3, &[]);
    let owners = [address(6), address(6), address(7)].map(Word::from_address);
    let twice = Call::tuple().words(&owners).encode();
    let honest = world.calls.insert((address(3), Function::Owners.selector().to_vec()), twice).unwrap();
    assert_eq!(world.weakest(), unknown(Doubt::Implausible));
    world.calls.insert((address(3), Function::Owners.selector().to_vec()), honest);
    assert_eq!(world.weakest(), known(0, 2, 3));
    let (_, page) = world.calls.iter_mut().find(|((_, data), _)| data.len() == 68).unwrap();
    *page = Call::tuple().words(&[]).word(Word::from_address(address(7))).encode();
    assert_eq!(world.weakest(), unknown(Doubt::TooLarge));
}

#[test]
fn a_graph_that_is_full_says_so() {
    // Three timelocks with 31 proposers each.
    let proposers = |first: u8| (first..first + 31).map(|it| (role(PROPOSER), address(it), true)).collect::<Vec<_>>();
    let mut world = World::default();
    for (timelock, first) in [(2, 100), (3, 131), (4, 162)] {
        world = world.timelock(address(timelock), 60, &proposers(first));
    }
    let names = [Function::Owner, Function::PendingOwner, Function::Admin];
    let owners: Vec<_> = names.into_iter().zip(2..5).map(|(name, owner)| (name, word(address(owner)))).collect();
    let graph = world.contract(TARGET, &owners).graph(Options::default());
    assert_eq!(graph.nodes.len(), MAX_NODES);
    assert!(graph.nodes.iter().any(|node| node.edges.iter().any(|edge| edge.to.is_none())));
}

#[test]
fn only_open_questions_are_answered_and_by_answers_of_their_kind() {
    let mut walk = Walk::new(TARGET, Options::default());
    let question = walk.next().next().cloned().unwrap();
    assert_eq!(question, Question::Code(TARGET));
    assert_eq!(walk.record(&question, Answer::Storage(Word::ZERO)), Err(NotAsked));
    assert_eq!(walk.record(&Question::RoleGrants(TARGET), Answer::RoleGrants(vec![])), Err(NotAsked));
    walk.record(&question, Answer::Code(Code::of(&[0]))).unwrap();
    assert_eq!(walk.record(&question, Answer::Code(Code::of(&[0]))), Err(NotAsked));
    assert!(walk.finished().is_none());
}

#[test]
fn owners_under_other_names_and_a_delay_of_the_contracts_own_count() {
    let functions = [(Function::Owner, word(address(2))), (Function::Curator, word(address(3)))];
    let world = World::default().contract(TARGET, &functions).safe(address(2), 3, 5, &[]);
    let options = Options { more_owners: vec![Function::Curator], own_delay: 9, ..Options::default() };
    let weakest = world.graph(options).weakest();
    let expected = (Delay::Seconds(9), Signers::Threshold { needed: 1, of: 1 });
    assert_eq!((weakest.timelock, weakest.signers), expected);
}
