//! libFuzzer against [`rds_fuzz::addresses`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::addresses::holds(data));
