//! The Worker's variables and secrets, read and checked once per isolate.
//!
//! | name | kind | example | when absent |
//! |---|---|---|---|
//! | `ORIGIN_URL` | variable | `https://origin.example` | a fault |
//! | `ASSERTION_KEY` | secret | `k2:<64 hex characters>,k1:<…>`: the first signs, all verify | a fault |
//! | `FIRST_PARTY_ORIGINS` | variable | `https://app.example,https://www.example` | none |
//! | `CLIENT_IP_HEADER` | variable | `CF-Connecting-IP` | `CF-Connecting-IP` |
//! | `TRUSTED_PROXIES` | variable | `platform`, or `10.0.0.0/8,fd00::/8` | loopback: peers that may set `CLIENT_IP_HEADER` |
//! | `CACHE_HOST` | variable | `api.example`, the service's own host | `rds-edge.invalid` |
//! | `ORIGIN_TIMEOUT_MS` | variable | `2500` | 2500: timeout of the origin if a stale response can be served instead |
//! | `GUARD_TIMEOUT_MS` | variable | `1000` | 1000: timeout of a Durable Object; plus `ORIGIN_TIMEOUT_MS` for a key that is new to this isolate |
//! | `STREAM_ANONYMOUS` | variable | `1` | 0: whether callers without a key may open an event stream |
//! | `GRAPH` | variable | `1` | 0: whether the exposure graph's routes exist; otherwise they answer 404 |
//! | `REPLICA_OBJECTS` | variable | `4` | 1: Durable Objects that share the isolates' questions for the replica |
//! | `SECURITY_CONTACT` | variable | `mailto:security@example` | the page `/v1/docs/security`: contact named in `security.txt` |
//! | `OTLP_ENDPOINT` | variable | `https://collector.example` | none: no traces. Address of an OpenTelemetry collector; `entry.mjs` sends to it |
//! | `OTLP_AUTHORIZATION` | secret | `Bearer …` | none: the header `Authorization` for the collector |
//! | `TRACE_RATIO` | variable | `0.05` | 0.01: share of the requests that are traced |
//! | `TRACE_CALLERS` | variable | `1` | 0: whether a caller's `traceparent` names the trace of its request |
//! | `READ_DEADLINE_MS` | variable | `61000` | 61000: timeout of the origin if nothing else can be served |

use core::fmt;
use core::time::Duration;
use rds_shared::access::cors::is_host;
use rds_shared::access::{AssertionKey, FirstParty, Salt, TrustedProxies};
use rds_shared::wire::traceparent::SampleRatio;

/// Timeout while a stale response is available: longer than any healthy answer, shorter than a caller's patience.
const ORIGIN_TIMEOUT: Duration = Duration::from_millis(2_500);
/// One second more than the origin's own deadline of 60 s, so that the origin's error envelope arrives first.
const READ_DEADLINE: Duration = Duration::from_secs(61);
/// A healthy Durable Object answers within milliseconds, or 250 ms across an ocean.
const GUARD_TIMEOUT: Duration = Duration::from_secs(1);

/// Default on plain workerd: a proxy on the same machine.
const LOOPBACK: &str = "127.0.0.0/8,::1";

/// A checked configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Scheme, host and port of the origin's edge listener, without a trailing slash.
    pub origin_url: String,
    /// Key of the edge assertion on every call to the origin.
    pub assertion_key: AssertionKey,
    /// Keys that verify the origin's messages: the signing key, and others during a key rotation.
    pub verification_keys: Vec<AssertionKey>,
    /// Origins of the service's own pages.
    pub first_party: FirstParty,
    /// The header in which the proxy in front of the Worker names the caller, lower case.
    pub client_ip_header: String,
    /// Peers that may set `client_ip_header`.
    pub trusted_proxies: Trust,
    /// Salt of the address hashes at the rate limits. Derived from the signing key, so a new key starts new counters.
    pub salt: Salt,
    /// Host of the Cache API's keys.
    pub cache_host: String,
    /// Timeout of the origin while a stale response is available.
    pub origin_timeout: Duration,
    /// Timeout of the origin otherwise.
    pub read_deadline: Duration,
    /// Timeout of a Durable Object.
    pub guard_timeout: Duration,
    /// Whether callers without a key may open an event stream; the origin has its own switch.
    pub anonymous_stream: bool,
    /// URI for vulnerability reports; default: the documentation's security page.
    pub security_contact: Option<String>,
    /// Whether the exposure graph's routes exist; the origin has its own switch.
    pub graph: bool,
    /// Durable Objects of the replica; each isolate asks one of them.
    pub replica_objects: u32,
    /// The share of the requests that are traced.
    pub trace_ratio: SampleRatio,
    /// Whether a caller's `traceparent` names the trace of its request.
    pub trace_callers: bool,
}

/// Peers that may name a caller's address in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// All peers. For deployments where only the platform's front end, or a proxy that overwrites the header, can connect.
    Platform,
    /// Peers at these addresses. On Cloudflare, `CF-Connecting-IP` is trusted in addition.
    Peers(TrustedProxies),
}

/// An invalid variable. Does not include the value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub name: &'static str,
    pub wanted: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.wanted)
    }
}

impl Config {
    /// Reads the variables through `lookup`. On failure returns all faults at once.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<Fault>> {
        const MILLIS: &str = "must be a whole number of milliseconds, at least 1";
        const SWITCH: &str = "must be 1, 0, true or false";
        let mut reader = Reader { lookup, faults: Vec::new() };
        let origin_url = reader.required("ORIGIN_URL", "must be http(s)://host[:port] without a path", base_url);
        let keys = reader.required(
            "ASSERTION_KEY",
            "must be <name>:<64 hex characters>, or several separated by commas",
            AssertionKey::parse_list,
        );
        let first_party = reader.optional(
            "FIRST_PARTY_ORIGINS",
            "must be origins such as https://app.example, separated by commas",
            FirstParty::default(),
            |list| FirstParty::parse(list).ok(),
        );
        let client_ip_header = reader.optional(
            "CLIENT_IP_HEADER",
            "must be the name of a header",
            "cf-connecting-ip".to_owned(),
            header_name,
        );
        let trusted_proxies = reader.optional(
            "TRUSTED_PROXIES",
            "must be `platform`, or networks such as 10.0.0.0/8 separated by commas",
            Trust::Peers(TrustedProxies::parse(LOOPBACK).unwrap_or_default()),
            |text| match text {
                "platform" => Some(Trust::Platform),
                list => TrustedProxies::parse(list).ok().map(Trust::Peers),
            },
        );
        let cache_host = reader.optional("CACHE_HOST", "must be a host name", "rds-edge.invalid".to_owned(), |name| {
            is_host(name).then(|| name.to_owned())
        });
        let origin_timeout = reader.optional("ORIGIN_TIMEOUT_MS", MILLIS, ORIGIN_TIMEOUT, millis);
        let read_deadline = reader.optional("READ_DEADLINE_MS", MILLIS, READ_DEADLINE, millis);
        let guard_timeout = reader.optional("GUARD_TIMEOUT_MS", MILLIS, GUARD_TIMEOUT, millis);
        let anonymous_stream = reader.optional("STREAM_ANONYMOUS", SWITCH, false, switch);
        let graph = reader.optional("GRAPH", SWITCH, false, switch);
        let replica_objects = reader.optional("REPLICA_OBJECTS", "must be a whole number from 1 to 64", 1, |text| {
            text.parse().ok().filter(|number| (1..=64).contains(number))
        });
        let security_contact = reader.optional(
            "SECURITY_CONTACT",
            "must be a mailto:, https: or tel: URI, such as mailto:security@example",
            None,
            |text| contact(text).map(Some),
        );
        let trace_ratio = reader.optional(
            "TRACE_RATIO",
            "must be a number from 0 to 1",
            SampleRatio::ONE_PERCENT,
            SampleRatio::parse,
        );
        let trace_callers = reader.optional("TRACE_CALLERS", SWITCH, false, switch);
        let are_traced = reader.text("OTLP_ENDPOINT").is_some();
        let signing = keys.as_ref().and_then(|keys| keys.first().cloned());
        match (origin_url, signing, keys) {
            (Some(origin_url), Some(assertion_key), Some(verification_keys)) if reader.faults.is_empty() => {
                Ok(Config {
                    origin_url,
                    salt: assertion_key.salt("addresses"),
                    assertion_key,
                    verification_keys,
                    first_party,
                    client_ip_header,
                    trusted_proxies,
                    cache_host,
                    origin_timeout,
                    read_deadline,
                    guard_timeout,
                    anonymous_stream,
                    graph,
                    security_contact,
                    replica_objects,
                    trace_ratio: if are_traced { trace_ratio } else { SampleRatio::NONE },
                    trace_callers,
                })
            }
            _ => Err(reader.faults),
        }
    }
}

/// Reads variables and collects their faults. A blank variable counts as absent.
struct Reader<L> {
    lookup: L,
    faults: Vec<Fault>,
}

impl<L: Fn(&str) -> Option<String>> Reader<L> {
    fn text(&self, name: &str) -> Option<String> {
        (self.lookup)(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn required<T>(
        &mut self,
        name: &'static str,
        wanted: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.text(name).and_then(|text| parse(&text));
        if value.is_none() {
            self.faults.push(Fault { name, wanted });
        }
        value
    }

    fn optional<T>(
        &mut self,
        name: &'static str,
        wanted: &'static str,
        absent: T,
        parse: impl Fn(&str) -> Option<T>,
    ) -> T {
        match self.text(name) {
            None => absent,
            Some(_) => self.required(name, wanted, parse).unwrap_or(absent),
        }
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

fn millis(text: &str) -> Option<Duration> {
    let millis: u32 = text.parse().ok()?;
    (millis > 0).then(|| Duration::from_millis(millis.into()))
}

fn base_url(text: &str) -> Option<String> {
    let url = text.strip_suffix('/').unwrap_or(text);
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    is_host(host).then(|| url.to_owned())
}

/// RFC 9116, section 2.5.3: a URI, on one line.
fn contact(text: &str) -> Option<String> {
    let has_scheme = ["mailto:", "https://", "tel:"].iter().any(|scheme| text.starts_with(scheme));
    (has_scheme && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| text.to_owned())
}

fn header_name(text: &str) -> Option<String> {
    let valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    valid.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn read(variables: &[(&str, &str)]) -> Result<Config, Vec<&'static str>> {
        let lookup =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Config::read(lookup).map_err(|faults| faults.into_iter().map(|fault| fault.name).collect())
    }

    #[test]
    fn two_variables_are_enough() {
        let config = read(&[("ORIGIN_URL", "http://127.0.0.1:8788/"), ("ASSERTION_KEY", KEY)]).unwrap();
        assert_eq!(config.origin_url, "http://127.0.0.1:8788");
        assert_eq!((config.origin_timeout.as_millis(), config.read_deadline.as_millis()), (2_500, 61_000));
        assert_eq!(config.client_ip_header, "cf-connecting-ip");
        assert_eq!(config.first_party, FirstParty::default());
        let Trust::Peers(proxies) = config.trusted_proxies else { panic!("only loopback is trusted by default") };
        assert!(proxies.contains([127, 0, 0, 1].into()) && !proxies.contains([10, 0, 0, 1].into()));
    }

    #[test]
    fn during_a_key_rotation_the_first_key_signs_and_all_verify() {
        let list = format!("{},{KEY}", KEY.replacen("k1", "k2", 1));
        let config = read(&[("ORIGIN_URL", "http://127.0.0.1:8788"), ("ASSERTION_KEY", &list)]).unwrap();
        assert_eq!(config.assertion_key.id(), "k2");
        assert_eq!(config.verification_keys.iter().map(AssertionKey::id).collect::<Vec<_>>(), ["k2", "k1"]);
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        assert_eq!(read(&[]).unwrap_err(), ["ORIGIN_URL", "ASSERTION_KEY"]);
        let all = [
            ("ORIGIN_URL", "http://origin.example/v1"),
            ("ASSERTION_KEY", "k1:00"),
            ("FIRST_PARTY_ORIGINS", "*"),
            ("CLIENT_IP_HEADER", "x forwarded"),
            ("TRUSTED_PROXIES", "10.0.0.1/8"),
            ("CACHE_HOST", "a/b"),
            ("ORIGIN_TIMEOUT_MS", "0"),
            ("READ_DEADLINE_MS", "soon"),
            ("GUARD_TIMEOUT_MS", "-1"),
            ("STREAM_ANONYMOUS", "maybe"),
            ("GRAPH", "on"),
            ("REPLICA_OBJECTS", "0"),
            ("SECURITY_CONTACT", "security@example"),
        ];
        assert_eq!(read(&all).unwrap_err(), all.map(|(name, _)| name));
    }

    #[test]
    fn a_switch_accepts_the_values_its_fault_lists() {
        let graph = |text: &'static str| {
            let variables = [("ORIGIN_URL", "http://127.0.0.1:8788"), ("ASSERTION_KEY", KEY), ("GRAPH", text)];
            let lookup =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            Config::read(lookup).map(|config| config.graph).map_err(|faults| faults[0].to_string())
        };
        for (text, on) in [("1", true), ("0", false), ("true", true), ("false", false)] {
            assert_eq!(graph(text), Ok(on));
            assert!(
                graph("on").unwrap_err().split_whitespace().any(|word| word.trim_end_matches(',') == text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_fault_never_shows_the_value() {
        let lookup = |name: &str| (name == "ASSERTION_KEY").then(|| "k1:secret".to_owned());
        let shown: Vec<_> = Config::read(lookup).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 2);
        assert!(!shown.concat().contains("secret"));
    }
}
