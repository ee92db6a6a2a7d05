//! The response cache: a bounded memory in each isolate, in front of the data centre's Cache API, under one policy.
//!
//! Cache keys are built from the parsed route and its known parameters, never from a raw URL or a client's header.
//!
//! The cache is stricter than HTTP requires of a shared cache (RFC 9111): it stores only responses of the service's own origin, only with
//! the origin's explicit consent in `CDN-Cache-Control` ([`policy`]), and no header of a caller changes what is stored.
//!
//! # Invariants
//!
//! - A cached response carries the tag versions that the origin stated in its answer, never the versions that the edge knew when it sent the
//!   request (`edge/tests/pipeline/tags.rs`).
//! - A response that may be withdrawn for good is not served stale once its isolate knows of a later change
//!   (`edge/tests/pipeline/baskets.rs`).
//! - Where access depends on the caller, the content class is part of the cache key and of the ETag (`e2e/access-copies.test.mjs`).

pub mod age_fields;
pub mod directives;
pub mod entry;
pub mod key;
pub mod memory;
pub mod policy;
pub mod store;

pub use entry::Entry;
pub use memory::Memory;
pub use policy::Condition;
