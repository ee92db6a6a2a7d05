//! Runs libFuzzer on the property [`rds_fuzz::replica::holds`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::replica::holds(data));
