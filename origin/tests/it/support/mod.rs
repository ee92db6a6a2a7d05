//! What the tests run on: a database for each test, the service, a market, receivers, an edge and stream clients.

pub mod chaos;
pub mod db;
pub mod edge_peer;
pub mod market;
pub mod receiver;
pub mod sql;
pub mod stream_client;
pub mod streaming;
pub mod testapp;
pub mod transactions;
