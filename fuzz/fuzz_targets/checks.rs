//! libFuzzer against [`rds_fuzz::checks`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::checks::holds(data));
