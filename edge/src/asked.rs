//! A request as the pipeline sees it: the caller's own, or one that an MCP tool makes for the caller.

use crate::mcp::tool_request::Request;
use crate::ports::{BodyFault, Inbound, Peer};
use rds_shared::wire::headers::{self, CLIENT_IP, IDEMPOTENCY_KEY, LAST_EVENT_ID};

/// The caller's headers that concern the message and not the requests that follow from it.
const OF_THE_MESSAGE: [&str; 7] =
    ["accept", "content-type", "content-length", "if-none-match", IDEMPOTENCY_KEY, LAST_EVENT_ID, CLIENT_IP];

/// A request: `outer`, or `inner` with the identity of `outer` (key, address, origin).
#[derive(Debug)]
pub(crate) struct Asked<'a, I> {
    outer: &'a I,
    inner: Option<&'a Request>,
}

impl<'a, I: Inbound> Asked<'a, I> {
    /// The caller's own request.
    pub(crate) fn by_caller(outer: &'a I) -> Self {
        Asked { outer, inner: None }
    }

    /// Whether this is a request that an MCP tool makes.
    pub(crate) fn is_made_for_caller(&self) -> bool {
        self.inner.is_some()
    }

    /// A request made for the caller of `self`.
    pub(crate) fn with<'b>(&'b self, inner: &'b Request) -> Asked<'b, I> {
        Asked { outer: self.outer, inner: Some(inner) }
    }
}

impl<I: Inbound> Inbound for Asked<'_, I> {
    fn method(&self) -> &str {
        self.inner.map_or_else(|| self.outer.method(), |inner| inner.method)
    }

    fn target(&self) -> &str {
        self.inner.map_or_else(|| self.outer.target(), |inner| inner.target.as_str())
    }

    fn header(&self, name: &str) -> Option<String> {
        match self.inner {
            Some(inner) if name == "content-type" && !inner.body.is_empty() => Some(headers::JSON.to_owned()),
            Some(_) if OF_THE_MESSAGE.contains(&name) => None,
            _ => self.outer.header(name),
        }
    }

    fn peer(&self) -> Peer {
        self.outer.peer()
    }

    async fn body(&self, max_bytes: usize) -> Result<Vec<u8>, BodyFault> {
        match self.inner {
            None => self.outer.body(max_bytes).await,
            Some(inner) if inner.body.len() > max_bytes => Err(BodyFault::TooLarge),
            Some(inner) => Ok(inner.body.clone()),
        }
    }
}
