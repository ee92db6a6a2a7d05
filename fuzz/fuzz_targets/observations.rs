//! libFuzzer against [`rds_fuzz::observations`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::observations::holds(data));
