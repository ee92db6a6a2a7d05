//! Which addresses are public, and the blocks that an operator allows besides.
//!
//! IPv4 is public unless listed. IPv6 is public only inside `2000::/3`, unless listed. An IPv6 address that carries an IPv4 address is
//! never public: it names the same host by a way round the IPv4 list, or needs a translator that no receiver needs.
//! Source: IANA IPv4 and IPv6 Special-Purpose Address Registries; RFC 6052, 4380, 3056, 5214 for the embeddings.

use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is for. For logs and metrics; a caller only learns that an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// Reachable by anyone.
    Public,
    /// "This" network, or no address at all.
    Unspecified,
    /// This machine.
    Loopback,
    /// This link, where most clouds answer with credentials.
    LinkLocal,
    /// A site's own network.
    Private,
    /// Between a provider and its customers; one cloud's metadata.
    CarrierNat,
    /// A cloud's service behind an address that looks public.
    CloudService,
    /// Set aside for protocols, anycast services and relays.
    Protocol,
    /// For examples in texts.
    Documentation,
    /// For measurements.
    Benchmarking,
    /// Many receivers.
    Multicast,
    /// Not given out.
    Reserved,
    /// A public IPv4 address inside an IPv6 address.
    Translated,
}

use AddressClass::*;

/// What is not public in IPv4: network, prefix length, class.
const IPV4: [([u8; 4], u8, AddressClass); 20] = [
    ([0, 0, 0, 0], 8, Unspecified),
    ([10, 0, 0, 0], 8, Private),
    ([100, 64, 0, 0], 10, CarrierNat),
    ([127, 0, 0, 0], 8, Loopback),
    // Azure's WireServer: a public address, and the metadata of every machine there.
    ([168, 63, 129, 16], 32, CloudService),
    ([169, 254, 0, 0], 16, LinkLocal),
    ([172, 16, 0, 0], 12, Private),
    ([192, 0, 0, 0], 24, Protocol),
    ([192, 0, 2, 0], 24, Documentation),
    // AS112, AMT and 6to4 relays: anycast, whoever is nearest.
    ([192, 31, 196, 0], 24, Protocol),
    ([192, 52, 193, 0], 24, Protocol),
    ([192, 88, 99, 0], 24, Protocol),
    ([192, 168, 0, 0], 16, Private),
    ([192, 175, 48, 0], 24, Protocol),
    ([198, 18, 0, 0], 15, Benchmarking),
    ([198, 51, 100, 0], 24, Documentation),
    ([203, 0, 113, 0], 24, Documentation),
    ([224, 0, 0, 0], 4, Multicast),
    ([255, 255, 255, 255], 32, Multicast),
    ([240, 0, 0, 0], 4, Reserved),
];

/// What is not public inside `2000::/3`, and what outside has a name: network, prefix length, class.
const IPV6: [(u128, u8, AddressClass); 11] = [
    (0x0100 << 112, 64, Reserved),
    (0x2001 << 112, 23, Protocol),
    (0x2001_0db8 << 96, 32, Documentation),
    (0x2620_004f_8000 << 80, 48, Protocol),
    (0x3fff << 112, 20, Documentation),
    (0x5f00 << 112, 16, Protocol),
    (0x0064_ff9b_0001 << 80, 48, Protocol),
    (0xfc00 << 112, 7, Private),
    (0xfe80 << 112, 10, LinkLocal),
    (0xfec0 << 112, 10, Private),
    (0xff00 << 112, 8, Multicast),
];

/// All of IPv6 that is given out for hosts everywhere.
const GLOBAL_UNICAST: (u128, u8) = (0x2000 << 112, 3);

/// Whether anyone can reach `address`, and so a delivery may go there.
pub fn is_public(address: IpAddr) -> bool {
    class_of(address) == Public
}

/// What `address` is for. An IPv6 address that carries an IPv4 address has the class of that, or [`Translated`].
pub fn class_of(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => class_of_v4(address),
        IpAddr::V6(address) => class_of_v6(address),
    }
}

fn class_of_v4(address: Ipv4Addr) -> AddressClass {
    let listed = IPV4.iter().find(|(network, prefix, _)| {
        let network = u32::from_be_bytes(*network);
        shares_prefix(u128::from(address.to_bits()) << 96, u128::from(network) << 96, *prefix)
    });
    listed.map_or(Public, |(_, _, class)| *class)
}

fn class_of_v6(address: Ipv6Addr) -> AddressClass {
    if address == Ipv6Addr::LOCALHOST {
        return Loopback;
    }
    if let Some(inner) = carried_by_prefix(address) {
        return match class_of_v4(inner) {
            Public => Translated,
            class => class,
        };
    }
    let bits = address.to_bits();
    if let Some((_, _, class)) = IPV6.iter().find(|(network, prefix, _)| shares_prefix(bits, *network, *prefix)) {
        return *class;
    }
    if !shares_prefix(bits, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1) {
        return Reserved;
    }
    carried_by_isatap(address).map_or(Public, class_of_v4)
}

/// The IPv4 address in an address whose prefix says that there is one.
fn carried_by_prefix(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    let low = Ipv4Addr::from_bits(bits as u32);
    match address.segments() {
        // Compatible, mapped, SIIT, NAT64: the last 32 bits.
        [0, 0, 0, 0, 0, 0, _, _] | [0, 0, 0, 0, 0, 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => Some(low),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(low),
        // 6to4: behind the prefix.
        [0x2002, ..] => Some(Ipv4Addr::from_bits((bits >> 80) as u32)),
        // Teredo: the client's, inverted.
        [0x2001, 0, ..] => Some(Ipv4Addr::from_bits(!(bits as u32))),
        _ => None,
    }
}

/// The IPv4 address in an ISATAP interface id; it stands behind any prefix.
fn carried_by_isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    matches!(address.segments(), [_, _, _, _, 0 | 0x200, 0x5efe, _, _])
        .then(|| Ipv4Addr::from_bits(address.to_bits() as u32))
}

/// Whether the first `prefix` bits agree.
const fn shares_prefix(a: u128, b: u128, prefix: u8) -> bool {
    match 128u32.checked_sub(prefix as u32) {
        Some(128) => true,
        Some(rest) => (a ^ b) >> rest == 0,
        None => false,
    }
}

/// A block of addresses that an operator allows, such as `10.1.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

/// Why a text is no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CidrError {
    /// Not `address/prefix`, nor an address alone.
    Malformed,
    /// The address has bits behind the prefix: one of the two is not what was meant.
    HostBits,
    /// An IPv4 address in IPv6 spelling: such a block would never match.
    Mapped,
}

impl fmt::Display for CidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CidrError::Malformed => "a block such as 10.1.0.0/16 or fd00::/8 is needed",
            CidrError::HostBits => "the address has bits behind the prefix",
            CidrError::Mapped => "an IPv4 block must be written as IPv4",
        })
    }
}

impl core::error::Error for CidrError {}

impl Cidr {
    /// Reads a block; an address alone is a block of one.
    pub fn parse(text: &str) -> Result<Self, CidrError> {
        let (network, prefix) = text.split_once('/').map_or((text, None), |(network, prefix)| (network, Some(prefix)));
        let network: IpAddr = network.parse().map_err(|_| CidrError::Malformed)?;
        let bits = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|prefix| *prefix <= bits).ok_or(CidrError::Malformed)?
            }
            Some(_) => return Err(CidrError::Malformed),
        };
        if network.to_canonical() != network {
            return Err(CidrError::Mapped);
        }
        let behind = aligned(network).checked_shl(u32::from(prefix)).unwrap_or(0);
        if behind != 0 { Err(CidrError::HostBits) } else { Ok(Cidr { network, prefix }) }
    }

    /// Whether `address` lies in the block. A mapped address is the IPv4 address it maps: a socket treats them alike.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.network.is_ipv4()
            && shares_prefix(aligned(address), aligned(self.network), self.prefix)
    }

    /// Its first and its last address, as bits from the left.
    fn span(&self) -> (u128, u128) {
        let first = aligned(self.network);
        (first, first | u128::MAX.checked_shr(u32::from(self.prefix)).unwrap_or(0))
    }
}

/// The first and the last address that the internet may call from, by family.
const CALLERS: [(IpAddr, IpAddr); 2] = [
    (IpAddr::V4(Ipv4Addr::new(1, 0, 0, 0)), IpAddr::V4(Ipv4Addr::new(223, 255, 255, 255))),
    (
        IpAddr::V6(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0)),
        IpAddr::V6(Ipv6Addr::new(0x3fff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff)),
    ),
];

/// Whether blocks together hold everybody on the internet who calls by IPv4, or by IPv6, however the addresses are cut up.
pub fn hold_everybody(blocks: &[Cidr]) -> bool {
    CALLERS.into_iter().any(|(from, to)| {
        let of_family = blocks.iter().filter(|block| block.network.is_ipv4() == from.is_ipv4());
        let mut spans: Vec<(u128, u128)> = of_family.map(Cidr::span).collect();
        spans.sort_unstable();
        // Everything before it, from the first caller on, is in one of the blocks.
        let mut held = aligned(from);
        for (first, last) in spans {
            if first > held {
                break;
            }
            held = held.max(last.saturating_add(1));
        }
        held > aligned(to)
    })
}

/// An address's bits, from the left.
fn aligned(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}
