//! Explores a model's states and reports how many were seen and which invariant broke.

use stateright::{Checker, CheckerBuilder, Expectation, HasDiscoveries, Model};
use std::fmt;
use std::hash::Hash;
use std::time::Instant;

/// How much of a model is explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every state within this number of actions of an initial state: the shortest counterexamples.
    Actions(usize),
    /// Every state, or until at least this many were generated, repetitions included.
    States(usize),
}

const NEVER_SEEN: &str = ": never seen";

/// The outcome of an exploration.
#[derive(Debug, Clone)]
pub struct Report {
    pub model: &'static str,
    /// Number of different states.
    pub states: usize,
    /// Number of states generated, repetitions included.
    pub generated: usize,
    /// The most actions between an initial state and another one.
    pub depth: usize,
    /// Whether every reachable state was explored.
    pub is_exhausted: bool,
    pub invariants: Vec<&'static str>,
    /// Each broken invariant with the actions that break it, and each situation that should occur and does not.
    pub broken: Vec<String>,
    pub seconds: f64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { model, states, generated, depth, seconds, .. } = self;
        let end = if self.is_exhausted { "exhausted" } else { "not exhausted" };
        writeln!(f, "{model}: {states} states, {end} ({generated} generated, depth {depth}, {seconds:.1} s)")?;
        self.invariants.iter().try_for_each(|name| writeln!(f, "  {name}"))?;
        self.broken.iter().try_for_each(|broken| writeln!(f, "  BROKEN {broken}"))
    }
}

/// Explores `model` on `threads` threads, until an invariant breaks or the extent is reached. A situation that the model says must occur and that an
/// exploration by [`Extent::States`] does not meet counts as broken: otherwise an invariant could hold because nothing ever happens.
pub fn explore<M>(name: &'static str, model: M, extent: Extent, threads: usize) -> Report
where
    M: Model + Send + Sync + 'static,
    M::State: fmt::Debug + Hash + PartialEq + Clone + Send + Sync + 'static,
    M::Action: fmt::Debug + PartialEq + Clone + Send + Sync + 'static,
{
    let begun = Instant::now();
    let properties = model.properties();
    let builder = model.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures);
    match extent {
        Extent::Actions(most) => {
            // An initial state has depth 1, and states of the maximum depth are not checked.
            let checker = CheckerBuilder::target_max_depth(builder, most.saturating_add(2)).spawn_bfs().join();
            report(name, &properties, &checker, extent, begun)
        }
        Extent::States(most) => {
            let checker = builder.target_state_count(most).spawn_dfs().join();
            report(name, &properties, &checker, extent, begun)
        }
    }
}

fn report<M: Model>(
    model: &'static str,
    properties: &[stateright::Property<M>],
    checker: &impl Checker<M>,
    extent: Extent,
    begun: Instant,
) -> Report
where
    M::State: fmt::Debug + Hash + PartialEq + Clone,
    M::Action: fmt::Debug + PartialEq + Clone,
{
    let is_exhausted = match extent {
        Extent::Actions(most) => checker.max_depth() < most.saturating_add(2),
        Extent::States(most) => checker.state_count() < most,
    };
    let mut broken = Vec::new();
    for property in properties {
        let found = checker.discovery(property.name);
        match (&property.expectation, found) {
            (Expectation::Sometimes, None) if matches!(extent, Extent::States(_)) => {
                broken.push(format!("{}{NEVER_SEEN}", property.name));
            }
            (Expectation::Sometimes, _) | (_, None) => {}
            (_, Some(path)) => {
                let actions: Vec<String> = path.into_actions().iter().map(|action| format!("{action:?}")).collect();
                broken.push(format!("{}:\n    {}", property.name, actions.join("\n    ")));
            }
        }
    }
    if broken.iter().any(|broken| !broken.ends_with(NEVER_SEEN)) {
        // The exploration ended early.
        broken.retain(|broken| !broken.ends_with(NEVER_SEEN));
    }
    Report {
        model,
        states: checker.unique_state_count(),
        generated: checker.state_count(),
        depth: checker.max_depth().saturating_sub(1),
        is_exhausted: is_exhausted && broken.is_empty(),
        invariants: properties.iter().map(|property| property.name).collect(),
        broken,
        seconds: begun.elapsed().as_secs_f64(),
    }
}
