//! The loopback ports of a stack: the edge on N, the origin's doors on N+1 to N+3, Postgres from N+4 on.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use anyhow::{Context, Result, bail};

/// The ports of one stack. Everything listens on 127.0.0.1 only.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// The Worker.
    pub edge: u16,
    /// The origin's door for the Worker.
    pub origin_edge: u16,
    /// The origin's door for backend relays.
    pub relay: u16,
    /// The origin's door for operators.
    pub admin: u16,
    /// Where the search for a Postgres port begins.
    pub postgres_from: u16,
}

impl Ports {
    /// The ports counted from the edge's.
    pub fn from(edge: u16) -> Result<Self> {
        let at = |offset| edge.checked_add(offset).context("--port leaves no room for the ports that follow it");
        Ok(Self { edge, origin_edge: at(1)?, relay: at(2)?, admin: at(3)?, postgres_from: at(4)? })
    }

    /// Ports that are free now, for a stack that nobody has to find by number.
    pub fn free() -> Result<Self> {
        Self::from(free_row(5)?)
    }

    /// Refuses to start over another program.
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
            ("the origin's edge door", self.origin_edge),
            ("the origin's relay door", self.relay),
            ("the origin's admin door", self.admin),
        ]
    }
}

/// The first of `count` ports in a row that are free now.
pub fn free_row(count: u16) -> Result<u16> {
    // Above the usual services and below the range from which the kernel picks client ports.
    let start = 20_000 + (std::process::id() % 1_000) as u16 * 8;
    (0..200)
        .filter_map(|step| start.checked_add(step * count.max(8)))
        .find(|first| (*first..first.saturating_add(count)).all(is_free))
        .with_context(|| format!("no {count} free ports in a row from {start} on"))
}

/// The first free port from `start` on, for what is named.
pub fn first_free(start: u16, what: &str) -> Result<u16> {
    (start..start.saturating_add(200))
        .find(|port| is_free(*port))
        .with_context(|| format!("no free port for {what} from {start} on"))
}

/// `127.0.0.1:port`.
pub fn local(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(local(port)).is_ok()
}
