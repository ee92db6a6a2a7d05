//! The committed documents: the present one is what the code makes, and keeps what the last release promised.

use rds_openapi::committed::{RELEASED, earlier, made, promise, refuse_breaks, refuse_drift};
use rds_openapi::compatibility::breaks;
use std::path::Path;

const HOME: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_document_is_what_the_code_makes() {
    let home = Path::new(HOME);
    refuse_drift(home, &made(home).unwrap()).unwrap();
}

#[test]
fn a_client_of_the_last_release_goes_on_working() {
    let home = Path::new(HOME);
    let released = earlier(&home.join(RELEASED)).unwrap();
    assert!(released["info"]["version"].is_string());
    refuse_breaks(home, &released, &made(home).unwrap()).unwrap();
}

/// The check would be worth nothing if it did not see, in the real document, what it sees in a small one.
#[test]
fn a_break_of_the_real_document_is_seen() {
    let made = made(Path::new(HOME)).unwrap();
    let promised = promise(&made);
    for (pointer, member, told) in [
        ("/paths/~1v1~1vaults/get/responses", "400", "GET /v1/vaults: 400 is no longer answered"),
        ("/components/schemas/Error/properties/error/properties", "request_id", "error.request_id: the field is gone"),
        ("/components/headers/X-Cache/schema", "enum", "its values are no longer listed"),
        (
            "/webhooks/rating.changed/post",
            "parameters",
            "webhook rating.changed: the header X-Service-Signature is gone",
        ),
        ("/paths/~1v1~1vaults~1scores/get", "x-access", "it was open to data, and is to"),
    ] {
        let mut broken = made.clone();
        broken.pointer_mut(pointer).and_then(|at| at.as_object_mut()).and_then(|at| at.remove(member)).expect(pointer);
        let found: Vec<String> = breaks(&promised, &broken).iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|it| it.contains(told)), "{pointer}/{member}: {:?}", found.first());
    }
}
