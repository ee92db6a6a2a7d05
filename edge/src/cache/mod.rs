//! Kept answers: a bounded memory in the isolate before the data centre's Cache API, under one policy.
//!
//! Keys are made of the parsed route and its known parameters, never of a raw URL or a client's header.
//!
//! The core is a shared cache after RFC 9111, in two halves. A [`Lifetime`] is given to an answer when it comes: by [`policy`] to our
//! own origin's, by [`shared`] to that of any other. What becomes of a copy from then on is the same for both: its [`Condition`], its
//! confirmation and its place in [`Memory`]. The modules that only other origins' answers need (`shared`, [`variants`],
//! [`conditional`], [`invalidation`], [`fields`], [`range`]) have the conformance entry as their caller; a deployed bundle holds
//! nothing of them.
//!
//! # Invariants
//!
//! - A cached response carries the tag versions that the origin says it was made from, never those that were known when it was requested
//!   (`edge/tests/pipeline/tags.rs`).
//! - A response that may be withdrawn for good is not served stale once its isolate knows of a change that it lacks (`edge/tests/pipeline/baskets.rs`).
//! - Where access depends on the caller, the content class is part of the cache key and of the ETag (`e2e/access-copies.test.mjs`).

pub mod conditional;
pub mod directives;
pub mod entry;
pub mod fields;
pub mod freshness;
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
