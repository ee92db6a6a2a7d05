//! The guards against a brute-force oracle: whatever is evicted, crashes or runs twice, no window admits one request more,
//! and usage arrives whole and once.

mod addresses;
mod disk;
mod exactness;
mod reservations;
mod usage;
