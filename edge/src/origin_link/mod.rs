//! The link to the origin.
//!
//! | module | content |
//! |---|---|
//! | [`signed_call`] | the signed request, the answers accepted, and their meaning |
//! | [`retry`] | one request and its outcome, and when the request is retried |
//! | [`calls`] | calls for a caller; probes when a call is slow or fails |
//! | [`breaker`] | stops calls to a failing origin |
//! | [`messages`] | the origin's messages about changed keys and tags |

pub mod breaker;
pub mod calls;
pub mod messages;
pub mod retry;
pub mod signed_call;
