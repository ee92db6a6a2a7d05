//! `GET /v1/openapi.json`: the document that is committed, as part of the program. Source: interface, "Versioning", 1.

use super::answer::Answer;
use super::call::Call;
use rds_shared::wire::etag::EtagBuilder;
use std::sync::LazyLock;

/// The bytes that are committed; a check keeps them what the code makes.
const DOCUMENT: &[u8] = include_bytes!("../../../openapi/openapi.json");

static ETAG: LazyLock<String> = LazyLock::new(|| EtagBuilder::of(DOCUMENT).strong());

/// The one document.
pub fn document(call: &Call) -> Answer {
    call.answer_built_in(&ETAG, DOCUMENT)
}
