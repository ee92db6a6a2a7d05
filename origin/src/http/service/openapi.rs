//! `GET /v1/openapi.json`: the committed document, compiled into the program.

use crate::http::exchange::answer::Answer;
use crate::http::exchange::call::Call;
use rds_shared::wire::etag::EtagBuilder;
use std::sync::LazyLock;

/// The committed bytes; a check compares them with what the code generates.
const DOCUMENT: &[u8] = include_bytes!("../../../../openapi/openapi.json");

static ETAG: LazyLock<String> = LazyLock::new(|| EtagBuilder::of(DOCUMENT).strong());

/// The document, or 304 if the caller has it already.
pub fn document(call: &Call) -> Answer {
    call.answer_built_in(&ETAG, DOCUMENT)
}
