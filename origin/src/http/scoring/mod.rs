//! Routes of the methodology and of research.

pub mod methodology;
pub mod research;
