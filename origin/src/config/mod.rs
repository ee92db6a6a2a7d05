//! Configuration from the environment, parsed once at the start; all faults are reported together.
//!
//! A fault names its variable, the reason and a valid example. Values of secrets are never printed, not even invalid ones.

mod keep_days;
mod traces;
mod unknown;
mod variables;

pub use keep_days::KeepDays;
pub use traces::TraceConfig;
pub use unknown::{Unknown, unknown, unknown_here};

use rds_shared::access::{AssertionKey, FirstParty, TrustedProxies};
use rds_shared::graph::signature::DecisionKey;
use rds_shared::push::address::Cidr;
use rds_shared::push::target::Policy;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use tokio_rustls::rustls::pki_types::CertificateDer;
use variables::Reader;

/// A secret text. `Debug` hides the text, and there is no `Display`, so that it is not logged by mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret text. Callers must not log it.
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

/// The settings of the database. Most commands other than `serve` need nothing else.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `postgres://…`, possibly with a password.
    pub url: Secret,
    /// Maximum connections of the pool.
    pub connections: u32,
}

/// The master key, for commands that encrypt or decrypt secrets.
#[derive(Debug, Clone)]
pub struct MasterKeyConfig {
    /// Keys for secrets at rest: 64 hex digits each, separated by commas. The first encrypts, all decrypt.
    pub master_key: Secret,
}

/// How to reach the edge, to notify it of changes.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// The edge's URL, without a trailing slash.
    pub url: String,
    /// The keys that the origin signs with; the edge signs its requests with the same keys.
    pub keys: Vec<AssertionKey>,
}

/// Everything `serve` needs.
#[derive(Debug, Clone)]
pub struct Config {
    pub database: DatabaseConfig,
    /// Edge listener: requests that the edge has signed.
    pub edge_addr: SocketAddr,
    /// Address blocks that may connect to the edge listener; empty allows every address.
    pub edge_allow: Vec<Cidr>,
    /// Relay listener: clients that connect directly.
    pub relay_addr: SocketAddr,
    /// Admin listener: operators. Loopback by default.
    pub admin_addr: SocketAddr,
    /// Bearer token of the admin listener.
    pub admin_token: Secret,
    /// Keys of edge assertions; the first is current, the others are still accepted.
    pub assertion_keys: Vec<AssertionKey>,
    /// The edge's URL, to notify it of changed keys and data.
    pub edge_url: Option<String>,
    /// Keys that encrypt secrets at rest.
    pub master_key: Option<Secret>,
    /// Key that this process signs decisions with; without it, checks are answered without decisions.
    pub signing_key: Option<DecisionKey>,
    /// Networks besides the public internet that webhooks may be delivered to. Empty by default.
    pub webhook_policy: Policy,
    /// Certificate authorities for webhook targets, besides those that browsers trust.
    pub webhook_authorities: Vec<CertificateDer<'static>>,
    /// Whether the admin listener may move the clock.
    pub test_clock: bool,
    /// The service's own web origins.
    pub first_party: FirstParty,
    /// Proxies in front of the relay listener whose `X-Forwarded-For` is trusted. Empty by default.
    pub trusted_proxies: TrustedProxies,
    pub log: LogLevel,
    /// Maximum time for a request on the edge and relay listeners; a request that takes longer is answered with 504.
    pub read_deadline: Duration,
    /// Seconds between two score runs over every vault; 0 turns periodic runs off.
    pub score_every_seconds: u32,
    /// Whether callers without a key may open the event stream, five per address.
    pub anonymous_stream: bool,
    /// Whether the graph routes exist.
    pub graph: bool,
    /// Seconds between two builds of the exposure graph; 0 turns periodic builds off.
    pub graph_every_seconds: u32,
    /// How long histories are kept whole. For ever by default.
    pub keep_days: KeepDays,
    /// The chains that the service reads, with their providers. Empty by default.
    pub chains: Vec<rds_rpc::file::Chain>,
    /// Where traces are sent; `None` makes none.
    pub traces: Option<TraceConfig>,
    /// How long the public listeners still accept connections after a stop signal, while the process reports not ready.
    pub lame_duck: Duration,
}

/// Log level; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Faults of the service.
    Error,
    /// Conditions that an operator should look at.
    Warn,
    /// Every request.
    Info,
    /// Details for developers.
    Debug,
}

impl LogLevel {
    const WORDS: [(&'static str, LogLevel); 4] =
        [("error", LogLevel::Error), ("warn", LogLevel::Warn), ("info", LogLevel::Info), ("debug", LogLevel::Debug)];
}

/// One variable that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub variable: &'static str,
    /// The reason, without the value of a secret.
    pub reason: String,
    /// A valid value, shown in the message.
    pub example: &'static str,
}

/// All faults of the environment, at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError(pub Vec<Fault>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration is incomplete or invalid:")?;
        for Fault { variable, reason, example } in &self.0 {
            write!(f, "\n  {variable} {reason}; for example {variable}={example}")?;
        }
        Ok(())
    }
}

impl DatabaseConfig {
    /// Reads the database's settings; `lookup` is the environment.
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

/// Reads the key that decisions are signed with, if it is set; `lookup` is the environment.
pub fn signing_key(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<DecisionKey>, ConfigError> {
    let mut reader = Reader::of(lookup);
    let key = reader.signing_key();
    reader.finish(key)
}

/// Reads the chains with their providers; `lookup` is the environment.
pub fn chains(lookup: impl Fn(&str) -> Option<String>) -> Result<Vec<rds_rpc::file::Chain>, ConfigError> {
    let mut reader = Reader::of(lookup);
    let chains = reader.chains();
    reader.finish(chains)
}

impl LinkConfig {
    /// Reads the link to the edge; `None` if `RDS_EDGE_URL` is not set. `lookup` is the environment.
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
    /// Reads everything; `lookup` is the environment. The error lists every fault.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut reader = Reader::of(lookup);
        let config = reader.config();
        reader.finish(config)
    }

    /// The link to the edge; `None` if `RDS_EDGE_URL` is not set.
    pub fn link(&self) -> Option<LinkConfig> {
        self.edge_url.clone().map(|url| LinkConfig { url, keys: self.assertion_keys.clone() })
    }
}

/// The variable's value in the process's environment, for use as `lookup`.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const NEEDED: [(&str, &str); 3] =
        [("DATABASE_URL", "postgres://db"), ("RDS_ADMIN_TOKEN", "0123456789abcdef"), ("RDS_EDGE_ASSERTION_KEYS", KEY)];

    fn read(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let variables: BTreeMap<_, _> = pairs.iter().copied().collect();
        Config::read(|name| variables.get(name).map(|text| (*text).to_owned()))
    }

    #[test]
    fn three_variables_suffice_to_start() {
        let config = read(&NEEDED).unwrap();
        assert_eq!(config.edge_addr.to_string(), "127.0.0.1:8788");
        assert_eq!(config.read_deadline, Duration::from_secs(60));
        assert!(!config.test_clock && config.admin_addr.ip().is_loopback() && config.edge_allow.is_empty());
    }

    #[test]
    fn all_faults_are_reported_together_without_secrets() {
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
    fn an_edge_url_requires_an_assertion_key() {
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
    fn webhooks_go_to_public_addresses_unless_blocks_are_set() {
        let with = |more: &[(&str, &str)]| read(&[&NEEDED, more].concat());
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
    fn the_edge_listener_accepts_every_address_unless_blocks_are_set() {
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
    fn an_invalid_database_url_is_not_repeated_in_the_error() {
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
