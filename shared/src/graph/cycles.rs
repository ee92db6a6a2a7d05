//! Cycles: vaults that hold each other, found without recursion so that no depth of nesting can exhaust a stack.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

/// Which vaults each vault holds, by position.
pub(super) type Nesting = [Vec<usize>];

/// Vaults that reach each other, or one vault alone, sorted.
pub(super) type Component = Vec<usize>;

/// The components, each after those it holds (Kosaraju's algorithm, with explicit stacks).
pub(super) fn components(nesting: &Nesting) -> Vec<Component> {
    let mut holders = vec![Vec::new(); nesting.len()];
    for (holder, held) in nesting.iter().enumerate() {
        for child in held {
            if let Some(holders) = holders.get_mut(*child) {
                holders.push(holder);
            }
        }
    }
    // What finishes first holds nothing that is still open, so walking back in that order over the holders of a vault
    // collects exactly the vaults that it reaches in turn.
    let mut seen = BTreeSet::new();
    let finished: Vec<usize> = (0..nesting.len()).flat_map(|start| finish_order(&holders, start, &mut seen)).collect();
    let mut placed = BTreeSet::new();
    let mut components = Vec::new();
    for start in finished.into_iter().rev() {
        let mut component = finish_order(nesting, start, &mut placed);
        if !component.is_empty() {
            component.sort_unstable();
            components.push(component);
        }
    }
    components
}

/// What is reached from `start` and was not seen before, each after all that it reaches.
fn finish_order(edges: &Nesting, start: usize, seen: &mut BTreeSet<usize>) -> Vec<usize> {
    let mut order = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    if seen.insert(start) {
        open.push((start, 0));
    }
    while let Some((vault, tried)) = open.last_mut() {
        let next = edges.get(*vault).and_then(|edges| edges.get(*tried)).copied();
        *tried += 1;
        match next {
            Some(next) if seen.insert(next) => open.push((next, 0)),
            Some(_) => {}
            None => {
                order.push(*vault);
                open.pop();
            }
        }
    }
    order
}

/// How many steps inside `component` each of its vaults is from `root`, in the order they are reached.
pub(super) fn distances(nesting: &Nesting, component: &[usize], root: usize) -> Vec<(usize, u32)> {
    let mut reached = vec![(root, 0)];
    let mut seen = BTreeSet::from([root]);
    let mut waiting = VecDeque::from([(root, 0)]);
    while let Some((vault, distance)) = waiting.pop_front() {
        for child in nesting.get(vault).into_iter().flatten() {
            if component.binary_search(child).is_ok() && seen.insert(*child) {
                reached.push((*child, distance + 1));
                waiting.push_back((*child, distance + 1));
            }
        }
    }
    reached
}

/// Cycles that one vault tells, at most: a thousand vaults that hold each other make more than anybody reads.
pub(super) const MOST: usize = 50;

/// A shortest cycle through each nesting inside `component`, each once, beginning with its first vault: all of them up to
/// [`MOST`], and then only what it takes for every vault to be on one.
pub(super) fn shortest(nesting: &Nesting, component: &[usize]) -> BTreeSet<Vec<usize>> {
    let (mut cycles, mut met) = (BTreeSet::new(), BTreeSet::new());
    for &holder in component {
        for &held in nesting.get(holder).into_iter().flatten() {
            if component.binary_search(&held).is_err() || (cycles.len() >= MOST && met.contains(&holder)) {
                continue;
            }
            if let Some(cycle) = path(nesting, component, held, holder).map(first_in_front) {
                met.extend(cycle.iter().copied());
                cycles.insert(cycle);
            }
        }
    }
    cycles
}

/// A shortest way inside `component`, both ends included.
fn path(nesting: &Nesting, component: &[usize], from: usize, to: usize) -> Option<Vec<usize>> {
    let distance: BTreeMap<usize, u32> = distances(nesting, component, from).into_iter().collect();
    let mut way = vec![to];
    let mut here = to;
    while here != from {
        let closer = distance.get(&here)?.checked_sub(1)?;
        let holds = |vault: &usize| nesting.get(*vault).is_some_and(|held| held.contains(&here));
        here = component.iter().copied().find(|vault| distance.get(vault) == Some(&closer) && holds(vault))?;
        way.push(here);
    }
    way.reverse();
    Some(way)
}

/// The same cycle told from its first vault.
fn first_in_front(mut cycle: Vec<usize>) -> Vec<usize> {
    let first = cycle.iter().enumerate().min_by_key(|(_, vault)| **vault).map_or(0, |(place, _)| place);
    cycle.rotate_left(first);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_chain_of_any_depth_needs_no_stack() {
        let deep: Vec<Vec<usize>> = (0..200_000).map(|vault| vec![vault + 1]).chain([vec![]]).collect();
        let components = components(&deep);
        assert_eq!(components.len(), 200_001);
        assert_eq!(components[0], [200_000]);
    }

    #[test]
    fn two_cycles_that_share_a_vault_are_both_told_once() {
        // 0 ⇄ 1, 1 → 2 → 0, and 3 holds itself and looks in from outside.
        let nesting = [vec![1], vec![0, 2], vec![0], vec![0, 3]];
        assert_eq!(components(&nesting), [vec![0, 1, 2], vec![3]]);
        assert_eq!(shortest(&nesting, &[0, 1, 2]), BTreeSet::from([vec![0, 1], vec![0, 1, 2]]));
        assert_eq!(shortest(&nesting, &[3]), BTreeSet::from([vec![3]]));
    }

    #[test]
    fn of_many_cycles_enough_are_told_for_every_vault_to_be_on_one() {
        let everybody: Vec<usize> = (0..120).collect();
        let nesting: Vec<Vec<usize>> = everybody.iter().map(|_| everybody.clone()).collect();
        let cycles = shortest(&nesting, &everybody);
        assert!(cycles.len() <= MOST + everybody.len(), "{} of thousands", cycles.len());
        assert_eq!(cycles.iter().flatten().copied().collect::<BTreeSet<_>>(), everybody.into_iter().collect());
    }

    fn reaches(nesting: &Nesting, from: usize, to: usize) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut waiting = vec![from];
        while let Some(vault) = waiting.pop() {
            waiting.extend(nesting[vault].iter().copied().filter(|child| seen.insert(*child)));
        }
        seen.contains(&to)
    }

    proptest! {
        #[test]
        fn vaults_share_a_component_exactly_when_each_reaches_the_other(
            edges in proptest::collection::vec((0..8_usize, 0..8_usize), 0..16),
        ) {
            let mut nesting = vec![Vec::new(); 8];
            edges.into_iter().for_each(|(holder, held)| nesting[holder].push(held));
            let found = components(&nesting);
            let of = |vault: usize| found.iter().position(|component| component.contains(&vault)).unwrap();
            for a in 0..8 {
                for b in 0..8 {
                    let both = reaches(&nesting, a, b) && reaches(&nesting, b, a);
                    prop_assert_eq!(of(a) == of(b), both);
                    if reaches(&nesting, a, b) {
                        prop_assert!(of(b) <= of(a), "what is held comes first");
                    }
                }
            }
        }
    }
}
