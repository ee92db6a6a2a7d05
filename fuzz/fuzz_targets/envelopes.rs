//! libFuzzer against [`rds_fuzz::envelopes`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rds_fuzz::envelopes::holds(data));
