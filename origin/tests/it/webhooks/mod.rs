//! Webhook subscriptions and deliveries.

pub mod breaker;
pub mod connection_pool;
pub mod crashes_and_leases;
pub mod fanout;
pub mod first_attempts;
pub mod lag;
pub mod receivers;
pub mod routes;
pub mod schedule;
pub mod upkeep;
pub mod world;
