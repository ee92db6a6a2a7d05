//! The golden vectors, compared natively as the wasm build does.

#[test]
fn every_golden_vector_is_reproduced_exactly() {
    let failures = rds_golden::failures();
    assert!(
        failures.is_empty(),
        "{} of {} vectors differ:\n{}",
        failures.len(),
        rds_golden::golden_cases(),
        failures.join("\n")
    );
    assert!(rds_golden::golden_cases() > 300, "the fixtures are not empty");
}
