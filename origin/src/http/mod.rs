//! The three listeners and the handlers of all routes.
//!
//! | module | content |
//! |---|---|
//! | [`listeners`] | the three sockets, and how they close |
//! | [`pipeline`] | the steps of every request, on any listener |
//! | [`edge_listener`], [`assertion`] | the edge listener and verification of edge assertions |
//! | [`messages`] | messages of the edge itself |
//! | [`relay_listener`], [`relay_meter`], [`relay_lookups`] | the relay listener: routes that backends call directly, their rate limits, key look-ups |
//! | [`admin_listener`], [`ingest`] | the admin listener: metrics, the test clock, ingestion of facts |
//! | [`router`] | dispatch from a row of the route table to its handler |
//! | [`wire`], [`connection_state`], [`socket`] | connections: time limits and streaming |
//! | [`connections`], [`held_bytes`], [`listener_limits`] | limits on connections and bytes in memory, and which connection is closed to make room |
//! | [`once`] | replay protection across processes |
//! | [`event_stream`] | the stream of events |
//! | [`documents`] | the documentation's pages |
//! | [`call`], [`body`], [`answer`], [`encoded`] | what a handler is given, and what it returns |
//! | [`changes`], [`holders`], [`allocation`], [`strategies`] | changes, holders, allocation and strategies of vaults |
//! | [`vaults`], [`vault_detail`], [`chains`], [`protocols`], [`curators`], [`me`] | vaults, chains, protocols, curators, and the caller's key |
//! | [`markets`], [`oracles`], [`symbols`], [`stats`], [`portfolio`], [`royco`] | markets, oracles, symbols, platform figures, portfolios |
//! | [`graph`], [`decisions`] | the exposure graph, and decisions signed over it |
//! | [`health`], [`status`], [`methodology`], [`research`] | health and status of the service, scoring methodology, and tests of its predictions |
//! | [`webhooks`], [`basket_webhooks`] | webhook subscriptions for events and for baskets |
//! | [`events`], [`critical`] | the events feed, and vaults with critical incidents |
//! | [`security`], [`signals`] | the security registry, the loss board, risk signals |
//! | [`baskets`] | baskets, their versions, changes and rules |
//! | [`indices`], [`reference_rates`] | levels and rates for holders of index tokens |
//! | [`openapi`] | the OpenAPI document |
//! | [`assets`], [`rwa`], [`reviewers`] | assets, real-world assets, and reviewers of assets |
//!
//! # Invariants
//!
//! - The edge listener acts only on the signed head of a request; it reads no byte of a body before the head is verified (`tests/it/http_link.rs`).
//! - A request that writes or opens a stream spends its nonce in the database before it changes anything, so no other process executes it again
//!   (`tests/it/http_replays.rs`).
//! - Connections and bytes of unauthenticated peers have limits of their own on every listener. Such peers displace only each other, never a proved
//!   connection (`tests/it/http_crowds.rs`).
//! - A response that is served again within a second comes from the same catalog, question and content class. Access, required tag versions and fail-safe
//!   mode are checked again for every caller (`tests/it/http_recent.rs`).
//! - Access follows from the route table alone; `e2e/authorisation/rule.mjs` states the same rule independently, and every route is called by every kind of
//!   caller on every listener.

pub mod admin_listener;
pub mod allocation;
pub mod answer;
pub mod assertion;
pub mod assets;
pub mod basket_webhooks;
pub mod baskets;
pub mod body;
pub mod call;
pub mod chains;
pub mod changes;
pub mod connection_state;
pub mod connections;
#[cfg(test)]
mod connections_tests;
pub mod critical;
pub mod curators;
pub mod decisions;
pub mod documents;
pub mod edge_listener;
pub mod encoded;
pub mod event_stream;
pub mod events;
pub mod graph;
pub mod health;
pub mod held_bytes;
pub mod holders;
pub mod indices;
pub mod ingest;
pub mod listener_limits;
pub mod listeners;
pub mod markets;
pub mod me;
pub mod messages;
pub mod methodology;
mod namespaces;
pub mod once;
pub mod openapi;
pub mod oracles;
pub mod pipeline;
pub mod portfolio;
pub mod protocols;
pub mod reference_rates;
pub mod relay_listener;
pub mod relay_lookups;
pub mod relay_meter;
pub mod research;
pub mod response_cache;
pub mod reviewers;
pub mod router;
pub mod royco;
pub mod rwa;
pub mod security;
pub mod signals;
pub mod signing;
pub mod socket;
pub mod stats;
pub mod status;
pub mod strategies;
pub mod symbols;
pub mod vault_detail;
pub mod vaults;
pub mod webhooks;
pub mod wire;
