//! Routes of event streams and webhook subscriptions.

pub mod basket_webhooks;
pub mod event_stream;
pub mod webhooks;
