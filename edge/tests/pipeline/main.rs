//! The Worker's way of a request, from outside, with a scripted caller, origin, store and clock.

mod baskets;
mod conditions;
mod copies;
mod cross_origin;
mod decisions;
mod document;
mod fail_safe;
mod index_tokens;
mod keys;
mod limits;
mod news;
mod objects;
mod outages;
mod readiness;
mod refusals;
mod reservations;
mod signed_calls;
mod status;
mod streams;
mod tag_news;
mod tags;
mod webhooks;
mod world;
