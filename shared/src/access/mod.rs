//! Callers: their credentials, rate limits and permissions, and the signatures between edge and origin.

pub mod address_table;
pub mod answer_signature;
pub mod assertion;
pub mod budget;
pub mod client_net;
pub mod cors;
pub mod credential;
pub mod forwarded;
pub mod gate;
pub mod link;
pub mod paging;
pub mod plan;
pub mod principal;
pub mod refused;
pub mod salt;
pub mod spray;
pub mod trusted_proxies;

pub use answer_signature::{AnswerError, AnswerHead, SIGNED, signed_headers};
pub use assertion::{Assertion, AssertionError, AssertionKey, BodyDigest, SignedHead, SignedRequest, VerifiedHead};
pub use client_net::{ClientNet, Neighbourhood};
pub use cors::FirstParty;
pub use credential::{KeyDigest, Presented};
pub use plan::{KeyRecord, Plan};
pub use principal::Principal;
pub use refused::Refused;
pub use salt::Salt;
pub use spray::Spray;
pub use trusted_proxies::TrustedProxies;
