//! Rate limits and usage against a brute-force oracle: with evictions, crashes and duplicate instances, no window admits an extra
//! request, and usage is reported completely and once.

mod addresses;
mod disk;
mod exactness;
mod reservations;
mod rows;
mod usage;
