//! The peer of a connection, as reported by the runtime.

use crate::ports::Peer;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::cell::Cell;
use wasm_bindgen::JsValue;
use worker::console_error;
use worker::js_sys::Reflect;
use worker::web_sys::Request;

thread_local! {
    /// Whether this isolate has logged that the runtime does not report the peer.
    static WARNED: Cell<bool> = const { Cell::new(false) };
}

/// Reads `request.cf`. Plain workerd fills this object with the peer's address and port, or with the process id of a peer on a local
/// socket; Cloudflare fills it with its data centre. Callers cannot set any of these fields.
pub fn of(request: &Request) -> Peer {
    let cf = Reflect::get(request, &"cf".into()).unwrap_or(JsValue::UNDEFINED);
    let field = |name: &str| Reflect::get(&cf, &name.into()).ok().filter(|value| !value.is_undefined());
    let address = field("clientIp").and_then(|value| value.as_string());
    if let Some(address) = address.as_deref().and_then(read) {
        return Peer::At(address);
    }
    match () {
        () if field("clientPid").is_some() => Peer::At(Ipv4Addr::LOCALHOST.into()),
        () if field("colo").is_some() => Peer::Platform,
        () => {
            if !WARNED.replace(true) {
                console_error!(
                    "configuration: this runtime does not report the peer's address, so all callers share one rate limit; \
                     set TRUSTED_PROXIES=platform if only a proxy that overwrites CLIENT_IP_HEADER can connect"
                );
            }
            Peer::Unknown
        }
    }
}

/// Parses an address with or without a port.
fn read(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_workerd_writes_it() {
        for (text, address) in [("127.0.0.1:55818", "127.0.0.1"), ("[2001:db8::1]:80", "2001:db8::1"), ("::1", "::1")] {
            assert_eq!(read(text), address.parse().ok(), "{text}");
        }
        assert_eq!(read("unix:/run/edge.sock"), None);
    }
}
