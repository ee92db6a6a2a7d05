//! Rules for webhook URLs, applied when a subscription is created and before each attempt.
//!
//! A URL is parsed once (WHATWG URL), and the parsed form is checked rather than the text. The origin resolves the name, passes all
//! resolved addresses to [`Target::admit`], and connects only to one of these addresses.

use super::address::{Cidr, is_public};
use crate::scoring::named_enum;
use crate::wire::error::{ApiError, Detail, ErrorCode, In};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use url::Url;

/// Maximum length of a URL, in bytes.
pub const MAX_URL_LEN: usize = 2_048;

/// Maximum lengths of a DNS name and of a label, in bytes (RFC 1035).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Domains that are not in the public DNS (RFC 6761, 6762, 7686, 8375, 9476, ICANN's `.internal`), or that ICANN does not delegate
/// because private networks use them.
const PRIVATE_DOMAINS: [&str; 16] = [
    "alt",
    "corp",
    "example",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "mail",
    "onion",
    "private",
    "test",
];

/// Ports from 1024 that the Fetch standard blocks for HTTP ("bad ports"), because other protocols use them.
const BAD_PORTS: [u16; 19] =
    [1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080];

/// Non-public address blocks that an operator allows; none by default. There is no other exception.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    allow: Vec<Cidr>,
}

impl Policy {
    /// Allows public addresses and these blocks.
    pub fn allowing(allow: Vec<Cidr>) -> Self {
        Policy { allow }
    }

    /// The allowed blocks. The origin logs a warning if there are any.
    pub fn allowed(&self) -> &[Cidr] {
        &self.allow
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|block| block.contains(address))
    }

    /// Whether a delivery may connect to `address`. Also used to check a connection's actual peer.
    pub fn permits(&self, address: IpAddr) -> bool {
        is_public(address) || self.allows(address)
    }
}

named_enum! {
    /// Why a URL is refused. Reveals nothing about the internal network.
    pub enum Refusal {
        /// Longer than 2048 bytes.
        TooLong = "too_long",
        /// Not a URL, or a URL that only a lenient parser accepts.
        Malformed = "malformed",
        /// The scheme is not `https`.
        NotHttps = "not_https",
        /// Contains a user name or a password.
        Userinfo = "userinfo",
        /// Contains a fragment, which is never sent.
        Fragment = "fragment",
        /// The port belongs to another protocol.
        Port = "port",
        /// The name is not in the public DNS.
        PrivateName = "private_name",
        /// An address, literal or resolved, is not public.
        PrivateAddress = "private_address",
        /// The name does not resolve to any address.
        Unresolvable = "unresolvable",
    }
}

impl Refusal {
    /// The violated requirement, worded to follow the field's name in an error message.
    pub const fn reason(self) -> &'static str {
        match self {
            Refusal::TooLong => "must be at most 2048 bytes long",
            Refusal::Malformed => "must be an absolute URL such as https://hooks.example.com/risk",
            Refusal::NotHttps => "must start with https://",
            Refusal::Userinfo => "must not contain a user name or password",
            Refusal::Fragment => "must not contain a fragment",
            Refusal::Port => "must use port 443, or a port from 1024 that is not reserved for another protocol",
            Refusal::PrivateName => "must have a public host name",
            Refusal::PrivateAddress => "must resolve to public addresses only",
            Refusal::Unresolvable => "must have a host name that can be resolved",
        }
    }
}

impl core::error::Error for Refusal {}

/// A refused URL in a request is a 400 that names the field `url`.
impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let detail = Detail::new(In::Body, "url", refusal.reason());
        ApiError::invalid(ErrorCode::WebhookUrlRejected, alloc::vec![detail])
    }
}

/// The host of a webhook URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// An IP address literal, in any notation.
    Address(IpAddr),
    /// A name in lower-case ASCII without a trailing dot.
    Name(String),
}

/// A webhook URL that has passed all checks except the check of its resolved addresses ([`Target::admit`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: Host,
    /// Whether the host is a private name, which is admitted only if every resolved address is in an allowed block.
    only_allowed: bool,
}

impl Target {
    /// Parses a URL and applies all checks except the check of its resolved addresses.
    pub fn parse(text: &str, policy: &Policy) -> Result<Self, Refusal> {
        let mut url = parse_strictly(text)?;
        let host = match url.host().ok_or(Refusal::Malformed)? {
            url::Host::Ipv4(address) => Host::Address(address.into()),
            url::Host::Ipv6(address) => Host::Address(address.into()),
            url::Host::Domain(name) => Host::Name(String::from(name.strip_suffix('.').unwrap_or(name))),
        };
        let only_allowed = match &host {
            Host::Address(address) if !policy.permits(*address) => return Err(Refusal::PrivateAddress),
            Host::Address(_) => false,
            Host::Name(name) if !is_dns_name(name) => return Err(Refusal::Malformed),
            Host::Name(name) => is_private_name(name),
        };
        if only_allowed && policy.allow.is_empty() {
            return Err(Refusal::PrivateName);
        }
        if let Host::Name(name) = &host {
            url.set_host(Some(name)).map_err(|_| Refusal::Malformed)?;
        }
        Ok(Target { url, host, only_allowed })
    }

    /// The URL in canonical form, as stored and requested.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host that is resolved and that the TLS certificate must match.
    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }

    /// Checks all addresses to which the URL's host name resolved, or the address literal. One forbidden address refuses the target,
    /// because a mix of public and private addresses indicates an attack.
    pub fn admit(&self, addresses: &[IpAddr], policy: &Policy) -> Result<(), Refusal> {
        let good = |address: &IpAddr| match &self.host {
            Host::Address(literal) => literal == address && policy.permits(*address),
            Host::Name(_) if self.only_allowed => policy.allows(*address),
            Host::Name(_) => policy.permits(*address),
        };
        if addresses.is_empty() {
            Err(Refusal::Unresolvable)
        } else if addresses.iter().all(good) {
            Ok(())
        } else {
            Err(Refusal::PrivateAddress)
        }
    }
}

/// Parses a URL strictly. The WHATWG parser alone would drop tabs and line breaks, turn `\` into `/`, and add missing slashes.
fn parse_strictly(text: &str) -> Result<Url, Refusal> {
    if text.len() > MAX_URL_LEN {
        return Err(Refusal::TooLong);
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(Refusal::Malformed);
    }
    let (scheme, rest) = text.split_once(':').ok_or(Refusal::Malformed)?;
    if !scheme.eq_ignore_ascii_case("https") {
        return Err(if Url::parse(text).is_ok() { Refusal::NotHttps } else { Refusal::Malformed });
    }
    let authority = rest.strip_prefix("//").ok_or(Refusal::Malformed)?;
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Refusal::Userinfo);
    }
    if authority.is_empty() {
        return Err(Refusal::Malformed);
    }
    let url = Url::parse(text).map_err(|_| Refusal::Malformed)?;
    if url.as_str().len() > MAX_URL_LEN {
        return Err(Refusal::TooLong);
    }
    if url.fragment().is_some() {
        return Err(Refusal::Fragment);
    }
    match url.port_or_known_default() {
        Some(443) => Ok(url),
        Some(port) if port >= 1024 && !BAD_PORTS.contains(&port) => Ok(url),
        _ => Err(Refusal::Port),
    }
}

/// Whether a name is valid in DNS and certificates: labels of letters, digits, `-` and `_`.
fn is_dns_name(name: &str) -> bool {
    let good_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= MAX_NAME && name.split('.').all(good_label)
}

/// Whether a name is a single label or under a private domain.
fn is_private_name(name: &str) -> bool {
    let under = |domain: &&str| name.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || PRIVATE_DOMAINS.iter().any(under)
}
