//! The project's own tooling as a library: `main.rs` is its command line, and `bench` starts its
//! processes through the same code.
//!
//! From the ground up: [`console`], [`signals`], [`command`] and [`service`] run and watch
//! processes; [`provision`] brings tools that the machine lacks into a cache outside the clone;
//! [`wasm`] builds the Worker; [`up`] starts the stack; [`campaign`] lays one out to be killed; [`test`] and its stage [`e2e`],
//! [`lint`], [`openapi`], [`sbom`], [`fuzz`] and [`bench`] are what their names say.

pub mod bench;
pub mod campaign;
pub mod command;
pub mod console;
pub mod e2e;
pub mod fuzz;
pub mod layers;
pub mod lint;
pub mod measure;
pub mod openapi;
pub mod provision;
pub mod sbom;
pub mod service;
pub mod signals;
pub mod tally;
pub mod test;
pub mod tidy;
pub mod up;
pub mod verifier;
pub mod wasm;
pub mod workspace;
