//! `GET /v1/signals` and one signal. The published registry and the loss board are in the read model.

pub mod signals;
