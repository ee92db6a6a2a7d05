//! What all Durable Objects share: calls to them, messages, storage, and the order of concurrent requests.

pub mod client;
pub mod group_commit;
pub mod lazy_state;
pub mod message;
pub mod semaphore;
pub mod single_flight;
pub mod sql;
