//! What every family has in common.

use super::*;
use crate::access::Principal;
use crate::route::{Found, Query, ROUTES, Route};
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
    }
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
