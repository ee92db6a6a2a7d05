//! What every family has in common.

use super::*;
use crate::access::Principal;
use crate::route::{Found, Query, ROUTES, Route};
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec;

/// A model without rows, except for the totals.
fn empty() -> ReadModel {
    ReadModel {
        version: 7,
        vaults: Arc::default(),
        registries: Arc::default(),
        markets: Arc::default(),
        feeds: Arc::default(),
        assets: Arc::default(),
        security: Arc::default(),
        symbols: Arc::new([]),
        stats: Arc::new(EncodedRow::encode(&["totals"], None).unwrap()),
    }
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

#[test]
fn records_that_are_cut_short_or_too_long_are_refused() {
    let model = empty();
    let records = model.to_records();
    for len in 0..records.len() {
        assert!(model.with_records(&records[..len]).is_none(), "{len}");
    }
    assert!(model.with_records(&[&records[..], &[0]].concat()).is_none());
    assert_eq!(model.with_records(&records).unwrap().to_records(), records);
}
