//! The client's address, reduced to the unit that rate limits are counted by.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The unit that has its own rate limit: one IPv4 address, or the /64 network of one IPv6 subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClientNet {
    /// One IPv4 address.
    V4(Ipv4Addr),
    /// The first 64 bits of an address; the other bits are zero.
    V6(Ipv6Addr),
}

/// Reads the header in which the proxy in front of this host states the client's address.
///
/// The header must hold exactly one address. Such a proxy writes no list, port, zone or brackets, so any of these gives `None`.
pub fn client_net(header: &str) -> Option<ClientNet> {
    header.trim().parse().ok().map(ClientNet::of)
}

impl ClientNet {
    /// The unit that `address` belongs to. An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => ClientNet::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                ClientNet::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        }
    }

    /// The surrounding IPv4 /24 or IPv6 /48.
    pub fn neighbourhood(self) -> Neighbourhood {
        match self {
            ClientNet::V4(address) => {
                let [a, b, c, _] = address.octets();
                Neighbourhood::V4(Ipv4Addr::new(a, b, c, 0))
            }
            ClientNet::V6(network) => {
                let [a, b, c, ..] = network.segments();
                Neighbourhood::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
            }
        }
    }
}

/// A block of addresses that a single party may hold: an IPv4 /24 or an IPv6 /48.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Neighbourhood {
    /// The first 24 bits of an address; the other bits are zero.
    V4(Ipv4Addr),
    /// The first 48 bits of an address; the other bits are zero.
    V6(Ipv6Addr),
}

impl Neighbourhood {
    /// The neighbourhood's rate limit, as a multiple of one address's limit.
    ///
    /// A /48 is a usual assignment to one site (RFC 6177): one party, with 65 536 /64 networks to call from. Sixteen times the
    /// limit of one address is more than the people of one site use at once without a key. A /24 is the smallest IPv4 block that is
    /// routed by itself. A /24 may belong to one party, or to 254 unrelated users, an office or a carrier-grade NAT, so its limit is
    /// twice that of a /48.
    pub const fn ratio(self) -> u32 {
        match self {
            Neighbourhood::V4(_) => 32,
            Neighbourhood::V6(_) => 16,
        }
    }
}

impl fmt::Display for Neighbourhood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Neighbourhood::V4(network) => write!(f, "{network}/24"),
            Neighbourhood::V6(network) => write!(f, "{network}/48"),
        }
    }
}

impl fmt::Display for ClientNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientNet::V4(address) => address.fmt(f),
            ClientNet::V6(network) => write!(f, "{network}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use proptest::prelude::*;

    fn text(header: &str) -> Option<String> {
        client_net(header).map(|net| net.to_string())
    }

    #[test]
    fn all_addresses_of_one_subscriber_share_one_rate_limit() {
        assert_eq!(text("2001:db8:1:2:3:4:5:6").as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(text("2001:db8:1:2::1"), text("2001:DB8:1:2:ffff::"));
        assert_ne!(text("2001:db8:1:2::1"), text("2001:db8:1:3::1"));
    }

    #[test]
    fn a_neighbourhood_is_an_ipv4_24_or_an_ipv6_48() {
        let around = |header: &str| client_net(header).unwrap().neighbourhood().to_string();
        assert_eq!(around("2001:db8:1:2::1"), "2001:db8:1::/48");
        assert_eq!(around("2001:db8:1:ffff::1"), around("2001:db8:1::"));
        assert_ne!(around("2001:db8:2::1"), around("2001:db8:1::1"));
        assert_eq!((around("192.0.2.7").as_str(), around("192.0.3.7").as_str()), ("192.0.2.0/24", "192.0.3.0/24"));
    }

    #[test]
    fn an_ipv4_mapped_ipv6_address_is_the_same_client_as_the_ipv4_address() {
        assert_eq!(text("::ffff:192.0.2.7").as_deref(), Some("192.0.2.7"));
        assert_eq!(text(" 192.0.2.7 "), text("::ffff:c000:207"));
    }

    #[test]
    fn a_header_that_is_not_exactly_one_address_is_ignored() {
        for bad in [
            "",
            "192.0.2.7, 10.0.0.1",
            "192.0.2.7:443",
            "[2001:db8::1]",
            "fe80::1%eth0",
            "192.0.2",
            "0192.0.2.7",
            "localhost",
        ] {
            assert_eq!(client_net(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_header_breaks_the_parser(header in "\\PC{0,60}") {
            let _ = client_net(&header);
        }
    }
}
