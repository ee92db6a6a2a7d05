//! The types of a route's properties: method, access, listeners and body.

/// The HTTP methods of routes. HEAD is GET without the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads. Also stands for HEAD.
    Get,
    /// Writes, checks and batch look-ups.
    Post,
    /// Removals.
    Delete,
}

impl Method {
    /// Parses an HTTP method. HEAD is parsed as GET; a method that no route uses is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "GET" | "HEAD" => Some(Method::Get),
            "POST" => Some(Method::Post),
            "DELETE" => Some(Method::Delete),
            _ => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// The credential that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No credential.
    Public,
    /// Any live key.
    Key,
    /// A key of plan `data` or higher.
    Data,
    /// A key of plan `decisioning` or higher.
    Decisioning,
    /// A live index token; API keys are not accepted.
    Index,
}

/// The request body that a route accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// No body.
    None,
    /// A JSON body.
    Json {
        /// Maximum size in bytes; a larger body is answered with 413.
        max_bytes: usize,
    },
}

/// The origin's listeners that serve a route. The edge's public listener serves all routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listeners {
    /// The edge listener only.
    Edge,
    /// The edge listener, and the relay listener for backends that connect directly.
    EdgeAndRelay,
}
