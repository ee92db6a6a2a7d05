//! libFuzzer against [`rds_fuzz::urls`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::urls::holds(data));
