//! libFuzzer against [`rds_fuzz::cursors`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::cursors::holds(data));
