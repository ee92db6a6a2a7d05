//! Runs libFuzzer on the property [`rds_fuzz::cursors::holds`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::cursors::holds(data));
