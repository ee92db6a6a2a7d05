//! One request: its steps, what a handler is given, and the response that is made of its answer.

pub mod answer;
pub mod body;
pub mod call;
pub mod encoded;
pub(in crate::http) mod namespaces;
pub mod pipeline;
pub mod response_cache;
pub mod router;
pub mod signing;
pub mod trace;
