//! Property of the parser of query strings, for each route.

use rds_shared::route::Query;
use rds_shared::route::table::ROUTES;
use rds_shared::wire::ErrorCode;

/// A refusal names parameters of the route; the canonical spelling of an accepted query parses to the same query.
pub fn holds(data: &[u8]) {
    let Some((choice, text)) = crate::choice_and_text(data) else { return };
    let route = &ROUTES[choice % ROUTES.len()];
    match Query::parse(route.query, text) {
        Ok(query) => {
            let spelling = query.canonical();
            assert_eq!(Query::parse(route.query, &spelling).as_ref(), Ok(&query), "{}: {spelling}", route.path);
        }
        Err(error) => {
            assert!(!error.details.is_empty(), "{}: a refusal without a name", route.path);
            for detail in error.details.iter() {
                assert!(
                    route.query.iter().any(|param| param.name == detail.name),
                    "{} names {}",
                    route.path,
                    detail.name
                );
            }
            assert!(
                matches!(error.code, ErrorCode::InvalidParameter | ErrorCode::MissingParameter),
                "{:?}",
                error.code
            );
        }
    }
}
