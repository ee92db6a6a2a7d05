//! A caching reverse proxy for an origin that we know nothing of, over the same core as the service's own copies.
//!
//! Its reason is the conformance suite, which speaks to an origin of its own through it (`e2e/CACHE.md`). It is in no deployed bundle: its copies
//! are named by targets as they came, and it asks nobody who they are.

#[cfg(feature = "any-origin")]
pub(crate) mod runtime;
#[cfg(test)]
mod tests;
mod walk;
