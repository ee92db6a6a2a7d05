//! libFuzzer against [`rds_fuzz::conditions`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::conditions::holds(data));
