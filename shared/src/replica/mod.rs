//! The replica: the rows of the read model, as they travel from the origin to the edge.
//!
//! The origin names the state that is current in a [`Stamp`]. A holder with an older state gets the [`Delta`]s between them; one without
//! a state gets the [`Manifest`], which names the [`Segment`]s of all rows. Everything is sealed by the origin or named by its content, so
//! that any copy can be used wherever it was kept.
//!
//! | file | content |
//! |---|---|
//! | [`family`] | the families of rows |
//! | [`row`] | a row as bytes, and the rows of all families |
//! | [`state`] | the name of a state |
//! | [`stamp`] | which state is current, and what it includes |
//! | [`segment`] | rows, packed |
//! | [`manifest`] | the segments of a state |
//! | [`delta`] | what leads from one state to another |
//! | [`mod@seal`] | the origin's MAC over these documents |
//! | [`update`] | the answer to a holder that asks for the current state |
//!
//! # Invariants
//!
//! - Equal rows have the same state, segments and names, whichever process made them.
//! - A delta is applied only to the state that it begins at, and only if the result is the state that it names.
//! - A row that did not change keeps its bytes in memory over an update.

pub mod delta;
pub mod family;
pub mod manifest;
pub mod row;
pub mod seal;
pub mod segment;
pub mod stamp;
pub mod state;
pub mod update;

pub use delta::{Change, Delta, DeltaFault};
pub use family::{FAMILIES, Family};
pub use manifest::Manifest;
pub use row::{Row, Rows};
pub use seal::{FORMAT, Kind, SealFault, open, seal};
pub use segment::{Segment, SegmentFault, SegmentName, cut};
pub use stamp::Stamp;
pub use state::StateId;
pub use update::{Step, Update};
