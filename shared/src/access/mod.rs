//! Who is calling, what they may reach, and how the edge vouches for them to the origin.

pub mod assertion;
pub mod budget;
pub mod client_net;
pub mod cors;
pub mod credential;
pub mod gate;
pub mod link;
pub mod paging;
pub mod plan;
pub mod principal;
pub mod spray;

pub use assertion::{Assertion, AssertionError, AssertionKey, SignedRequest};
pub use client_net::ClientNet;
pub use cors::FirstParty;
pub use credential::{KeyDigest, Presented};
pub use plan::{KeyRecord, Plan};
pub use principal::Principal;
pub use spray::Spray;
