//! Routes of the service itself: health, status, the caller's key, documents.

pub mod documents;
pub mod health;
pub mod me;
pub mod openapi;
pub mod status;
