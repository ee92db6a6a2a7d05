//! The service as a whole: fail-safe modes, status, metrics, documents and every route.

pub mod documents;
pub mod drill;
pub mod fail_safe;
pub mod fail_safe_closed;
pub mod fail_safe_routes;
pub mod faults;
pub mod metrics;
pub mod migrations;
pub mod openapi;
pub mod operator_verbs;
pub mod parameters;
pub mod sql_statements;
pub mod status;
pub mod status_chains;
pub mod status_edge;
pub mod status_writes;
