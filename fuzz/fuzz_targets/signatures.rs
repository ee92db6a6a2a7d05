//! libFuzzer against [`rds_fuzz::signatures`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::signatures::holds(data));
