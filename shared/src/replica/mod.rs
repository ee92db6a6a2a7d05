//! The replica: the rows of the read model, as they travel from the origin to the edge.
//!
//! | file | content |
//! |---|---|
//! | [`family`] | the families of rows |
//! | [`row`] | a row as bytes, and the rows of all families |

pub mod family;
pub mod row;

pub use family::Family;
pub use row::{Row, Rows};
