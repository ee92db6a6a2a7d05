//! Consistency of the route table: unique routes, unambiguous parameters, and cache policies that fit the route.

use super::super::entry::is_graph_path;
use super::super::param::OnOverflow::Clamp;
use super::*;
use crate::route::param::Kind;
use alloc::collections::BTreeSet;

#[test]
fn no_two_routes_share_method_and_path() {
    let rows: BTreeSet<_> = ROUTES.iter().map(|route| (route.method.as_str(), route.path)).collect();
    assert_eq!(rows.len(), ROUTES.len());
}

#[test]
fn every_id_leads_to_its_row() {
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
fn limit_is_the_number_of_rows_of_every_list() {
    // `points` and `days` determine the rows of these routes, which are downsampled or one per day.
    let histories = [RouteId::VaultSnapshots, RouteId::IndexLevels];
    let lists = ["Data<Vec<", "Paged<Vec<", "WithMeta<", "Feed<", "Data<CuratorEvents>"];
    for route in ROUTES.iter().filter(|route| route.method == Method::Get && !histories.contains(&route.id)) {
        let limit = route.query.iter().find(|param| param.is_called("limit"));
        let is_list = lists.iter().any(|shape| route.answers.starts_with(shape));
        assert_eq!(limit.is_some(), is_list, "{}", route.path);
        if let Some(limit) = limit {
            assert!(matches!(limit.kind, Kind::Int { min: 1, above: Clamp, .. }), "{}", route.path);
        }
    }
}

#[test]
fn no_route_redefines_strict() {
    assert!(ROUTES.iter().all(|route| !route.query.iter().any(|param| param.is_called("strict"))));
}

#[test]
fn only_responses_to_get_are_cached() {
    assert!(ROUTES.iter().all(|route| !route.cache.is_kept() || route.method == Method::Get));
}

#[test]
fn a_response_that_needs_a_key_is_never_cached_for_all_callers() {
    assert!(ROUTES.iter().all(|route| route.access == Public || !route.cache.is_kept() || route.cache.by_class));
}

#[test]
fn every_cached_route_names_the_facts_it_depends_on() {
    for route in ROUTES {
        assert_eq!(route.cache.is_kept(), !route.tags.is_empty(), "{}", route.path);
        assert_eq!(route.tags.iter().collect::<BTreeSet<_>>().len(), route.tags.len(), "{}", route.path);
    }
}

#[test]
fn every_graph_route_is_charged_to_a_graph_class() {
    for route in ROUTES.iter().filter(|route| is_graph_path(route.path)) {
        let class =
            if route.id == RouteId::GraphCheck { RateLimitClass::GraphCheck } else { RateLimitClass::GraphRead };
        assert_eq!(route.rate_limit_class, class, "{}", route.path);
    }
}
