//! libFuzzer against [`rds_fuzz::query`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::query::holds(data));
