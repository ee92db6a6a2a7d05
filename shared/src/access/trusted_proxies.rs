//! Trusted proxies: the peers whose `X-Forwarded-For` header is used to find the caller's address. Operators configure their blocks.

use crate::push::address::{Cidr, CidrError, covers_public_internet};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// Maximum number of entries of `X-Forwarded-For` that are read, from the right.
const MAX_HOPS: usize = 32;

/// Address blocks of trusted proxies; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<Cidr>);

impl TrustedProxies {
    /// Reads a comma-separated list of blocks. The error is the first invalid entry and the reason.
    pub fn parse(list: &str) -> Result<Self, (String, CidrError)> {
        let blocks = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let read = |entry: &str| Cidr::parse(entry).map_err(|error| (String::from(entry), error));
        blocks.map(read).collect::<Result<_, _>>().map(TrustedProxies)
    }

    pub fn blocks(&self) -> &[Cidr] {
        &self.0
    }

    /// Whether the blocks cover all public IPv4 or all public IPv6 addresses. Callers could then choose the address they are counted by.
    pub fn trusts_everyone(&self) -> bool {
        covers_public_internet(&self.0)
    }

    /// Whether `peer` is a trusted proxy.
    pub fn contains(&self, peer: IpAddr) -> bool {
        self.0.iter().any(|block| block.contains(peer))
    }

    /// The caller of a connection from `peer` whose requests carry `X-Forwarded-For` with `values`, in the order of the header's lines.
    ///
    /// Each proxy appends the address of its own peer, so the list is read from the right: the first address that is not a trusted
    /// proxy's is the caller. Entries left of it could be forged by the caller and are ignored. If an entry is not an address, the proxy
    /// that wrote it counts as the caller.
    pub fn caller<'a>(&self, peer: IpAddr, values: impl DoubleEndedIterator<Item = &'a str>) -> IpAddr {
        let mut caller = peer;
        for entry in values.rev().flat_map(|value| value.rsplit(',')).take(MAX_HOPS) {
            if !self.contains(caller) {
                break;
            }
            match hop(entry) {
                Some(address) => caller = address,
                None => break,
            }
        }
        caller.to_canonical()
    }
}

/// Parses an entry: an address with an optional port; an IPv6 address may be in brackets.
fn hop(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    bare.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn caller(trusted: &str, peer: &str, values: &[&str]) -> String {
        use alloc::string::ToString;
        let proxies = TrustedProxies::parse(trusted).unwrap();
        proxies.caller(peer.parse().unwrap(), values.iter().copied()).to_string()
    }

    #[test]
    fn a_header_from_an_untrusted_peer_is_ignored() {
        assert_eq!(caller("", "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
        assert_eq!(caller("10.0.0.0/8", "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
    }

    #[test]
    fn the_rightmost_address_that_is_not_a_trusted_proxy_is_the_caller() {
        let trusted = "10.0.0.0/8, 2001:db8:f::/48";
        assert_eq!(caller(trusted, "10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(caller(trusted, "10.0.0.1", &["203.0.113.9, 198.51.100.1, 10.2.3.4"]), "198.51.100.1");
        assert_eq!(caller(trusted, "10.0.0.1", &["203.0.113.9", "198.51.100.1", "2001:db8:f::2"]), "198.51.100.1");
        assert_eq!(caller(trusted, "::ffff:10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(caller(trusted, "10.0.0.1", &["198.51.100.1:4711, 10.0.0.9:80"]), "198.51.100.1");
    }

    #[test]
    fn an_unreadable_entry_makes_the_proxy_that_wrote_it_the_caller() {
        for bad in ["unknown", "", "198.51.100.1, _hidden", "1.2.3"] {
            assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[bad]), "10.0.0.1", "{bad}");
        }
        assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &["10.0.0.3"]), "10.0.0.3", "a proxy may call for itself");
    }

    #[test]
    fn a_list_that_trusts_everybody_is_detected_however_it_is_split_into_blocks() {
        let everybody = |list: &str| TrustedProxies::parse(list).unwrap().trusts_everyone();
        for list in [
            "0.0.0.0/0",
            "::/0",
            "10.0.0.0/8, ::/0",
            "128.0.0.0/1,0.0.0.0/1",
            "8000::/1, 10.0.0.0/8, ::/1",
            "2000::/3",
            "0.0.0.0/1, 0.0.0.0/8, 64.0.0.0/2, 128.0.0.0/2, 192.0.0.0/3",
        ] {
            assert!(everybody(list), "{list}");
        }
        for list in ["", "10.0.0.0/8", "0.0.0.0/1", "0.0.0.0/1,8000::/1", "128.0.0.0/1,0.0.0.0/2", "2000::/4", "::1"] {
            assert!(!everybody(list), "{list}");
        }
    }

    #[test]
    fn an_invalid_entry_is_named() {
        assert_eq!(TrustedProxies::parse("10.0.0.0/8,10.0.0.1/8").unwrap_err().0, "10.0.0.1/8");
    }

    proptest! {
        #[test]
        fn forged_entries_left_of_the_proxys_own_are_ignored(forged in "[0-9a-f:., \\[\\]]{0,60}") {
            let honest = caller("10.0.0.0/8", "10.0.0.1", &["198.51.100.1"]);
            let value = alloc::format!("{forged},198.51.100.1");
            prop_assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[&value]), honest.clone());
            prop_assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[&forged, "198.51.100.1"]), honest);
        }
    }
}
