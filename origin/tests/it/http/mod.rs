//! Listeners, limits, the link to the edge, and what is common to all routes.

pub mod access;
pub mod crowds;
pub mod edge_listener;
pub mod edge_messages;
pub mod ignored_parameters;
pub mod limits;
pub mod odd_texts;
pub mod read_model;
pub mod relay;
pub mod replays;
pub mod replica;
pub mod response_cache;
pub mod shown_instants;
pub mod tag_messages;
pub mod tags;
