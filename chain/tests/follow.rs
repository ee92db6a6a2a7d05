//! The follower against a simulated network that forks at random.

use proptest::prelude::*;
use rds_chain::follow::{Follower, NotFinal, Step};
use rds_chain::{Block, BlockHash, BlockId};

const CAPACITY: usize = 32;

/// A network whose newest blocks are replaced now and then.
struct Network {
    blocks: Vec<Block>,
    forks: u64,
}

impl Network {
    fn new() -> Self {
        let mut network = Self { blocks: vec![], forks: 0 };
        network.mine();
        network
    }

    fn mine(&mut self) {
        let number = self.blocks.len() as u64;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        hash[8..16].copy_from_slice(&(self.forks + 1).to_be_bytes());
        let parent = self.blocks.last().map_or(BlockHash::default(), |parent| parent.id.hash);
        self.blocks.push(Block { id: BlockId { number, hash: BlockHash(hash) }, parent, time: 100 + number });
    }

    /// Replaces the newest `depth` blocks by as many and one more.
    fn reorganise(&mut self, depth: usize) {
        let depth = depth.min(self.blocks.len() - 1);
        self.blocks.truncate(self.blocks.len() - depth);
        self.forks += 1;
        (0..=depth).for_each(|_| self.mine());
    }

    fn block(&self, number: u64) -> Block {
        self.blocks[number as usize]
    }
}

/// Reports the network's newest block, and everything that the follower asks for in return.
fn synchronise(follower: &mut Follower, network: &Network) -> Vec<BlockId> {
    let mut orphans = vec![];
    let mut to_report = vec![*network.blocks.last().unwrap()];
    let mut reports = 0;
    while let Some(block) = to_report.pop() {
        reports += 1;
        assert!(reports < 1_000, "the follower does not come to an end");
        match follower.record(block) {
            Step::Extended | Step::Known => {}
            Step::Gap(missing) => {
                to_report.push(block);
                to_report.extend(missing.rev().map(|number| network.block(number)));
            }
            Step::UnknownParent(parent) => {
                to_report.push(block);
                let reported = network.block(parent.number);
                assert_eq!(reported.id, parent);
                to_report.push(reported);
            }
            Step::Fork { fork_point, orphaned } => {
                assert_eq!(network.block(fork_point.number).id, fork_point, "both forks share the fork point");
                orphans.extend(orphaned);
            }
            step => panic!("{step:?}"),
        }
    }
    orphans
}

#[derive(Debug, Clone)]
enum Event {
    Mine(usize),
    Reorganise(usize),
    Synchronise,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (1..6_usize).prop_map(Event::Mine),
        (1..8_usize).prop_map(Event::Reorganise),
        Just(Event::Synchronise),
        Just(Event::Synchronise),
    ]
}

proptest! {
    /// After each synchronisation the follower has the network's newest blocks, and every block that it no longer has was named.
    #[test]
    fn the_follower_ends_with_the_networks_chain(events in proptest::collection::vec(event(), 1..40)) {
        let (mut network, mut follower) = (Network::new(), Follower::new(CAPACITY));
        synchronise(&mut follower, &network);
        for event in events {
            match event {
                Event::Mine(count) => (0..count).for_each(|_| network.mine()),
                Event::Reorganise(depth) => {
                    // Forks deeper than the window are another test's subject.
                    let oldest = follower.blocks().next().unwrap().id.number;
                    let known = network.blocks.len() as u64 - 1 - oldest;
                    network.reorganise(depth.min(usize::try_from(known).unwrap()));
                }
                Event::Synchronise => {
                    let before: Vec<BlockId> = follower.blocks().map(|block| block.id).collect();
                    let orphans = synchronise(&mut follower, &network);
                    let on_chain = |id: &BlockId| network.blocks.get(id.number as usize).is_some_and(|block| block.id == *id);
                    for id in before {
                        prop_assert!(on_chain(&id) != orphans.contains(&id), "{:?}", id);
                    }
                    prop_assert_eq!(follower.head(), network.blocks.last());
                    let ours: Vec<Block> = follower.blocks().copied().collect();
                    prop_assert!(ours.len() <= CAPACITY && network.blocks.ends_with(&ours));
                }
            }
        }
    }

    /// Whatever is reported, a final block never leaves the chain.
    #[test]
    fn no_sequence_of_reports_replaces_a_final_block(
        reports in proptest::collection::vec((0..20_u64, 0..3_u8, 0..3_u8, 0..3_u64), 1..80),
        final_at in 0..40_usize,
    ) {
        let hash = |number: u64, fork: u8| {
            let mut bytes = [fork; 32];
            bytes[0] = number as u8;
            BlockHash(bytes)
        };
        let mut follower = Follower::new(8);
        let mut is_final: Option<BlockId> = None;
        for (turn, (number, fork, parent, time)) in reports.into_iter().enumerate() {
            let parent = number.checked_sub(1).map_or(BlockHash::default(), |before| hash(before, parent));
            let block = Block { id: BlockId { number, hash: hash(number, fork) }, parent, time: number + time };
            let head = follower.head().map(|head| head.id);
            let step = follower.record(block);
            if matches!(step, Step::Contradicted(_)) {
                prop_assert!(is_final.is_some() && follower.contradiction().is_some());
                prop_assert_eq!(follower.head().map(|head| head.id), head, "a stopped follower changes nothing");
            }
            if turn == final_at && let Some(head) = follower.head().map(|head| head.id) {
                is_final = follower.finalize(head).is_ok().then_some(head);
            }
            if let Some(id) = is_final {
                prop_assert_eq!(follower.finalized(), Some(id));
                prop_assert!(follower.block(id.number).is_none_or(|block| block.id == id));
                prop_assert!(follower.head().is_some_and(|head| head.id.number >= id.number));
            }
            let ours: Vec<&Block> = follower.blocks().collect();
            prop_assert!(ours.len() <= 8);
            for pair in ours.windows(2) {
                prop_assert!(pair[1].parent == pair[0].id.hash && pair[1].id.number == pair[0].id.number + 1);
                prop_assert!(pair[1].time >= pair[0].time);
            }
        }
    }
}

/// The headers that a real node reported before and after `anvil_reorg` with depth 3.
#[test]
fn a_reorganisation_of_a_real_node_is_recognised() {
    let recorded: serde_json::Value = serde_json::from_str(include_str!("../fixtures/answers.json")).unwrap();
    let headers = |name: &str| -> Vec<Block> {
        let list = recorded["reorganisation"][name].as_array().unwrap();
        list.iter()
            .map(|json| rds_chain::result::block(serde_json::from_str(&json.to_string()).unwrap()).unwrap())
            .collect()
    };
    let (before, after) = (headers("before"), headers("after"));
    let mut follower = Follower::new(CAPACITY);
    assert!(before.iter().all(|block| follower.record(*block) == Step::Extended));
    let fork_point = after.iter().rev().find(|block| before.contains(block)).unwrap().id;
    let orphaned: Vec<BlockId> =
        before.iter().map(|block| block.id).filter(|id| id.number > fork_point.number).collect();
    assert_eq!(orphaned.len(), 3);
    let first_new = after.iter().find(|block| block.id.number == fork_point.number + 1).unwrap();
    let newest = after.last().unwrap();
    assert!(matches!(follower.record(*newest), Step::UnknownParent(_) | Step::Gap(_)));
    assert_eq!(follower.record(*first_new), Step::Fork { fork_point, orphaned });
    for block in after.iter().filter(|block| block.id.number > first_new.id.number) {
        assert_eq!(follower.record(*block), Step::Extended);
    }
    let dead = before.last().unwrap().id;
    assert!(matches!(follower.finalize(dead), Err(NotFinal::Contradicted(_) | NotFinal::Unknown)));
}
