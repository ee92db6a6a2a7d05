//! The caller's address, and which peers may state it in a header.
//!
//! On Cloudflare only the platform's front end reaches the Worker, and it sets `CF-Connecting-IP` itself. On plain workerd any peer
//! may send any header, so the header counts only from peers listed in `TRUSTED_PROXIES`.

use crate::config::Trust;
use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound, Peer};
use core::net::{IpAddr, Ipv4Addr};
use rds_shared::access::ClientNet;
use rds_shared::access::client_net::client_net;

/// Used for every caller whose address is unknown: the unspecified address, which no real caller has.
const UNKNOWN_CALLER: ClientNet = ClientNet::V4(Ipv4Addr::UNSPECIFIED);
/// The header set by Cloudflare.
const PLATFORM_HEADER: &str = "cf-connecting-ip";

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// The caller's address. Callers with a missing or unusable header share one placeholder address.
    pub(crate) fn client(&self) -> ClientNet {
        let header = self.config.client_ip_header.as_str();
        let named = || self.inbound.header(header).as_deref().and_then(client_net).unwrap_or(UNKNOWN_CALLER);
        let Trust::Peers(proxies) = &self.config.trusted_proxies else { return named() };
        let peer = match self.inbound.peer() {
            Peer::At(peer) => peer,
            Peer::Platform if header == PLATFORM_HEADER => return named(),
            // Another proxy in front of Cloudflare sets the header. The header counts only if `CF-Connecting-IP` is a trusted proxy's address.
            Peer::Platform => {
                match self.inbound.header(PLATFORM_HEADER).and_then(|text| text.trim().parse::<IpAddr>().ok()) {
                    Some(peer) => peer,
                    None => return UNKNOWN_CALLER,
                }
            }
            Peer::Unknown => return UNKNOWN_CALLER,
        };
        if proxies.contains(peer) { named() } else { ClientNet::of(peer) }
    }
}
