//! The replica: the rows of the read model, as they travel from the origin to the edge.
//!
//! The origin names the state that is current in a [`Stamp`]. A holder with an older state gets the [`Delta`]s between them; one without
//! a state gets the [`Manifest`], which names the [`Segment`]s of all rows. Everything is sealed by the origin or named by its content, so
//! that any copy can be used wherever it was kept.
//!
//! | file | content |
//! |---|---|
//! | [`family`], [`families`] | the families of rows, and sets of them |
//! | [`row`] | a row as bytes, and the rows of all families |
//! | [`dictionary`] | rows packed one by one, in the memory of a holder |
//! | [`state`] | the name of a state |
//! | [`stamp`] | which state is current, and what it includes |
//! | [`segment`] | rows, packed |
//! | [`manifest`] | the segments of a state |
//! | [`delta`] | what leads from one state to another |
//! | `changes` | how the changes of a delta travel |
//! | [`mod@seal`] | the origin's MAC over these documents |
//! | [`update`] | the answer to a holder that asks for the current state |
//!
//! # Invariants
//!
//! - Equal rows have the same state, segments and names, whichever process made them.
//! - A delta is applied only to the state that it begins at, and only if the result is the state that it names. A holder of some families checks
//!   the result unless a change concerns a family that it does not hold.
//! - A row that did not change keeps its bytes in memory over an update.

mod changes;
pub mod delta;
pub mod dictionary;
pub mod families;
pub mod family;
mod inflate;
pub mod manifest;
pub mod row;
pub mod seal;
pub mod segment;
pub mod stamp;
pub mod state;
pub mod update;

pub use delta::{Change, Delta, DeltaFault};
pub use dictionary::Dictionary;
pub use families::Families;
pub use family::{FAMILIES, Family};
pub use manifest::{Manifest, Size};
pub use row::{Row, Rows};
pub use seal::{FORMAT, Kind, SealFault, open, open_slowly, seal};
pub use segment::{Segment, SegmentFault, SegmentName, cut};
pub use stamp::Stamp;
pub use state::StateId;
pub use update::{Step, Update};
