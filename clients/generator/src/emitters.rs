//! The list of emitters.

use crate::catalogue::Catalogue;
use crate::language::Language;
use crate::python::Python;
use crate::rust::{Rust, RustDispatch};
use crate::typescript::TypeScript;

/// Every emitter.
pub fn all() -> Vec<Box<dyn Language>> {
    vec![Box::new(TypeScript), Box::new(Python), Box::new(Rust), Box::new(RustDispatch), Box::new(Catalogue)]
}
