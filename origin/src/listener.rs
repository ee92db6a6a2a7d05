//! The listeners: how far a caller is trusted depends on the listener it connects to.

/// A listener, which decides how a caller is authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// Requests from the edge only, each with an edge assertion.
    Edge,
    /// Backends that connect directly.
    Relay,
    /// Operators.
    Admin,
}

impl Listener {
    pub const ALL: [Listener; 3] = [Listener::Edge, Listener::Relay, Listener::Admin];

    /// The listener's name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Listener::Edge => "edge",
            Listener::Relay => "relay",
            Listener::Admin => "admin",
        }
    }
}
