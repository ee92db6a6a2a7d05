//! libFuzzer against [`rds_fuzz::target`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::target::holds(data));
