//! Who is calling, what they may reach, and how the edge vouches for them to the origin.

pub mod assertion;
pub mod cors;
pub mod paging;
pub mod principal;

pub use assertion::{Assertion, AssertionError, AssertionKey, SignedRequest};
pub use cors::FirstParty;
pub use principal::Principal;
