//! A caching reverse proxy for arbitrary origins, built on the same cache core as the service.
//!
//! It exists for the HTTP cache conformance suite (`e2e/CACHE.md`), which brings its own origin. It is in no deployed bundle: its cache keys
//! are raw targets, and it identifies no callers.

#[cfg(feature = "any-origin")]
pub(crate) mod runtime;
mod steps;
#[cfg(test)]
mod tests;
