//! The methods of the protocol: what each answers by itself, and which request it makes otherwise.

use super::message::{self, Fault, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, Outgoing};
use super::revision::{self, Era, Headers};
use super::tool::{self, Tool};
use super::{input_schema, quoted, resource};
use rds_shared::VERSION;
use serde_json::{Map, Value};

/// Lists and pages change only with a release.
pub const RELEASE: Caching = Caching { ttl_millis: 3_600_000, is_public: true };
/// The code for a missing resource in revisions with a handshake. Later ones use [`INVALID_PARAMS`].
const RESOURCE_NOT_FOUND: i32 = -32_002;

/// For the model: what the server is for, and how to begin.
const INSTRUCTIONS: &str = "Risk of on-chain vaults, lending markets and assets: scores from 0 (worst) to 10, tiers Prime, Core and Edge, and the \
    evidence behind each. Begin with search_vaults or overview. Each answer has `answer` (the response), `omitted` (what was left out) and \
    `next` (what to do next). Amounts are in USD, rates are fractions, unknown values are null: never read null as zero. Say so if an answer is \
    `stale`. A score is no advice to invest.";

/// How long a client may keep a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    pub ttl_millis: u32,
    /// Whether every caller gets the same.
    pub is_public: bool,
}

/// What follows from a message.
#[derive(Debug)]
pub enum Step {
    /// It is answered.
    Done(Outgoing),
    /// A tool is called.
    Call { reply: Reply, tool: &'static Tool, arguments: Map<String, Value> },
    /// A resource is read.
    Read { reply: Reply, uri: String, source: resource::Source },
}

/// The pending response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    id: String,
    era: Era,
}

impl Reply {
    /// The response with a result. `members` are those of its object, as JSON; `caching` is given for the methods whose results clients may
    /// keep.
    pub fn complete(&self, members: &str, caching: Option<Caching>) -> Outgoing {
        let mut result = format!("{{{members}");
        if self.era == Era::Stateless {
            let separator = if members.is_empty() { "" } else { "," };
            result.push_str(&format!(
                "{separator}\"resultType\":\"complete\",\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{}}}",
                server_info()
            ));
            if let Some(Caching { ttl_millis, is_public }) = caching {
                let scope = if is_public { "public" } else { "private" };
                result.push_str(&format!(",\"ttlMs\":{ttl_millis},\"cacheScope\":\"{scope}\""));
            }
        }
        result.push('}');
        Outgoing::result(&self.id, &result)
    }

    /// The response with an error.
    pub fn refuse(&self, fault: &Fault) -> Outgoing {
        Outgoing::refused(Some(&self.id), fault)
    }

    /// The response for a resource that does not exist.
    pub fn no_resource(&self, uri: &str) -> Outgoing {
        let code = if self.era == Era::Stateless { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
        let data = Some(format!("{{\"uri\":{}}}", quoted(uri)));
        self.refuse(&Fault { data, status: 200, ..Fault::new(code, "no such resource") })
    }

    /// The response for a resource that cannot be read now; `error` is the service's own, as JSON.
    pub fn unread(&self, error: &str) -> Outgoing {
        let data = Some(error.to_owned());
        self.refuse(&Fault { data, status: 200, ..Fault::new(INTERNAL_ERROR, "the resource could not be read") })
    }

    /// The response with a resource's content.
    pub fn contents(&self, uri: &str, media_type: &str, text: &str, caching: Caching) -> Outgoing {
        let (uri, text) = (quoted(uri), quoted(text));
        let contents = format!("\"contents\":[{{\"uri\":{uri},\"mimeType\":\"{media_type}\",\"text\":{text}}}]");
        self.complete(&contents, Some(caching))
    }
}

/// Reads a message. `graph` is whether the exposure graph's routes exist.
pub fn begin(headers: &Headers, body: &[u8], graph: bool) -> Step {
    let request = match message::read(body) {
        Ok(Message::Request(request)) => request,
        Ok(Message::Notification) => {
            let checked = revision::check_notification(headers);
            return Step::Done(checked.map_or_else(|fault| Outgoing::refused(None, &fault), |()| Outgoing::ACCEPTED));
        }
        Err(fault) => return Step::Done(Outgoing::refused(None, &fault)),
    };
    let era = match revision::of(headers, &request) {
        Ok(era) => era,
        Err(fault) => return Step::Done(Outgoing::refused(Some(&request.id), &fault)),
    };
    let message::Request { id, method, mut params } = request;
    let reply = Reply { id, era };
    let done = |outcome: Result<Outgoing, Fault>| Step::Done(outcome.unwrap_or_else(|fault| reply.refuse(&fault)));
    match (era, method.as_str()) {
        (Era::Handshake, "initialize") => done(initialized(&reply, &params)),
        (Era::Handshake, "ping") => done(Ok(reply.complete("", None))),
        (Era::Stateless, "server/discover") => done(Ok(reply.complete(&discovered(), Some(RELEASE)))),
        (_, "tools/list") => done(
            first_page(&params)
                .map(|()| reply.complete(&format!("\"tools\":{}", input_schema::tools(graph)), Some(RELEASE))),
        ),
        (_, "resources/list") => done(
            first_page(&params)
                .map(|()| reply.complete(&format!("\"resources\":{}", resource::resources()), Some(RELEASE))),
        ),
        (_, "resources/templates/list") => {
            done(first_page(&params).map(|()| {
                reply.complete(&format!("\"resourceTemplates\":{}", resource::templates(graph)), Some(RELEASE))
            }))
        }
        (_, "tools/call") => match called(&mut params, graph) {
            Ok((tool, arguments)) => Step::Call { reply, tool, arguments },
            Err(fault) => done(Err(fault)),
        },
        (_, "resources/read") => {
            let Some(Value::String(uri)) = params.remove("uri") else {
                return done(Err(Fault::of_params("`uri` must be a text")));
            };
            match resource::find(&uri, graph) {
                Some(source) => Step::Read { reply, uri, source },
                None => done(Ok(reply.no_resource(&uri))),
            }
        }
        _ => {
            let status = if era == Era::Stateless { 404 } else { 200 };
            done(Err(Fault { status, ..Fault::new(METHOD_NOT_FOUND, "the server does not have this method") }))
        }
    }
}

fn initialized(reply: &Reply, params: &Map<String, Value>) -> Result<Outgoing, Fault> {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let requested = requested.ok_or_else(|| Fault::of_params("`protocolVersion` must be a text"))?;
    let agreed = revision::agreed(requested);
    let members = format!("\"protocolVersion\":\"{agreed}\",\"serverInfo\":{},{}", server_info(), capabilities());
    Ok(reply.complete(&members, None))
}

fn discovered() -> String {
    format!("\"supportedVersions\":{},{}", revision::supported(), capabilities())
}

fn capabilities() -> String {
    format!("\"capabilities\":{{\"tools\":{{}},\"resources\":{{}}}},\"instructions\":{}", quoted(INSTRUCTIONS))
}

fn server_info() -> String {
    format!("{{\"name\":\"risk-data-service\",\"title\":\"Risk Data Service\",\"version\":\"{VERSION}\"}}")
}

/// Lists have one page, so no cursor was ever given out.
fn first_page(params: &Map<String, Value>) -> Result<(), Fault> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(Fault::of_params("invalid cursor: the list has one page")),
    }
}

fn called(params: &mut Map<String, Value>, graph: bool) -> Result<(&'static Tool, Map<String, Value>), Fault> {
    let name = params.get("name").and_then(Value::as_str).ok_or_else(|| Fault::of_params("`name` must be a text"))?;
    let tool = tool::all(graph).find(|tool| tool.name == name).ok_or_else(|| Fault::of_params("unknown tool"))?;
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Fault::of_params("`arguments` must be an object")),
    };
    Ok((tool, arguments))
}

#[cfg(test)]
#[path = "method_tests.rs"]
mod tests;
