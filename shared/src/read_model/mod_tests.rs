//! What every family has in common.

use super::*;
use crate::access::Principal;
use crate::route::{Found, Query, ROUTES, Route, Row as _};
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec;

/// A model without rows, except for those that are rows by themselves.
fn empty() -> ReadModel {
    ReadModel::from_rows(7, &samples::empty(), None).unwrap()
}

fn ask(model: &ReadModel, route: &'static Route, if_none_match: Option<&str>) -> Option<Result<Response, ApiError>> {
    let found = Found { route, path: vec![String::from("1"); 3] };
    let query = Query::parse(route.query, "").ok()?;
    let (principal, now) = (&Principal::Anonymous, Timestamp::from_seconds(0));
    answer(model, Request { found: &found, query: &query, unknown_values: None, principal, if_none_match, now })
}

#[test]
fn the_model_answers_exactly_the_routes_that_it_names() {
    for route in ROUTES {
        assert_eq!(ask(&empty(), route, None).is_some(), serves(route.id), "{}", route.path);
        let has_family = Query::parse(route.query, "").is_ok_and(|query| !families_of(route.id, &query).is_empty());
        assert_eq!(has_family, serves(route.id), "{}", route.path);
    }
}

#[test]
fn the_registry_with_losses_is_made_of_the_cases_of_the_loss_board() {
    let query = |text: &str| Query::parse(routes::SecurityEventList::QUERY, text).unwrap();
    let of = |text: &str| families_of(RouteId::SecurityEventList, &query(text)).iter().collect::<Vec<_>>();
    assert_eq!((of(""), of("hasLoss=true")), (vec![Family::SecurityEvents], vec![Family::Losses]));
}

#[test]
fn a_caller_whose_copy_is_current_gets_304_without_a_body() {
    for route in ROUTES.iter().filter(|route| serves(route.id) && route.id != RouteId::OracleByAddress) {
        let first = ask(&empty(), route, None).unwrap().unwrap();
        assert_eq!((first.status(), first.version), (200, 7), "{}", route.path);
        let again = ask(&empty(), route, Some(&first.etag)).unwrap().unwrap();
        assert_eq!((again.status(), &again.etag, again.body), (304, &first.etag, None), "{}", route.path);
    }
}
