//! Where deliveries may go: the rules for a webhook's URL, at its creation and before every attempt.
//!
//! A URL is parsed once, as browsers parse it (WHATWG URL), and judged by what it was understood as, never by its text. Resolving a
//! name is the host's part: it hands every address it got to [`Target::admit`] and connects to one of exactly those.
//! Source: interface, "Webhooks" (URL rules).

use super::address::{Cidr, is_public};
use crate::scoring::named_enum;
use crate::wire::error::{ApiError, Detail, ErrorCode, In};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use url::Url;

/// The longest URL taken, in bytes.
pub const LONGEST_URL: usize = 2_048;

/// The longest name and label in DNS, in bytes.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Domains that are not in the public DNS (RFC 6761, 6762, 7686, 8375, 9476, ICANN's `.internal`), or that so many private networks
/// use that ICANN gives them to nobody.
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

/// Ports from 1024 up that the Fetch standard keeps from HTTP ("bad ports"), because other protocols listen there.
const BAD_PORTS: [u16; 19] =
    [1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080];

/// What an operator allows besides the public internet. Nothing by default, and nothing else opens anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    allow: Vec<Cidr>,
}

impl Policy {
    /// Allows these blocks too.
    pub fn allowing(allow: Vec<Cidr>) -> Self {
        Policy { allow }
    }

    /// The blocks; a host says loudly when there are any.
    pub fn allowed(&self) -> &[Cidr] {
        &self.allow
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|block| block.contains(address))
    }

    /// Whether a delivery may connect to `address`; also the check of a connection's actual peer.
    pub fn permits(&self, address: IpAddr) -> bool {
        is_public(address) || self.allows(address)
    }
}

named_enum! {
    /// Why a URL is refused, in words that tell its owner nothing of our network.
    pub enum Refusal {
        /// More than [`LONGEST_URL`] bytes.
        TooLong = "too_long",
        /// No URL, or one that only a forgiving parser would read.
        Malformed = "malformed",
        /// Another scheme.
        NotHttps = "not_https",
        /// A user or a password before the host.
        Userinfo = "userinfo",
        /// A fragment, which never travels.
        Fragment = "fragment",
        /// A port where something else listens.
        Port = "port",
        /// A name that the public DNS does not have.
        PrivateName = "private_name",
        /// An address, written out or resolved, that is not public.
        PrivateAddress = "private_address",
        /// A name without an address.
        Unresolvable = "unresolvable",
    }
}

impl Refusal {
    /// What is wrong, to be read behind the field's name.
    pub const fn reason(self) -> &'static str {
        match self {
            Refusal::TooLong => "must be at most 2048 bytes long",
            Refusal::Malformed => "must be an absolute URL such as https://hooks.example.com/risk",
            Refusal::NotHttps => "must start with https://",
            Refusal::Userinfo => "must not hold a user name or password",
            Refusal::Fragment => "must not hold a fragment",
            Refusal::Port => "must use port 443, or one from 1024 up that no other protocol uses",
            Refusal::PrivateName => "must name a public host",
            Refusal::PrivateAddress => "must lead to public addresses only",
            Refusal::Unresolvable => "must name a host that can be resolved",
        }
    }
}

impl core::error::Error for Refusal {}

/// A creation with such a URL is a 400 that names the field.
impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let detail = Detail::new(In::Body, "url", refusal.reason());
        ApiError::invalid(ErrorCode::WebhookUrlRejected, alloc::vec![detail])
    }
}

/// The host of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// An address, in whichever notation it was written.
    Address(IpAddr),
    /// A name: ASCII, lower case, no dot at its end.
    Name(String),
}

/// A URL that deliveries may go to, as far as the URL says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: Host,
    /// A private name: good only where the operator's blocks hold every address of it.
    only_allowed: bool,
}

impl Target {
    /// Reads a URL and applies every rule that needs no network.
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

    /// The URL in its canonical spelling: what is stored and requested.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host: what is resolved, what TLS asks for.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }

    /// Judges what the host resolved to, or its one address where it is one. A single forbidden address refuses all: whoever
    /// mixes them in has a reason.
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

/// Parses a URL without the parser's forgiveness: it would drop tabs and line breaks, turn `\` into `/`, and supply missing slashes.
fn parse_strictly(text: &str) -> Result<Url, Refusal> {
    if text.len() > LONGEST_URL {
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
    if url.as_str().len() > LONGEST_URL {
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

/// A name that DNS and certificates can hold: labels of letters, digits, `-` and `_`.
fn is_dns_name(name: &str) -> bool {
    let good_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= LONGEST_NAME && name.split('.').all(good_label)
}

/// A name that only some network knows: a single label, or one under a private domain.
fn is_private_name(name: &str) -> bool {
    let under = |domain: &&str| name.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || PRIVATE_DOMAINS.iter().any(under)
}
