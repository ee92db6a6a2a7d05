//! The three listeners and the handlers of all routes.
//!
//! | folder | content |
//! |---|---|
//! | [`listeners`] | the three sockets; what each verifies and limits before a route is reached |
//! | [`transport`] | HTTP/1.1 connections, their time limits, and the limits on connections and bytes |
//! | [`exchange`] | the steps of every request, the input of a handler, and the conversion of its answer into a response |
//! | [`lists`] | the routes that the catalog's read model answers alone |
//! | all others | handlers, in folders with the names of `store`: [`vaults`], [`registry`], [`markets`], [`assets`], [`events`], [`security`], [`scoring`], [`baskets`], [`graph`], [`push`], [`service`] |
//!
//! # Invariants
//!
//! - The edge listener acts only on the signed head of a request; it reads no byte of a body before the head is verified (`tests/it/http/edge_listener.rs`).
//! - A request that writes or opens a stream spends its nonce in the database before it changes anything, so no other process executes it again
//!   (`tests/it/http/replays.rs`).
//! - Connections and bytes of unauthenticated peers have limits of their own on every listener. Such peers displace only each other, never a proved
//!   connection (`tests/it/http/crowds.rs`).
//! - A response is reused, for at most a second, only for the same catalog, path, query and content class. Access, required tag
//!   versions and the fail-safe mode are checked again for every caller (`tests/it/http/response_cache.rs`).
//! - Access follows from the route table alone; `e2e/authorisation/rule.mjs` states the same rule independently, and every route is called by every kind of
//!   caller on every listener.

pub mod assets;
pub mod baskets;
pub mod events;
pub mod exchange;
pub mod graph;
pub mod listeners;
pub mod lists;
pub mod markets;
pub mod push;
pub mod registry;
pub mod scoring;
pub mod security;
pub mod server;
pub mod service;
pub mod transport;
pub mod vaults;
