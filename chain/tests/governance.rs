//! Walks through arbitrary worlds: they end, keep their bounds, and find the weakest way.

use proptest::prelude::*;
use rds_chain::Address;
use rds_chain::abi::Word;
use rds_chain::adapt::governance::{
    Answer, Code, Delay, Doubt, Edge, Graph, Kind, Link, MAX_NODES, Node, Options, Question, Signers, Walk,
};
use rds_chain::failure::Failure;
use rds_chain::logs::{self, Asked, BlockRange};

/// An answer made of a few bytes of noise, of the question's kind. Many point at other addresses of a small set.
fn answer(question: &Question, noise: u8, fails: bool) -> Answer {
    if fails {
        return Answer::Failed(Failure::Transport);
    }
    let small = Word::from_u128(u128::from(noise % 4));
    let address = Word::from_address(Address([noise % 16; 20]));
    match question {
        Question::Code(_) => Answer::Code(Code::of(if noise.is_multiple_of(8) { &[] } else { &[0x00] })),
        Question::Storage { .. } => Answer::Storage(if noise.is_multiple_of(3) { address } else { Word::ZERO }),
        Question::Call { .. } => Answer::Call(match noise % 5 {
            0 => Ok(small.0.to_vec()),
            1 => Ok([Word::from_u128(32), Word::from_u128(1), address].map(|word| word.0).concat()),
            2 => Ok(vec![noise; usize::from(noise)]),
            3 => Err(Failure::Reverted { data: vec![] }),
            _ => Ok(address.0.to_vec()),
        }),
        Question::Simulation(_) => Answer::Failed(Failure::Unsupported),
        Question::RoleGrants(_) => {
            Answer::RoleGrants(vec![(Word::ZERO, Address([noise % 16; 20])); usize::from(noise % 40)])
        }
    }
}

/// The smallest delay, then the fewest signers, over every way without a cycle. Delay and `None` for what is not understood.
fn every_way(graph: &Graph) -> Vec<(u64, Option<u32>)> {
    fn from(graph: &Graph, at: usize, delay: u64, seen: &mut Vec<usize>, ends: &mut Vec<(u64, Option<u32>)>) {
        let node = &graph.nodes[at];
        ends.extend(node.doubts.iter().map(|(_, own)| (delay + own, None)));
        match &node.kind {
            Kind::Account if node.doubts.is_empty() => ends.push((delay, Some(1))),
            Kind::Safe { threshold, .. } if node.doubts.is_empty() => ends.push((delay, Some(*threshold))),
            _ => {}
        }
        seen.push(at);
        for edge in &node.edges {
            match edge.to {
                None => ends.push((delay + edge.delay, None)),
                Some(to) if !seen.contains(&to) => from(graph, to, delay + edge.delay, seen, ends),
                Some(_) => {}
            }
        }
        seen.pop();
    }
    let mut ends = vec![];
    from(graph, 0, 0, &mut vec![], &mut ends);
    ends
}

fn node() -> impl Strategy<Value = (u8, Vec<(usize, u64)>, Vec<u64>)> {
    let edges = proptest::collection::vec((0..7_usize, 0..3_u64), 0..4);
    (0..6_u8, edges, proptest::collection::vec(0..3_u64, 0..2))
}

proptest! {
    #[test]
    fn a_walk_ends_and_keeps_its_bounds_whatever_is_answered(noise in proptest::collection::vec(any::<u8>(), 64..200), failures in 0..4_u8) {
        let mut walk = Walk::new(Address([1; 20]), Options::default());
        let mut noises = noise.iter().copied().cycle();
        let mut asked = 0;
        while walk.finished().is_none() {
            let questions: Vec<Question> = walk.next().cloned().collect();
            for question in questions {
                let (noise, other) = (noises.next().unwrap(), noises.next().unwrap());
                walk.record(&question, answer(&question, noise, other % 32 < failures)).unwrap();
                asked += 1;
            }
        }
        prop_assert!(asked <= 4_096);
        let graph = walk.finished().unwrap();
        prop_assert!(graph.nodes.len() <= MAX_NODES);
        let found = graph.weakest();
        let has_unread = graph.nodes.iter().any(|node| node.doubts.iter().any(|(doubt, _)| *doubt == Doubt::Unread));
        prop_assert!(!(has_unread && found.timelock == Delay::Immutable));
        prop_assert_eq!(found.timelock == Delay::Immutable, found.signers == Signers::Immutable);
        prop_assert_eq!(found.signers == Signers::Unknown, found.doubt.is_some());
    }

    #[test]
    fn the_weakest_way_is_that_of_all_ways_tried_one_by_one(nodes in proptest::collection::vec(node(), 1..7)) {
        let count = nodes.len();
        let nodes = nodes.into_iter().enumerate().map(|(at, (kind, edges, doubts))| {
            let owners = vec![Address::ZERO; 5];
            let kind = match kind {
                _ if at == 0 => Kind::Target { is_upgradeable: false },
                0 => Kind::Account,
                1 => Kind::Safe { threshold: 2, owners, version: String::new(), guard: None },
                2 => Kind::Safe { threshold: 3, owners, version: String::new(), guard: None },
                _ => Kind::Other,
            };
            let edge = |(to, delay)| Edge { link: Link::Owner, to: (to < count).then_some(to), delay };
            let doubts = doubts.into_iter().map(|delay| (Doubt::OtherContract, delay)).collect();
            Node { address: Address::ZERO, kind, edges: edges.into_iter().map(edge).collect(), doubts }
        });
        let graph = Graph { nodes: nodes.collect() };
        let ends = every_way(&graph);
        let known = ends.iter().filter_map(|(delay, needed)| Some((*delay, (*needed)?))).min();
        let open = ends.iter().filter(|(_, needed)| needed.is_none()).map(|(delay, _)| *delay).min();
        let found = graph.weakest();
        let signers = match found.signers {
            Signers::Threshold { needed, .. } => Some(needed),
            _ => None,
        };
        match (known, open) {
            (None, None) if graph.nodes[0].edges.is_empty() => prop_assert_eq!(found.timelock, Delay::Immutable),
            (None, None) => prop_assert_eq!(found.doubt, Some(Doubt::DeadEnd)),
            (Some((delay, needed)), None) => prop_assert_eq!((found.timelock, signers), (Delay::Seconds(delay), Some(needed))),
            (Some((delay, needed)), Some(open)) if delay < open || (delay == open && needed == 1) => {
                prop_assert_eq!((found.timelock, signers), (Delay::Seconds(delay), Some(needed)));
            }
            (known, Some(open)) => {
                prop_assert_eq!(signers, None);
                let is_known = open > 0 || known.is_some_and(|(delay, _)| delay == 0);
                let expected = if is_known { Delay::Seconds(open) } else { Delay::Unknown };
                prop_assert_eq!(found.timelock, expected);
            }
        }
    }

    #[test]
    fn any_text_is_a_list_of_logs_or_an_error(text in "\\PC{0,80}", list in "[\\[\\]{}:,\"0x1a]{0,60}") {
        let asked = Asked { range: BlockRange::new(0, 9).unwrap(), contracts: &[], topics: &[] };
        for text in [text, list] {
            if let Ok(raw) = serde_json::from_str(&text) {
                prop_assert!(logs::decode(raw, asked, 2).map_or(0, |logs| logs.len()) <= 2);
            }
        }
    }
}
