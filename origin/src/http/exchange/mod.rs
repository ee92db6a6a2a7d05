//! Processing of one request: its steps, the input of a handler, and the conversion of the handler's answer into a response.

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
