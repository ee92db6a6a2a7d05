//! Cycles: vaults that hold each other, found without recursion so that no depth of nesting can exhaust a stack.

use alloc::collections::BTreeSet;
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

/// Cycles that one vault tells, at most: a thousand vaults that hold each other make more than anybody reads.
pub(super) const MOST: usize = 50;

/// The most vaults that hold each other and are still followed into each other. Each is opened from itself, so that work grows with
/// their square; whoever describes vaults must not be able to make it grow with more.
pub(super) const LARGEST: usize = 32;

/// A component by itself: its vaults numbered from 0 in their order, and which of the others each holds.
pub(super) struct Circle<'a> {
    vaults: &'a [usize],
    held: Vec<Vec<usize>>,
}

impl<'a> Circle<'a> {
    pub(super) fn of(nesting: &Nesting, component: &'a [usize]) -> Self {
        let inside = |held: &usize| component.binary_search(held).ok();
        let held = |vault: &usize| nesting.get(*vault).into_iter().flatten().filter_map(inside).collect();
        Circle { vaults: component, held: component.iter().map(held).collect() }
    }

    /// A vault's number in here; null for one that is outside.
    pub(super) fn number(&self, vault: usize) -> Option<usize> {
        self.vaults.binary_search(&vault).ok()
    }

    /// The vault of a number.
    pub(super) fn vault(&self, number: usize) -> Option<usize> {
        self.vaults.get(number).copied()
    }

    /// Whether its vaults are followed into each other.
    pub(super) const fn is_followed(&self) -> bool {
        self.vaults.len() <= LARGEST
    }

    fn held(&self, vault: usize) -> impl Iterator<Item = usize> {
        self.held.get(vault).into_iter().flatten().copied()
    }

    /// How many steps each vault is from `root`, in the order they are reached; null of those beyond `end`, once that is reached.
    pub(super) fn steps(&self, root: usize, end: Option<usize>) -> Steps {
        let mut steps = Steps { root, of: vec![None; self.held.len()], order: Vec::new() };
        steps.reach(root, 0, root);
        let mut next = 0;
        while let Some(&vault) = steps.order.get(next) {
            let Some((taken, _)) = steps.get(vault) else { break };
            if end.and_then(|end| steps.get(end)).is_some_and(|(at_end, _)| at_end <= taken) {
                break;
            }
            self.held(vault).for_each(|held| steps.reach(held, taken + 1, vault));
            next += 1;
        }
        steps
    }

    /// Shortest cycles, each once, told by their first vault: one through every nesting up to [`MOST`], and then only what it takes
    /// for every vault to be on one. Of vaults that are too many to be followed, no more than [`MOST`] at all.
    pub(super) fn cycles(&self) -> BTreeSet<Vec<usize>> {
        let mut cycles = BTreeSet::new();
        let mut met = vec![false; self.held.len()];
        for holder in 0..self.held.len() {
            for held in self.held(holder) {
                let is_met = met.get(holder).is_some_and(|met| *met);
                let is_enough = cycles.len() >= MOST;
                if if self.is_followed() { is_enough && is_met } else { is_enough || is_met } {
                    break;
                }
                let Some(cycle) = self.path(held, holder).map(first_in_front) else { continue };
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

    /// A shortest way, both ends included; of two the one by the vaults that come first.
    fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let steps = self.steps(from, Some(to));
        let mut way = vec![to];
        let mut here = to;
        while here != from {
            let (_, holder) = steps.get(here)?;
            here = holder;
            way.push(here);
        }
        way.reverse();
        Some(way)
    }
}

/// What was reached of a [`Circle`], and how.
pub(super) struct Steps {
    root: usize,
    /// Steps taken, and the first of the vaults that are one step nearer and hold it.
    of: Vec<Option<(u32, usize)>>,
    /// The vaults in the order they were reached.
    order: Vec<usize>,
}

impl Steps {
    /// Only `root` itself.
    pub(super) fn none(root: usize) -> Self {
        Steps { root, of: Vec::new(), order: vec![root] }
    }

    fn get(&self, vault: usize) -> Option<(u32, usize)> {
        self.of.get(vault).copied().flatten()
    }

    /// How many steps a vault is away; null where it was not reached.
    pub(super) fn to(&self, vault: usize) -> Option<u32> {
        if vault == self.root { Some(0) } else { self.get(vault).map(|(taken, _)| taken) }
    }

    /// What was reached, the nearest first.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    fn reach(&mut self, vault: usize, taken: u32, by: usize) {
        match self.of.get_mut(vault) {
            Some(unreached @ None) => {
                *unreached = Some((taken, by));
                self.order.push(vault);
            }
            Some(Some((before, holder))) if *before == taken && by < *holder => *holder = by,
            _ => {}
        }
    }
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
        assert_eq!(Circle::of(&nesting, &[0, 1, 2]).cycles(), BTreeSet::from([vec![0, 1], vec![0, 1, 2]]));
        assert_eq!(Circle::of(&nesting, &[3]).cycles(), BTreeSet::from([vec![3]]));
    }

    fn all_of_each_other(many: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
        let everybody: Vec<usize> = (0..many).collect();
        let nesting = everybody.iter().map(|_| everybody.clone()).collect();
        (everybody, nesting)
    }

    #[test]
    fn of_many_cycles_enough_are_told_for_every_vault_to_be_on_one() {
        let (everybody, nesting) = all_of_each_other(LARGEST);
        let cycles = Circle::of(&nesting, &everybody).cycles();
        assert!(cycles.len() <= MOST + everybody.len(), "{} of thousands", cycles.len());
        assert_eq!(cycles.iter().flatten().copied().collect::<BTreeSet<_>>(), everybody.into_iter().collect());
    }

    #[test]
    fn of_more_vaults_than_are_followed_some_cycles_are_told() {
        let (everybody, nesting) = all_of_each_other(LARGEST + MOST);
        assert_eq!(Circle::of(&nesting, &everybody).cycles().len(), MOST);
        let ring: Vec<Vec<usize>> = (0..50_000).map(|vault| vec![(vault + 1) % 50_000]).collect();
        let (components, all) = (components(&ring), (0..50_000).collect());
        assert_eq!(Circle::of(&ring, &components[0]).cycles(), BTreeSet::from([all]), "one, and it is found once");
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
