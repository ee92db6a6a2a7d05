//! Bodies that are assets: files of the deployment, stored beside the Worker's module under names that are hashes of their content.
//!
//! The module itself has only the tables of such files, with their names, sizes and ETags (`rds_docs`). So it answers HEAD and conditional
//! requests without the file, and asks the host for the content only if the response has a body.

use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{self, Answer, Exchange, Reply, ReplyBody};
use rds_docs::Asset;
use rds_shared::wire::{ApiError, ErrorCode, etag};
use std::borrow::Cow;

/// A file whose content is an asset, as a reply; 304 if the caller already has it. `headers` are those that a 304 carries, too.
pub(crate) fn represent(
    asset: &'static Asset,
    media_type: &'static str,
    etag: &'static str,
    headers: impl IntoIterator<Item = (&'static str, &'static str)>,
    if_none_match: Option<&str>,
) -> Reply {
    let mut headers: Vec<_> = headers.into_iter().map(|(name, value)| (name, Cow::Borrowed(value))).collect();
    if if_none_match.is_some_and(|given| etag::if_none_match(given, etag)) {
        return Reply { status: 304, headers, body: None };
    }
    headers.push(("content-type", Cow::Borrowed(media_type)));
    Reply { status: 200, headers, body: Some(ReplyBody::Asset(asset)) }
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Makes the host load the asset that `reply` consists of, if any. If the asset cannot be loaded, the reply becomes an error.
    pub(crate) async fn with_asset(&self, reply: Reply, exchange: Exchange<'_>) -> Reply {
        let Some(ReplyBody::Asset(asset)) = reply.body else { return reply };
        let Err(fault) = self.host.load_asset(asset).await else { return reply };
        self.host.log(&format!("{} the asset {} could not be loaded: {}", self.request_id, asset.name, fault.0));
        let error = match reply.status {
            // The page about a missing page.
            404 => ApiError::not_found("page"),
            _ => ErrorCode::ServiceUnavailable.into(),
        };
        respond::finish(Answer::Error(error), exchange)
    }
}
