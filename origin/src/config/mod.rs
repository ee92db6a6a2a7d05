//! Configuration from the environment: typed once at the start, with every fault told at once.
//!
//! A fault names its variable, says what is wrong and shows a good value. Values of secrets are never printed, not even bad ones.

mod reader;
mod unknown;

pub use unknown::{Unknown, unknown, unknown_here};

use rds_shared::access::{AssertionKey, FirstParty, TrustedProxies};
use rds_shared::graph::signature::DecisionKey;
use rds_shared::push::address::Cidr;
use rds_shared::push::target::Policy;
use reader::Reader;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use tokio_rustls::rustls::pki_types::CertificateDer;

/// A text that must not be printed. `Debug` hides it; it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Where the facts are: all that the commands beside `serve` need.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `postgres://…`; holds a password.
    pub url: Secret,
    /// Connections of the pool, at most.
    pub connections: u32,
}

/// What a command that seals secrets needs beside the database.
#[derive(Debug, Clone)]
pub struct MasterKeyConfig {
    /// What secrets are encrypted under at rest: keys of 64 hex digits, of which the first encrypts and all decrypt.
    pub master_key: Secret,
}

/// How the edge is told about keys.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Where the edge can be reached; no slash at its end.
    pub url: String,
    /// What the origin signs with: the same keys that the edge signs with.
    pub keys: Vec<AssertionKey>,
}

/// Everything `serve` needs.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the facts are.
    pub database: DatabaseConfig,
    /// The door for requests that the edge vouches for.
    pub edge_addr: SocketAddr,
    /// Who may connect to the edge's door; anybody where it is empty.
    pub edge_allow: Vec<Cidr>,
    /// The door for relays that connect directly.
    pub relay_addr: SocketAddr,
    /// The door for operators; loopback unless somebody decides otherwise.
    pub admin_addr: SocketAddr,
    /// What operators present.
    pub admin_token: Secret,
    /// What the edge signs with; the first is current, the others still verify.
    pub assertion_keys: Vec<AssertionKey>,
    /// Where the edge can be reached, for news of changed keys and data.
    pub edge_url: Option<String>,
    /// What secrets are encrypted under at rest.
    pub master_key: Option<Secret>,
    /// What this process signs decisions with; checks are answered without decisions where there is none.
    pub signing_key: Option<DecisionKey>,
    /// Where webhooks may be delivered besides the public internet. Nowhere, unless an operator decides otherwise.
    pub webhook_policy: Policy,
    /// Authorities that webhook targets may be vouched for by, besides those that browsers trust.
    pub webhook_authorities: Vec<CertificateDer<'static>>,
    /// Whether the admin door may move the clock.
    pub test_clock: bool,
    /// The service's own web origins.
    pub first_party: FirstParty,
    /// Proxies before the relay's door, whose `X-Forwarded-For` is believed. Nobody's, unless an operator names them.
    pub trusted_proxies: TrustedProxies,
    /// What is logged.
    pub log: LogLevel,
    /// How long a read may take before it is answered with 504.
    pub read_deadline: Duration,
    /// Seconds between two runs over every vault; 0 is never by itself.
    pub score_every_seconds: u32,
    /// Whether the event stream is open to callers without a key, five to an address.
    pub anonymous_stream: bool,
    /// Whether the graph family's routes exist.
    pub graph: bool,
    /// Seconds between two builds of the exposure graph; 0 is never by itself.
    pub graph_every_seconds: u32,
    /// How long the public doors still take new connections after the process was told to stop and is no longer ready.
    pub lame_duck: Duration,
}

/// The least severe thing that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Faults of ours.
    Error,
    /// And what an operator should look at.
    Warn,
    /// And every request.
    Info,
    /// And what a developer wants to see.
    Debug,
}

impl LogLevel {
    const WORDS: [(&'static str, LogLevel); 4] =
        [("error", LogLevel::Error), ("warn", LogLevel::Warn), ("info", LogLevel::Info), ("debug", LogLevel::Debug)];
}

/// One variable that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The variable's name.
    pub variable: &'static str,
    /// What is wrong, without the value of a secret.
    pub reason: String,
    /// A value that would do.
    pub example: &'static str,
}

/// All that is wrong with the environment, at least one fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError(pub Vec<Fault>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration is not complete:")?;
        for Fault { variable, reason, example } in &self.0 {
            write!(f, "\n  {variable} {reason}; for example {variable}={example}")?;
        }
        Ok(())
    }
}

impl DatabaseConfig {
    /// Reads what the commands beside `serve` need; `lookup` is the environment.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut reader = Reader::of(lookup);
        let database = reader.database();
        reader.finish(database)
    }
}

impl MasterKeyConfig {
    /// Reads the master key; `lookup` is the environment.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut reader = Reader::of(lookup);
        let master_key = reader.required_master_key().map(|master_key| MasterKeyConfig { master_key });
        reader.finish(master_key)
    }
}

/// Reads the key that decisions are signed with, where there is one; `lookup` is the environment.
pub fn signing_key(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<DecisionKey>, ConfigError> {
    let mut reader = Reader::of(lookup);
    let key = reader.signing_key();
    reader.finish(key)
}

impl LinkConfig {
    /// Reads what a command that changes keys needs; `None` where no edge is named. `lookup` is the environment.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ConfigError> {
        let mut reader = Reader::of(lookup);
        let link = match reader.edge_url() {
            Some(Some(url)) => reader.assertion_keys().map(|keys| Some(LinkConfig { url, keys })),
            url => url.map(|_| None),
        };
        reader.finish(link)
    }
}

impl Config {
    /// Reads everything; `lookup` is the environment. Fails with every fault at once.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut reader = Reader::of(lookup);
        let config = reader.config();
        reader.finish(config)
    }

    /// How the edge is told about keys; `None` where no edge is named.
    pub fn link(&self) -> Option<LinkConfig> {
        self.edge_url.clone().map(|url| LinkConfig { url, keys: self.assertion_keys.clone() })
    }
}

/// The process's environment, as `lookup`.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn read(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let variables: BTreeMap<_, _> = pairs.iter().copied().collect();
        Config::read(|name| variables.get(name).map(|text| (*text).to_owned()))
    }

    #[test]
    fn three_variables_are_enough_to_start() {
        let config = read(&[
            ("DATABASE_URL", "postgres://db"),
            ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
            ("RDS_EDGE_ASSERTION_KEYS", KEY),
        ])
        .unwrap();
        assert_eq!(config.edge_addr.to_string(), "127.0.0.1:8788");
        assert_eq!(config.read_deadline, Duration::from_secs(60));
        assert!(!config.test_clock && config.admin_addr.ip().is_loopback() && config.edge_allow.is_empty());
    }

    #[test]
    fn every_fault_is_told_at_once_and_no_secret_with_it() {
        let error = read(&[
            ("RDS_ADMIN_TOKEN", "hunter2"),
            ("RDS_EDGE_ADDR", "here"),
            ("RDS_LOG", "loud"),
            ("RDS_READ_DEADLINE_MS", "0"),
        ])
        .unwrap_err();
        let names: Vec<_> = error.0.iter().map(|fault| fault.variable).collect();
        assert_eq!(
            names,
            [
                "DATABASE_URL",
                "RDS_EDGE_ADDR",
                "RDS_ADMIN_TOKEN",
                "RDS_EDGE_ASSERTION_KEYS",
                "RDS_LOG",
                "RDS_READ_DEADLINE_MS"
            ]
        );
        let text = error.to_string();
        assert!(text.contains("DATABASE_URL is not set; for example DATABASE_URL=postgres://"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_signing_key_comes_from_the_environment_or_a_file_and_is_never_shown() {
        const SECRET: &str = "1111111111111111111111111111111111111111111111111111111111111111";
        let read = |pairs: &[(&str, &str)]| {
            let variables: BTreeMap<_, _> = pairs.iter().copied().collect();
            signing_key(|name| variables.get(name).map(|text| (*text).to_owned()))
        };
        let address = |key: Option<DecisionKey>| key.unwrap().address().to_string();
        let expected = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a";
        assert!(read(&[]).unwrap().is_none());
        assert_eq!(address(read(&[("RDS_SIGNING_KEY", SECRET)]).unwrap()), expected);
        let path = std::env::temp_dir().join(format!("rds-signing-key-{}", std::process::id()));
        std::fs::write(&path, format!("0x{SECRET}\n")).unwrap();
        let file = ("RDS_SIGNING_KEY_FILE", path.to_str().unwrap());
        assert_eq!(address(read(&[file]).unwrap()), expected);
        let both = read(&[file, ("RDS_SIGNING_KEY", SECRET)]).unwrap_err();
        std::fs::write(&path, &SECRET[1..]).unwrap();
        let short = read(&[file]).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        let missing = read(&[file]).unwrap_err();
        let zero = read(&[("RDS_SIGNING_KEY", &"0".repeat(64))]).unwrap_err();
        for (error, variable) in [
            (both, "RDS_SIGNING_KEY_FILE"),
            (short, "RDS_SIGNING_KEY_FILE"),
            (missing, "RDS_SIGNING_KEY_FILE"),
            (zero, "RDS_SIGNING_KEY"),
        ] {
            assert_eq!(error.0[0].variable, variable);
            assert!(!error.to_string().contains("1111111111"), "{error}");
        }
        let whole = self::read(&[
            ("DATABASE_URL", "postgres://db"),
            ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
            ("RDS_EDGE_ASSERTION_KEYS", KEY),
            ("RDS_SIGNING_KEY", SECRET),
        ]);
        let shown = format!("{:?}", whole.unwrap());
        assert!(shown.contains(expected) && !shown.contains("1111111111"), "{shown}");
    }

    #[test]
    fn a_command_that_knows_the_edge_needs_the_key_to_it() {
        let link = |pairs: &[(&str, &str)]| {
            let variables: BTreeMap<_, _> = pairs.iter().copied().collect();
            LinkConfig::read(|name| variables.get(name).map(|text| (*text).to_owned()))
        };
        assert!(link(&[]).unwrap().is_none());
        let url = ("RDS_EDGE_URL", "https://edge.example/");
        assert_eq!(link(&[url, ("RDS_EDGE_ASSERTION_KEYS", KEY)]).unwrap().unwrap().url, "https://edge.example");
        assert_eq!(link(&[url]).unwrap_err().0[0].variable, "RDS_EDGE_ASSERTION_KEYS");
        for bad in ["edge.example", "ftp://edge.example", "https://", "https://edge.example/?x=1"] {
            assert_eq!(link(&[("RDS_EDGE_URL", bad)]).unwrap_err().0[0].variable, "RDS_EDGE_URL", "{bad}");
        }
    }

    #[test]
    fn webhooks_go_to_public_addresses_unless_an_operator_names_others() {
        let with = |more: &[(&str, &str)]| {
            let needed = [
                ("DATABASE_URL", "postgres://db"),
                ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
                ("RDS_EDGE_ASSERTION_KEYS", KEY),
            ];
            read(&[&needed, more].concat())
        };
        let usual = with(&[]).unwrap();
        assert!(usual.webhook_policy.allowed().is_empty() && usual.webhook_authorities.is_empty());
        let opened = with(&[("RDS_WEBHOOK_ALLOW", "127.0.0.0/8, fd00::/8")]).unwrap();
        assert_eq!(opened.webhook_policy.allowed().len(), 2);
        for (name, bad) in [
            ("RDS_WEBHOOK_ALLOW", "127.0.0.1/8"),
            ("RDS_WEBHOOK_ALLOW", "everywhere"),
            ("RDS_WEBHOOK_CA", "/nowhere/ca.pem"),
            ("RDS_WEBHOOK_CA", "Cargo.toml"),
        ] {
            assert_eq!(with(&[(name, bad)]).unwrap_err().0[0].variable, name, "{bad}");
        }
    }

    #[test]
    fn the_edges_door_is_open_to_every_address_unless_an_operator_names_some() {
        let with = |allow| {
            read(&[
                ("DATABASE_URL", "postgres://db"),
                ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
                ("RDS_EDGE_ASSERTION_KEYS", KEY),
                ("RDS_EDGE_ALLOW", allow),
            ])
        };
        let blocks: Vec<String> = with("10.1.0.0/16, ::1").unwrap().edge_allow.iter().map(Cidr::to_string).collect();
        assert_eq!(blocks, ["10.1.0.0/16", "::1/128"]);
        for bad in ["10.1.0.1/16", "everywhere", "10.0.0.0/8,"] {
            assert_eq!(with(bad).unwrap_err().0[0].variable, "RDS_EDGE_ALLOW", "{bad}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_read_is_not_repeated() {
        for bad in
            ["postgres://u:hunter2@db?sslmode=hunter2", "postgres://u:hunter2@db:hunter2/rds", "mysql://u:hunter2@db"]
        {
            let faults = read(&[
                ("DATABASE_URL", bad),
                ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
                ("RDS_EDGE_ASSERTION_KEYS", KEY),
            ]);
            let text = faults.unwrap_err().to_string();
            assert!(text.contains("DATABASE_URL") && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_secret_never_shows_in_debug_output() {
        let config = read(&[
            ("DATABASE_URL", "postgres://u:hunter2@db"),
            ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
            ("RDS_EDGE_ASSERTION_KEYS", KEY),
        ])
        .unwrap();
        let text = format!("{config:?}");
        assert!(
            !text.contains("hunter2") && !text.contains("0123456789abcdef") && !text.contains("00112233"),
            "{text}"
        );
    }
}
