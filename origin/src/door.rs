//! The listeners: how far a caller is trusted depends on the listener it connects to.

/// A listener, which decides how a caller is authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Requests from the edge only, each with an edge assertion.
    Edge,
    /// Backends that connect directly.
    Relay,
    /// Operators.
    Admin,
}

impl Door {
    pub const ALL: [Door; 3] = [Door::Edge, Door::Relay, Door::Admin];

    /// The listener's name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Door::Edge => "edge",
            Door::Relay => "relay",
            Door::Admin => "admin",
        }
    }
}
