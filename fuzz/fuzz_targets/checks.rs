//! Runs libFuzzer on the property [`rds_fuzz::checks::holds`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::checks::holds(data));
