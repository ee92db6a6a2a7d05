//! The service as a whole: fail-safe modes, status, metrics, documents and every route.

pub mod access_log;
pub mod documents;
pub mod drill;
pub mod fail_safe;
pub mod fail_safe_closed;
pub mod fail_safe_routes;
pub mod faults;
pub mod ingest_check;
pub mod metrics;
pub mod migrations;
pub mod openapi;
pub mod operator_verbs;
pub mod parameters;
pub mod rights;
pub mod sql_statements;
pub mod status;
pub mod status_chains;
pub mod status_edge;
pub mod status_writes;
pub mod traces;
