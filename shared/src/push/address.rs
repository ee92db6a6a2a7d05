//! Classification of IP addresses as public or not, and the CIDR blocks that an operator allows in addition.
//!
//! An IPv4 address is public unless listed here. An IPv6 address is public only inside `2000::/3` and unless listed. An IPv6
//! address that embeds an IPv4 address is not public, because it could bypass the IPv4 list; ISATAP addresses are judged by the
//! embedded IPv4 address.
//! Source: IANA IPv4 and IPv6 Special-Purpose Address Registries; RFC 6052, 4380, 3056, 5214 for the embeddings.

use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Class of an address, for logs and metrics. The API does not show the class to callers, so that it reveals nothing about the internal
/// network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// Globally reachable.
    Public,
    /// "This network" or the unspecified address.
    Unspecified,
    /// The local machine.
    Loopback,
    /// The local link; most clouds serve machine credentials there.
    LinkLocal,
    /// A private network.
    Private,
    /// Carrier-grade NAT; one cloud serves machine metadata there.
    CarrierNat,
    /// A cloud's internal service at a public-looking address.
    CloudService,
    /// Reserved for protocols, anycast services and relays.
    Protocol,
    /// Reserved for documentation.
    Documentation,
    /// Reserved for benchmarks.
    Benchmarking,
    /// Multicast or broadcast.
    Multicast,
    /// Not allocated.
    Reserved,
    /// A public IPv4 address embedded in an IPv6 address.
    Translated,
}

use AddressClass::*;

/// Non-public IPv4 blocks: network, prefix length, class.
const IPV4: [([u8; 4], u8, AddressClass); 20] = [
    ([0, 0, 0, 0], 8, Unspecified),
    ([10, 0, 0, 0], 8, Private),
    ([100, 64, 0, 0], 10, CarrierNat),
    ([127, 0, 0, 0], 8, Loopback),
    // Azure's WireServer: a public address that serves every machine's metadata.
    ([168, 63, 129, 16], 32, CloudService),
    ([169, 254, 0, 0], 16, LinkLocal),
    ([172, 16, 0, 0], 12, Private),
    ([192, 0, 0, 0], 24, Protocol),
    ([192, 0, 2, 0], 24, Documentation),
    // AS112, AMT and 6to4 relays: anycast.
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

/// Non-public IPv6 blocks, inside and outside `2000::/3`: network, prefix length, class.
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

/// The IPv6 global unicast block, `2000::/3`.
const GLOBAL_UNICAST: (u128, u8) = (0x2000 << 112, 3);

/// Whether `address` is public, so that a delivery may go there.
pub fn is_public(address: IpAddr) -> bool {
    class_of(address) == Public
}

/// Class of `address`. An IPv6 address that embeds a non-public IPv4 address has the class of that address.
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

/// The embedded IPv4 address, for prefixes that always embed one.
fn carried_by_prefix(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    let low = Ipv4Addr::from_bits(bits as u32);
    match address.segments() {
        // IPv4-compatible, IPv4-mapped, SIIT, NAT64: the last 32 bits.
        [0, 0, 0, 0, 0, 0, _, _] | [0, 0, 0, 0, 0, 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => Some(low),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(low),
        // 6to4: the 32 bits after the prefix.
        [0x2002, ..] => Some(Ipv4Addr::from_bits((bits >> 80) as u32)),
        // Teredo: the client's address, inverted.
        [0x2001, 0, ..] => Some(Ipv4Addr::from_bits(!(bits as u32))),
        _ => None,
    }
}

/// The IPv4 address in an ISATAP interface id, which can follow any prefix.
fn carried_by_isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    matches!(address.segments(), [_, _, _, _, 0 | 0x200, 0x5efe, _, _])
        .then(|| Ipv4Addr::from_bits(address.to_bits() as u32))
}

/// Whether the first `prefix` bits are equal.
const fn shares_prefix(a: u128, b: u128, prefix: u8) -> bool {
    match 128u32.checked_sub(prefix as u32) {
        Some(128) => true,
        Some(rest) => (a ^ b) >> rest == 0,
        None => false,
    }
}

/// A CIDR block, such as `10.1.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

/// Why a text is not a valid block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CidrError {
    /// Neither `address/prefix` nor an address.
    Malformed,
    /// The address has bits set after the prefix, so the address or the prefix may be a mistake.
    HostBits,
    /// An IPv4-mapped IPv6 block; it would never match.
    Mapped,
}

impl fmt::Display for CidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CidrError::Malformed => "must be a block such as 10.1.0.0/16 or fd00::/8",
            CidrError::HostBits => "must not have address bits set after the prefix",
            CidrError::Mapped => "must be written as an IPv4 block, not as IPv4-mapped IPv6",
        })
    }
}

impl core::error::Error for CidrError {}

impl Cidr {
    /// Parses a block. An address without a prefix is a block of one address.
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

    /// Whether `address` is in the block. An IPv4-mapped address counts as its IPv4 address, as it does for a socket.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.network.is_ipv4()
            && shares_prefix(aligned(address), aligned(self.network), self.prefix)
    }

    /// The first and the last address, left-aligned.
    fn span(&self) -> (u128, u128) {
        let first = aligned(self.network);
        (first, first | u128::MAX.checked_shr(u32::from(self.prefix)).unwrap_or(0))
    }
}

/// First and last address of the public unicast range, for IPv4 and for IPv6.
const CALLERS: [(IpAddr, IpAddr); 2] = [
    (IpAddr::V4(Ipv4Addr::new(1, 0, 0, 0)), IpAddr::V4(Ipv4Addr::new(223, 255, 255, 255))),
    (
        IpAddr::V6(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0)),
        IpAddr::V6(Ipv6Addr::new(0x3fff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff)),
    ),
];

/// Whether the blocks together cover the whole public unicast range of IPv4 or of IPv6.
pub fn covers_public_internet(blocks: &[Cidr]) -> bool {
    CALLERS.into_iter().any(|(from, to)| {
        let of_family = blocks.iter().filter(|block| block.network.is_ipv4() == from.is_ipv4());
        let mut spans: Vec<(u128, u128)> = of_family.map(Cidr::span).collect();
        spans.sort_unstable();
        // All addresses from `from` up to here are covered.
        let mut covered = aligned(from);
        for (first, last) in spans {
            if first > covered {
                break;
            }
            covered = covered.max(last.saturating_add(1));
        }
        covered > aligned(to)
    })
}

/// An address's bits, left-aligned in 128 bits.
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
