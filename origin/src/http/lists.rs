//! The routes that are answered from the catalog's read model alone: most lists, and the rows that need no database.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::signing::HashedBody;
use axum::body::Bytes;
use rds_shared::read_model;
use rds_shared::read_model::response::{Body, Response};

/// The answer of `shared` to a call of one of the routes that it serves.
pub fn answer(live: &LiveCatalog, call: &Call) -> Result<Answer, Failure> {
    let request = call.request();
    read_model::check(&request)?;
    let catalog = live.get()?;
    let response = read_model::answer(&catalog.model, request);
    let response = response.ok_or_else(|| Failure::Internal("the read model does not have this route".to_owned()))?;
    Ok(Answer::from(response?))
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        let Response { etag, version, body } = response;
        match body {
            None => Answer::not_modified(etag, version),
            Some(Body::Built(bytes)) => Answer::tagged(etag, version, bytes),
            Some(Body::Preencoded(body)) => {
                let bytes = Bytes::from_owner(body.shared());
                Answer::whole(etag, version, HashedBody::with_digest(bytes, *body.digest()))
            }
        }
    }
}
