//! The heartbeat: this process checks its own readiness through one of its listeners.
//!
//! A check of internal flags would not notice a process that accepts no connections. The relay listener needs no signature, and runs the
//! same code for connections and requests as the edge listener.

use crate::outbound::Client;
use axum::http::Uri;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Time limit for a heartbeat: longer than the second that readiness allows for its database query.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// A client for this process's own listener.
#[derive(Debug)]
pub struct Heartbeat {
    client: Client,
    ready: Uri,
}

impl Heartbeat {
    /// A heartbeat through the listener that is bound to `listener`.
    pub fn through(listener: SocketAddr) -> anyhow::Result<Self> {
        let host = match listener.ip() {
            IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            bound => bound,
        };
        let ready = format!("http://{}/ready", SocketAddr::new(host, listener.port())).parse()?;
        Ok(Heartbeat { client: Client::new()?, ready })
    }

    /// Whether the listener answers that this process is ready.
    pub async fn beats(&self) -> bool {
        match self.client.get(&self.ready, HEARTBEAT_TIMEOUT).await {
            Ok(status) => status.is_success(),
            Err(error) => {
                tracing::debug!(%error, "this process's own listener did not answer");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_all_addresses_is_reached_over_loopback() {
        for (bound, asked) in [
            ("0.0.0.0:8791", "http://127.0.0.1:8791/ready"),
            ("[::]:8791", "http://[::1]:8791/ready"),
            ("10.1.2.3:80", "http://10.1.2.3:80/ready"),
        ] {
            assert_eq!(Heartbeat::through(bound.parse().unwrap()).unwrap().ready, asked);
        }
    }
}
