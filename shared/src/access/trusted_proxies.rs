//! Whose word on a caller's address counts: proxies that an operator names by their own addresses.

use crate::push::address::{Cidr, CidrError, hold_everybody};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// Entries of a forwarding header that are looked at, from the right.
const MOST_HOPS: usize = 32;

/// Addresses from which a forwarding header is believed. By itself it is nobody's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<Cidr>);

impl TrustedProxies {
    /// Reads a comma-separated list of blocks. Fails with the entry that is none, and why.
    pub fn parse(list: &str) -> Result<Self, (String, CidrError)> {
        let blocks = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let read = |entry: &str| Cidr::parse(entry).map_err(|error| (String::from(entry), error));
        blocks.map(read).collect::<Result<_, _>>().map(TrustedProxies)
    }

    /// The blocks, as they were given.
    pub fn blocks(&self) -> &[Cidr] {
        &self.0
    }

    /// Whether anybody on the internet is believed who connects by IPv4, or by IPv6: then a caller's address is what the caller says it is.
    pub fn believe_everybody(&self) -> bool {
        hold_everybody(&self.0)
    }

    /// Whether the word of `peer` counts.
    pub fn contains(&self, peer: IpAddr) -> bool {
        self.0.iter().any(|block| block.contains(peer))
    }

    /// The caller of a connection from `peer` whose requests carry `X-Forwarded-For` with `values`, in the order of the header's lines.
    ///
    /// Each proxy writes whom it heard behind what it was given, so the list is read from the right: the first address that is no
    /// trusted proxy's is the caller. Everything left of it is the caller's own word. Where an entry is no address, the proxy that
    /// wrote it is the caller.
    pub fn caller<'a>(&self, peer: IpAddr, values: impl DoubleEndedIterator<Item = &'a str>) -> IpAddr {
        let mut caller = peer;
        for entry in values.rev().flat_map(|value| value.rsplit(',')).take(MOST_HOPS) {
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

/// An entry: an address, perhaps with a port, an IPv6 address perhaps in brackets.
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
    fn a_strangers_header_says_nothing() {
        assert_eq!(caller("", "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
        assert_eq!(caller("10.0.0.0/8", "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
    }

    #[test]
    fn the_first_from_the_right_that_is_no_proxy_is_the_caller() {
        let trusted = "10.0.0.0/8, 2001:db8:f::/48";
        assert_eq!(caller(trusted, "10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(caller(trusted, "10.0.0.1", &["203.0.113.9, 198.51.100.1, 10.2.3.4"]), "198.51.100.1");
        assert_eq!(caller(trusted, "10.0.0.1", &["203.0.113.9", "198.51.100.1", "2001:db8:f::2"]), "198.51.100.1");
        assert_eq!(caller(trusted, "::ffff:10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(caller(trusted, "10.0.0.1", &["198.51.100.1:4711, 10.0.0.9:80"]), "198.51.100.1");
    }

    #[test]
    fn what_cannot_be_read_leaves_the_proxy_that_wrote_it() {
        for bad in ["unknown", "", "198.51.100.1, _hidden", "1.2.3"] {
            assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[bad]), "10.0.0.1", "{bad}");
        }
        assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &["10.0.0.3"]), "10.0.0.3", "a proxy may call for itself");
    }

    #[test]
    fn a_list_that_believes_everybody_is_known_however_it_is_cut_up() {
        let everybody = |list: &str| TrustedProxies::parse(list).unwrap().believe_everybody();
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
    fn a_list_with_a_fault_names_it() {
        assert_eq!(TrustedProxies::parse("10.0.0.0/8,10.0.0.1/8").unwrap_err().0, "10.0.0.1/8");
    }

    proptest! {
        #[test]
        fn what_a_caller_writes_left_of_the_proxys_word_changes_nothing(forged in "[0-9a-f:., \\[\\]]{0,60}") {
            let honest = caller("10.0.0.0/8", "10.0.0.1", &["198.51.100.1"]);
            let value = alloc::format!("{forged},198.51.100.1");
            prop_assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[&value]), honest.clone());
            prop_assert_eq!(caller("10.0.0.0/8", "10.0.0.1", &[&forged, "198.51.100.1"]), honest);
        }
    }
}
