//! The origin's integration tests: a real Postgres, the real code, one database a test.
//!
//! They need `RDS_TEST_DATABASE_URL`, an administrative URL of a Postgres 15 or newer; `cargo xtask test` brings one.

mod assets;
mod chaos;
mod db;
mod edge_peer;
mod facts_faults;
mod facts_import;
mod facts_ingest;
mod facts_market;
mod facts_publication;
mod facts_simulate;
mod facts_simulate_markets;
mod http_access;
mod http_batch;
mod http_changes;
mod http_detail;
mod http_doors;
mod http_holders;
mod http_markets;
mod http_messages;
mod http_oracles;
mod http_portfolio;
mod http_registries;
mod http_relay;
mod http_service;
mod http_strategies;
mod http_symbols;
mod http_vaults;
mod keys_operators;
mod keys_told;
mod market;
mod receiver;
mod rwa;
mod testapp;
mod webhooks_breaker;
mod webhooks_fanout;
mod webhooks_receivers;
mod webhooks_routes;
mod webhooks_schedule;
mod webhooks_upkeep;
mod webhooks_world;
