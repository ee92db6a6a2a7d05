//! Runs libFuzzer on the property [`rds_fuzz::logs::holds`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::logs::holds(data));
