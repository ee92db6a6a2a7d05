//! The Risk Data Service origin as a library, so that tests run the code of the program.

pub mod app;
pub mod basket_refresh;
pub mod catalog;
pub mod chain;
pub mod cli;
pub mod clock_check;
pub mod config;
pub mod crash_dump;
pub mod decisions;
pub mod edge_link;
pub mod graph;
pub mod http;
pub mod jobs;
pub mod journal;
pub mod keys;
pub mod listener;
pub mod metrics;
pub mod outbound;
pub mod panics;
pub mod replica;
pub mod status;
pub mod stream;
pub mod telemetry;
pub mod thinning;
pub mod traces;
pub mod webhooks;
