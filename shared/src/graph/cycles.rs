//! Cycles of vaults that hold each other. The algorithms are iterative, so that deep nesting cannot exhaust the stack.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// Adjacency list: for each vault the positions of the vaults it holds.
pub(super) type Nesting = [Vec<usize>];

/// A strongly connected component, sorted; often a single vault.
pub(super) type Component = Vec<usize>;

/// The strongly connected components, each after the components it holds (Kosaraju's algorithm with explicit stacks).
pub(super) fn components(nesting: &Nesting) -> Vec<Component> {
    let mut holders = vec![Vec::new(); nesting.len()];
    for (holder, held) in nesting.iter().enumerate() {
        for child in held {
            if let Some(holders) = holders.get_mut(*child) {
                holders.push(holder);
            }
        }
    }
    // Depth-first search over the held vaults, in reverse finishing order of the search over the holders: each root yields one
    // strongly connected component.
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

/// Vaults reachable from `start` and not in `seen`, in post-order.
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

/// Maximum number of cycles reported for one vault. A component of a thousand vaults has far more cycles than are useful.
pub(super) const MAX_REPORTED_CYCLES: usize = 50;

/// Largest component, in vaults, whose inner edges are followed. Each of its vaults is resolved separately, so the work grows with the
/// square of the component's size; the bound limits the work that crafted facts can cause.
pub(super) const MAX_FOLLOWED_COMPONENT: usize = 32;

/// One component in isolation: its vaults numbered from 0 in order, and the edges between them.
pub(super) struct ComponentGraph<'a> {
    vaults: &'a [usize],
    held: Vec<Vec<usize>>,
}

impl<'a> ComponentGraph<'a> {
    pub(super) fn of(nesting: &Nesting, component: &'a [usize]) -> Self {
        let inside = |held: &usize| component.binary_search(held).ok();
        let held = |vault: &usize| nesting.get(*vault).into_iter().flatten().filter_map(inside).collect();
        ComponentGraph { vaults: component, held: component.iter().map(held).collect() }
    }

    /// A vault's number in the component; `None` for a vault outside it.
    pub(super) fn number(&self, vault: usize) -> Option<usize> {
        self.vaults.binary_search(&vault).ok()
    }

    /// The vault with this number.
    pub(super) fn vault(&self, number: usize) -> Option<usize> {
        self.vaults.get(number).copied()
    }

    /// Whether edges between vaults of the component are followed.
    pub(super) const fn follows_inner_edges(&self) -> bool {
        self.vaults.len() <= MAX_FOLLOWED_COMPONENT
    }

    fn held(&self, vault: usize) -> impl Iterator<Item = usize> {
        self.held.get(vault).into_iter().flatten().copied()
    }

    /// Breadth-first distances from `root`. With `end`, the search stops there; vaults farther away stay unreached.
    pub(super) fn distances(&self, root: usize, end: Option<usize>) -> Distances {
        let mut distances = Distances { root, of: vec![None; self.held.len()], order: Vec::new() };
        distances.visit(root, 0, root);
        let mut next = 0;
        while let Some(&vault) = distances.order.get(next) {
            let Some((distance, _)) = distances.get(vault) else { break };
            if end.and_then(|end| distances.get(end)).is_some_and(|(at_end, _)| at_end <= distance) {
                break;
            }
            self.held(vault).for_each(|held| distances.visit(held, distance + 1, vault));
            next += 1;
        }
        distances
    }

    /// Shortest cycles; each is listed once and starts with its smallest vault.
    ///
    /// Every edge contributes a shortest cycle through it until there are [`MAX_REPORTED_CYCLES`]; after that, only edges of vaults that are
    /// on no listed cycle do. In a component above [`MAX_FOLLOWED_COMPONENT`], only edges of such vaults contribute, and the list ends at
    /// [`MAX_REPORTED_CYCLES`].
    pub(super) fn cycles(&self) -> BTreeSet<Vec<usize>> {
        let mut cycles = BTreeSet::new();
        let mut met = vec![false; self.held.len()];
        for holder in 0..self.held.len() {
            for held in self.held(holder) {
                let is_met = met.get(holder).is_some_and(|met| *met);
                let is_enough = cycles.len() >= MAX_REPORTED_CYCLES;
                if if self.follows_inner_edges() { is_enough && is_met } else { is_enough || is_met } {
                    break;
                }
                let Some(cycle) = self.path(held, holder).map(rotated_to_smallest) else { continue };
                for vault in &cycle {
                    if let Some(met) = met.get_mut(*vault) {
                        *met = true;
                    }
                }
                cycles.insert(cycle.into_iter().filter_map(|vault| self.vaults.get(vault).copied()).collect());
            }
        }
        cycles
    }

    /// A shortest path including both ends; of several, the one whose vaults have the smaller numbers, compared from `to` backwards.
    fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let distances = self.distances(from, Some(to));
        let mut path = vec![to];
        let mut here = to;
        while here != from {
            let (_, holder) = distances.get(here)?;
            here = holder;
            path.push(here);
        }
        path.reverse();
        Some(path)
    }
}

/// Result of a breadth-first search in a [`ComponentGraph`].
pub(super) struct Distances {
    root: usize,
    /// Distance from the root, and the holder with the smallest number that is one step nearer to the root.
    of: Vec<Option<(u32, usize)>>,
    /// The vaults in the order of their distance.
    order: Vec<usize>,
}

impl Distances {
    /// A search that reached `root` only.
    pub(super) fn none(root: usize) -> Self {
        Distances { root, of: Vec::new(), order: vec![root] }
    }

    fn get(&self, vault: usize) -> Option<(u32, usize)> {
        self.of.get(vault).copied().flatten()
    }

    /// Distance of a vault; `None` if it was not reached.
    pub(super) fn distance(&self, vault: usize) -> Option<u32> {
        if vault == self.root { Some(0) } else { self.get(vault).map(|(distance, _)| distance) }
    }

    /// The reached vaults, nearest first.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    fn visit(&mut self, vault: usize, distance: u32, by: usize) {
        match self.of.get_mut(vault) {
            Some(unreached @ None) => {
                *unreached = Some((distance, by));
                self.order.push(vault);
            }
            Some(Some((before, holder))) if *before == distance && by < *holder => *holder = by,
            _ => {}
        }
    }
}

/// Rotates a cycle to start with its smallest vault.
fn rotated_to_smallest(mut cycle: Vec<usize>) -> Vec<usize> {
    let first = cycle.iter().enumerate().min_by_key(|(_, vault)| **vault).map_or(0, |(place, _)| place);
    cycle.rotate_left(first);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_deep_chain_does_not_exhaust_the_stack() {
        let deep: Vec<Vec<usize>> = (0..200_000).map(|vault| vec![vault + 1]).chain([vec![]]).collect();
        let components = components(&deep);
        assert_eq!(components.len(), 200_001);
        assert_eq!(components[0], [200_000]);
    }

    #[test]
    fn two_cycles_that_share_a_vault_are_both_reported_once() {
        // 0 ⇄ 1, 1 → 2 → 0; 3 holds itself and 0.
        let nesting = [vec![1], vec![0, 2], vec![0], vec![0, 3]];
        assert_eq!(components(&nesting), [vec![0, 1, 2], vec![3]]);
        assert_eq!(ComponentGraph::of(&nesting, &[0, 1, 2]).cycles(), BTreeSet::from([vec![0, 1], vec![0, 1, 2]]));
        assert_eq!(ComponentGraph::of(&nesting, &[3]).cycles(), BTreeSet::from([vec![3]]));
    }

    fn all_of_each_other(many: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
        let everybody: Vec<usize> = (0..many).collect();
        let nesting = everybody.iter().map(|_| everybody.clone()).collect();
        (everybody, nesting)
    }

    #[test]
    fn with_many_cycles_every_vault_is_on_a_reported_one() {
        let (everybody, nesting) = all_of_each_other(MAX_FOLLOWED_COMPONENT);
        let cycles = ComponentGraph::of(&nesting, &everybody).cycles();
        assert!(cycles.len() <= MAX_REPORTED_CYCLES + everybody.len(), "{} of thousands", cycles.len());
        assert_eq!(cycles.iter().flatten().copied().collect::<BTreeSet<_>>(), everybody.into_iter().collect());
    }

    #[test]
    fn a_component_above_the_bound_reports_a_limited_number_of_cycles() {
        let (everybody, nesting) = all_of_each_other(MAX_FOLLOWED_COMPONENT + MAX_REPORTED_CYCLES);
        assert_eq!(ComponentGraph::of(&nesting, &everybody).cycles().len(), MAX_REPORTED_CYCLES);
        let ring: Vec<Vec<usize>> = (0..50_000).map(|vault| vec![(vault + 1) % 50_000]).collect();
        let (components, all) = (components(&ring), (0..50_000).collect());
        assert_eq!(ComponentGraph::of(&ring, &components[0]).cycles(), BTreeSet::from([all]), "a ring is one cycle");
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
                        prop_assert!(of(b) <= of(a), "held components come first");
                    }
                }
            }
        }
    }
}
