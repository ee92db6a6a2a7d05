//! Replies whose body is an asset, made from the tables of such files alone.

use crate::respond::{Reply, ReplyBody};
use rds_docs::Asset;
use rds_shared::wire::etag;
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
