//! The loopback ports of a stack: the edge on N, the origin's listeners on N+1 to N+3, Postgres on the first free port from N+4.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use anyhow::{Context, Result, bail};

/// The ports of one stack. Everything listens on 127.0.0.1 only.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// The Worker.
    pub edge: u16,
    /// The origin's edge listener.
    pub origin_edge: u16,
    /// The origin's relay listener.
    pub relay: u16,
    /// The origin's admin listener.
    pub admin: u16,
    /// First port to try for Postgres.
    pub postgres_from: u16,
}

impl Ports {
    /// The ports that follow from the edge's port.
    pub fn from(edge: u16) -> Result<Self> {
        let at = |offset| edge.checked_add(offset).context("--port must be at most 65531");
        Ok(Self { edge, origin_edge: at(1)?, relay: at(2)?, admin: at(3)?, postgres_from: at(4)? })
    }

    /// Ports that are free now, for a stack whose clients read its addresses from `stack.json`.
    pub fn free() -> Result<Self> {
        Self::from(free_row(5)?)
    }

    /// Fails if another program uses one of the ports.
    pub fn require_free(&self) -> Result<()> {
        for (what, port) in self.all() {
            if !is_free(port) {
                bail!("port {port} ({what}) is taken by another program; choose other ports with --port");
            }
        }
        Ok(())
    }

    fn all(&self) -> [(&'static str, u16); 4] {
        [
            ("the edge", self.edge),
            ("the origin's edge listener", self.origin_edge),
            ("the origin's relay listener", self.relay),
            ("the origin's admin listener", self.admin),
        ]
    }
}

/// The first of `count` consecutive ports that are free now.
pub fn free_row(count: u16) -> Result<u16> {
    // Above the ports of usual services and below the kernel's range of client ports.
    let start = 20_000 + (std::process::id() % 1_000) as u16 * 8;
    (0..200)
        .filter_map(|step| start.checked_add(step * count.max(8)))
        .find(|first| (*first..first.saturating_add(count)).all(is_free))
        .with_context(|| format!("no {count} consecutive free ports from {start}"))
}

/// The first free port from `start`; the error message states `what` needs the port.
pub fn first_free(start: u16, what: &str) -> Result<u16> {
    (start..start.saturating_add(200))
        .find(|port| is_free(*port))
        .with_context(|| format!("no free port for {what} from {start}"))
}

/// `127.0.0.1:port`.
pub fn local(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(local(port)).is_ok()
}
