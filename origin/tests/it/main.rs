//! The origin's integration tests: the real code on a real Postgres, with a database for each test.
//!
//! They need `RDS_TEST_DATABASE_URL`, an administrative URL of a Postgres 15 or newer. `cargo xtask test` starts one.

mod assets;
mod baskets;
mod events;
mod graph;
mod http;
mod ingest;
mod keys;
mod markets;
mod push;
mod registry;
mod research;
mod scoring;
mod security;
mod service;
mod support;
mod vaults;
mod webhooks;
mod years;
