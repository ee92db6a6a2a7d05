//! The caller's address, in the form that allowances are counted by.

pub use rds_shared::access::client_net::{ClientNet, client_net};
