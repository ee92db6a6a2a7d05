//! libFuzzer against [`rds_fuzz::credentials`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::credentials::holds(data));
