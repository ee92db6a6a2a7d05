//! The caller's address, and whose word on it counts.
//!
//! On Cloudflare it is the platform's: nobody but its front reaches the Worker, and the front writes `CF-Connecting-IP` itself. On a
//! bare runtime whoever connects may write any header, so the header counts only from peers that `TRUSTED_PROXIES` names.

use crate::config::Trust;
use crate::pipeline::Walk;
use crate::ports::{Guards, Host, Inbound, Peer};
use core::net::{IpAddr, Ipv4Addr};
use rds_shared::access::ClientNet;
use rds_shared::access::client_net::client_net;

/// Stands for every caller whose address is not told: the unspecified address, which nobody can have.
const NOBODY: ClientNet = ClientNet::V4(Ipv4Addr::UNSPECIFIED);
/// The header that the platform writes.
const PLATFORM: &str = "cf-connecting-ip";

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// The caller's address. A header that is missing or says nothing usable counts as one address like any other.
    pub(crate) fn client(&self) -> ClientNet {
        let header = self.config.client_ip_header.as_str();
        let named = || self.inbound.header(header).as_deref().and_then(client_net).unwrap_or(NOBODY);
        let Trust::Peers(proxies) = &self.config.trusted_proxies else { return named() };
        let peer = match self.inbound.peer() {
            Peer::At(peer) => peer,
            Peer::Platform if header == PLATFORM => return named(),
            // Another proxy stands before the platform: its word counts if the platform heard it from there.
            Peer::Platform => match self.inbound.header(PLATFORM).and_then(|text| text.trim().parse::<IpAddr>().ok()) {
                Some(peer) => peer,
                None => return NOBODY,
            },
            Peer::Unknown => return NOBODY,
        };
        if proxies.contains(peer) { named() } else { ClientNet::of(peer) }
    }
}
