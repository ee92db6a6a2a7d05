//! The ways in: trust is a matter of the door.

/// A way in; it decides how a caller is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Only with the edge's assertion.
    Edge,
    /// Backends that connect directly.
    Relay,
    /// Operators.
    Admin,
}

impl Door {
    /// All of them.
    pub const ALL: [Door; 3] = [Door::Edge, Door::Relay, Door::Admin];

    /// The door's name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Door::Edge => "edge",
            Door::Relay => "relay",
            Door::Admin => "admin",
        }
    }
}
