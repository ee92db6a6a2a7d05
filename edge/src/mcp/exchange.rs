//! Answers messages: the requests that follow from them run through the pipeline, with the identity and the limits of their caller.

use super::excerpt::excerpt;
use super::json_scan::member;
use super::message::Outgoing;
use super::method::{self, Caching, RELEASE, Step};
use super::resource::{self, Source};
use super::revision::{Headers, METHOD_HEADER, NAME_HEADER, VERSION_HEADER};
use super::tool_request::{Request, plan};
use super::{tool_answer, tool_answer::Response};
use crate::pipeline::{self, RequestContext};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Reply, ReplyBody};
use core::future::Future;
use core::pin::Pin;
use rds_docs::Document;
use rds_shared::route::RouteId;
use rds_shared::wire::{ApiError, ErrorCode};

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Refuses messages of other sites' pages, as the protocol demands: a page could otherwise use a server that only its visitor reaches.
    pub(crate) fn check_message_origin(&self) -> Result<(), ApiError> {
        match self.inbound.header("origin") {
            Some(_) if self.own_origin.is_none() => {
                Err(ApiError::new(ErrorCode::Forbidden, "pages of this origin may not send messages"))
            }
            _ => Ok(()),
        }
    }

    /// Answers one message.
    pub(crate) async fn message(&self, body: &[u8]) -> Answer {
        let read = |name: &str| self.inbound.header(name);
        let headers = Headers { version: read(VERSION_HEADER), method: read(METHOD_HEADER), name: read(NAME_HEADER) };
        Answer::Message(match method::begin(&headers, body, self.config.graph) {
            Step::Done(outgoing) => outgoing,
            Step::Call { reply, tool, arguments } => {
                let members = match plan(tool, &arguments, self.config.graph) {
                    Ok(planned) => {
                        let answer = self.replied(&planned.request).await;
                        let response = Response {
                            status: answer.status,
                            headers: &|name| answer.header(name),
                            body: text(&answer),
                        };
                        tool_answer::of_response(tool, planned.view, &planned.request, response)
                    }
                    Err(error) => tool_answer::of_fault(&error, self.request_id),
                };
                reply.complete(&members, None)
            }
            Step::Read { reply, uri, source } => self.read(&reply, &uri, source).await,
        })
    }

    async fn read(&self, reply: &method::Reply, uri: &str, source: Source) -> Outgoing {
        let media_type = resource::media_type(&source);
        match source {
            Source::Page(page) => match self.page_text(page).await {
                Ok(text) => reply.contents(uri, media_type, &text, RELEASE),
                Err(error) => reply.unread(&error.to_json(self.request_id)),
            },
            Source::Response { request, route, kept } => {
                let answer = self.replied(&request).await;
                match answer.status {
                    ..400 => {
                        let excerpt = excerpt(text(&answer), kept, resource::MAX_BYTES);
                        reply.contents(uri, media_type, &excerpt.text, caching(route))
                    }
                    404 => reply.no_resource(uri),
                    _ => reply.unread(member(text(&answer), "error").unwrap_or("{}")),
                }
            }
        }
    }

    /// The text of a page.
    async fn page_text(&self, page: &'static Document) -> Result<String, ApiError> {
        let content = self.host.read_asset(&page.asset).await.map_err(|fault| {
            self.host
                .log(&format!("{} the asset {} could not be loaded: {}", self.request_id, page.asset.name, fault.0));
            ApiError::from(ErrorCode::ServiceUnavailable)
        })?;
        String::from_utf8(content).map_err(|_| ErrorCode::InternalError.into())
    }

    /// The reply to a request that is made for the caller.
    async fn replied(&self, request: &Request) -> Reply {
        let asked = self.inbound.with(request);
        // A tool calls no route that calls tools, so there is one level of such requests.
        let answered: Pin<Box<dyn Future<Output = Reply> + '_>> =
            Box::pin(pipeline::reply(&asked, self.isolate, self.config, self.host));
        answered.await
    }
}

/// How long a client may keep a route's response.
fn caching(route: RouteId) -> Caching {
    let route = route.route();
    Caching { ttl_millis: route.cache.fresh.saturating_mul(1_000), is_public: !route.depends_on_caller() }
}

/// The body of a reply; an empty object if there is none.
fn text(reply: &Reply) -> &str {
    match &reply.body {
        Some(ReplyBody::Bytes(bytes)) => core::str::from_utf8(bytes).unwrap_or("{}"),
        _ => "{}",
    }
}
