//! The heartbeat: this process asks itself, through a door of its own, whether it is ready.
//!
//! What only looks at flags would call a service well that accepts nobody. The relay's door needs no signature, and is taken and
//! answered by what takes and answers at the edge's.

use crate::outbound::Client;
use axum::http::Uri;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// How long a beat may take: readiness gives its database a second.
const WITHIN: Duration = Duration::from_millis(1_500);

/// The way to the own door.
#[derive(Debug)]
pub struct Heartbeat {
    client: Client,
    ready: Uri,
}

impl Heartbeat {
    /// A heartbeat through the door that is bound to `door`.
    pub fn through(door: SocketAddr) -> anyhow::Result<Self> {
        let host = match door.ip() {
            IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            bound => bound,
        };
        let ready = format!("http://{}/ready", SocketAddr::new(host, door.port())).parse()?;
        Ok(Heartbeat { client: Client::new()?, ready })
    }

    /// Whether the door answers that this process is ready.
    pub async fn beats(&self) -> bool {
        match self.client.get(&self.ready, WITHIN).await {
            Ok(status) => status.is_success(),
            Err(error) => {
                tracing::debug!(%error, "the own door did not answer");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_on_every_address_is_asked_at_this_machines_own() {
        for (bound, asked) in [
            ("0.0.0.0:8791", "http://127.0.0.1:8791/ready"),
            ("[::]:8791", "http://[::1]:8791/ready"),
            ("10.1.2.3:80", "http://10.1.2.3:80/ready"),
        ] {
            assert_eq!(Heartbeat::through(bound.parse().unwrap()).unwrap().ready, asked);
        }
    }
}
