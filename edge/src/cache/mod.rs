//! The response cache: a bounded memory in each isolate, in front of the data centre's Cache API, under one policy.
//!
//! Cache keys are built from the parsed route and its known parameters, never from a raw URL or a client's header.
//!
//! The core is a shared cache after RFC 9111, in two halves. A [`Lifetime`] is assigned when a response arrives: by [`policy`] to the
//! service's own origin, by [`shared`] to any other. After that all entries are treated alike: their [`Condition`], revalidation and
//! place in [`Memory`]. The modules needed only for other origins (`shared`, [`variants`], [`conditional`], [`invalidation`],
//! [`fields`], [`range`]) are called by the conformance proxy alone; a deployed bundle contains none of
//! them.
//!
//! # Invariants
//!
//! - A cached response carries the tag versions that the origin says it was made from, never those that were known when it was requested
//!   (`edge/tests/pipeline/tags.rs`).
//! - A response that may be withdrawn for good is not served stale once its isolate knows of a change that it lacks (`edge/tests/pipeline/baskets.rs`).
//! - Where access depends on the caller, the content class is part of the cache key and of the ETag (`e2e/access-copies.test.mjs`).

pub mod age_fields;
pub mod conditional;
pub mod directives;
pub mod entry;
pub mod fields;
pub mod http_date;
pub mod invalidation;
pub mod key;
pub mod memory;
pub mod policy;
pub mod range;
pub mod shared;
pub mod store;
pub mod variants;

pub use entry::Entry;
pub use memory::Memory;
pub use policy::{Condition, Lifetime};
