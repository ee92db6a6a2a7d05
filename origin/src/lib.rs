//! The Risk Data Service origin, as a library, so that tests drive what the program runs.

pub mod app;
pub mod attestation;
pub mod catalog;
pub mod cli;
pub mod clock;
pub mod config;
pub mod edge_link;
pub mod entropy;
pub mod http;
pub mod ingest;
pub mod jobs;
pub mod journal;
pub mod keys;
pub mod metrics;
pub mod observed_changes;
pub mod outbound;
pub mod publication;
pub mod rwa;
pub mod scoring_run;
pub mod simulate;
pub mod sources;
pub mod store;
pub mod stream;
pub mod symbol_days;
pub mod telemetry;
pub mod webhooks;
