//! The committed documents: the current one matches the code and is compatible with the last release.

use rds_openapi::committed::{DOCUMENT, RELEASED, earlier, made, promise, refuse_breaks, refuse_drift};
use rds_openapi::compatibility::breaks;
use rds_openapi::ingest;
use std::path::Path;

const HOME: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_committed_document_matches_the_code() {
    let home = Path::new(HOME);
    refuse_drift(home, DOCUMENT, &made(home).unwrap()).unwrap();
}

#[test]
fn the_committed_schemas_of_ingest_lines_match_the_code() {
    refuse_drift(Path::new(HOME), ingest::DOCUMENT, &ingest::document().unwrap()).unwrap();
}

#[test]
fn the_document_is_compatible_with_the_last_release() {
    let home = Path::new(HOME);
    let released = earlier(&home.join(RELEASED)).unwrap();
    assert!(released["info"]["version"].is_string());
    refuse_breaks(home, &released, &made(home).unwrap()).unwrap();
}

/// Runs the compatibility check on the real document, because the unit tests use a small invented document.
#[test]
fn breaks_of_the_real_document_are_found() {
    let made = made(Path::new(HOME)).unwrap();
    let contract = promise(&made);
    for (pointer, member, expected) in [
        ("/paths/~1v1~1vaults/get/responses", "400", "GET /v1/vaults: status 400 is no longer returned"),
        ("/components/schemas/Error/properties/error/properties", "request_id", "error.request_id: the field is gone"),
        ("/components/headers/X-Cache/schema", "enum", "its values are no longer listed"),
        (
            "/webhooks/rating.changed/post",
            "parameters",
            "webhook rating.changed: the header X-Service-Signature is gone",
        ),
        ("/paths/~1v1~1vaults~1scores/get", "x-access", "access changed from data to"),
    ] {
        let mut broken = made.clone();
        broken.pointer_mut(pointer).and_then(|at| at.as_object_mut()).and_then(|at| at.remove(member)).expect(pointer);
        let found: Vec<String> = breaks(&contract, &broken).iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|it| it.contains(expected)), "{pointer}/{member}: {:?}", found.first());
    }
}
