//! The project's tooling as a library: `main.rs` is its command line, and `bench` starts its processes through the same code.
//!
//! From the bottom up: [`console`], [`signals`], [`command`] and [`service`] run and watch processes; [`provision`] installs
//! missing tools into a cache outside the clone; [`wasm`] builds the Worker; [`up`] starts the stack; [`campaign`] prepares the
//! stacks of the fault campaigns; [`test`] (with its stage [`e2e`]), [`lint`], [`openapi`], [`clients`], [`sbom`], [`dist`], [`fuzz`],
//! [`histories`], [`models`], [`mutants`], [`world`] and [`bench`] implement the verbs of the same names.

mod assets;
pub mod bench;
pub mod campaign;
pub mod circles;
pub mod clients;
pub mod command;
pub mod console;
pub mod dist;
pub mod e2e;
mod edge_stacks;
mod explorer;
pub mod fuzz;
pub mod histories;
pub mod layers;
pub mod lint;
pub mod measure;
mod migrations;
pub mod models;
pub mod mutants;
pub mod openapi;
mod orphans;
pub mod provision;
mod release;
pub mod sbom;
pub mod scratch;
pub mod service;
pub mod signals;
pub mod tally;
pub mod test;
pub mod tidy;
pub mod up;
pub mod verifier;
pub mod wasm;
pub mod workspace;
pub mod world;
