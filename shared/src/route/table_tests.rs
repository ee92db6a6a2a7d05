//! The table's own order: no route twice, no parameter ambiguous, nothing kept that must not be.

use super::super::row::is_of_graph;
use super::*;
use alloc::collections::BTreeSet;

#[test]
fn no_two_routes_share_method_and_path() {
    let rows: BTreeSet<_> = ROUTES.iter().map(|route| (route.method.as_str(), route.path)).collect();
    assert_eq!(rows.len(), ROUTES.len());
}

#[test]
fn a_row_is_reached_by_its_id() {
    for route in ROUTES {
        assert_eq!(route.id.route().path, route.path);
    }
}

#[test]
fn no_parameter_name_means_two_things_on_one_route() {
    for route in ROUTES {
        let names: alloc::vec::Vec<_> = route
            .query
            .iter()
            .flat_map(|param| core::iter::once(param.name).chain(param.aliases.iter().copied()))
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}", route.path);
    }
}

#[test]
fn only_answers_to_reads_are_kept() {
    assert!(ROUTES.iter().all(|route| !route.cache.is_kept() || route.method == Method::Get));
}

#[test]
fn what_needs_a_key_is_never_kept_for_everybody() {
    assert!(ROUTES.iter().all(|route| route.access == Public || !route.cache.is_kept() || route.cache.by_class));
}

#[test]
fn every_kept_answer_says_which_facts_it_is_made_of() {
    for route in ROUTES {
        assert_eq!(route.cache.is_kept(), !route.tags.is_empty(), "{}", route.path);
        assert_eq!(route.tags.iter().collect::<BTreeSet<_>>().len(), route.tags.len(), "{}", route.path);
    }
}

/// Source: interface, "Rate limits" (graph reads, checks).
#[test]
fn all_of_the_graph_is_charged_to_the_graphs_budgets() {
    for route in ROUTES.iter().filter(|route| is_of_graph(route.path)) {
        let family = if route.id == RouteId::GraphCheck { Family::GraphCheck } else { Family::GraphRead };
        assert_eq!(route.family, family, "{}", route.path);
    }
}
