//! The slot of a connection in its listener's count, held while the connection is open.

use crate::http::transport::connection_state::ConnectionState;
use std::fmt;

/// A connection's slot, held while it is open.
pub(in crate::http) struct ConnectionSlot(ConnectionState);

impl fmt::Debug for ConnectionSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionSlot")
    }
}

impl ConnectionSlot {
    pub(super) fn new(line: ConnectionState) -> Self {
        ConnectionSlot(line)
    }

    pub(in crate::http) fn line(&self) -> &ConnectionState {
        &self.0
    }

    /// Completes once the connection has to close, because another connection needs its slot.
    pub(in crate::http) async fn is_over(&self) {
        match self.0.entry() {
            Some(entry) => entry.is_over.notified().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        if let Some(entry) = self.0.entry() {
            let mut held = entry.listener.held();
            held.remove(entry.number);
            if held.is_empty() {
                entry.listener.emptied.notify_waiters();
            }
            drop(held);
            entry.head_came();
        }
    }
}
