//! Configuration from the environment: typed once at the start, with every fault told at once.
//!
//! A fault names its variable, says what is wrong and shows a good value. Values of secrets are never printed, not even bad ones.

use rds_shared::access::{AssertionKey, FirstParty};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

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

/// Everything `serve` needs.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the facts are.
    pub database: DatabaseConfig,
    /// The door for requests that the edge vouches for.
    pub edge_addr: SocketAddr,
    /// The door for relays that connect directly.
    pub relay_addr: SocketAddr,
    /// The door for operators; loopback unless somebody decides otherwise.
    pub admin_addr: SocketAddr,
    /// What operators present.
    pub admin_token: Secret,
    /// What the edge signs with; the first is current, the others still verify.
    pub assertion_keys: Vec<AssertionKey>,
    /// Where the edge can be reached, for news of changed data.
    pub edge_url: Option<String>,
    /// What secrets are encrypted under at rest.
    pub master_key: Option<Secret>,
    /// Whether the admin door may move the clock.
    pub test_clock: bool,
    /// The service's own web origins.
    pub first_party: FirstParty,
    /// What is logged.
    pub log: LogLevel,
    /// How long a read may take before it is answered with 504.
    pub read_deadline: Duration,
    /// Seconds between two runs over every vault; 0 is never by itself.
    pub score_every_seconds: u32,
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
        let mut reader = Reader { lookup, faults: Vec::new() };
        let database = reader.database();
        reader.finish(database)
    }
}

impl Config {
    /// Reads everything; `lookup` is the environment. Fails with every fault at once.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut reader = Reader { lookup, faults: Vec::new() };
        let config = reader.config();
        reader.finish(config)
    }
}

/// The process's environment, as `lookup`.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

struct Reader<L> {
    lookup: L,
    faults: Vec<Fault>,
}

const SIXTY_FOUR_HEX: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

impl<L: Fn(&str) -> Option<String>> Reader<L> {
    /// Everything `serve` needs. No `?` before the last line: a later fault must be found even after an earlier one.
    fn config(&mut self) -> Option<Config> {
        let database = self.database();
        let edge_addr = self.address("RDS_EDGE_ADDR", "127.0.0.1:8788");
        let relay_addr = self.address("RDS_RELAY_ADDR", "127.0.0.1:8789");
        let admin_addr = self.address("RDS_ADMIN_ADDR", "127.0.0.1:8790");
        let admin_token = self.required("RDS_ADMIN_TOKEN", SIXTY_FOUR_HEX, |text| {
            if text.len() < 16 { Err("must have at least 16 characters".into()) } else { Ok(Secret(text.into())) }
        });
        let assertion_keys = self.required("RDS_EDGE_ASSERTION_KEYS", "k1:<64 hex characters>", |text| {
            AssertionKey::parse_list(text)
                .ok_or_else(|| "must be a comma-separated list of <id>:<64 hex characters>".into())
        });
        let edge_url = self.optional("RDS_EDGE_URL", "http://127.0.0.1:8787", None, |text| {
            if text.starts_with("http://") || text.starts_with("https://") {
                Ok(Some(text.trim_end_matches('/').to_owned()))
            } else {
                Err("must start with http:// or https://".into())
            }
        });
        let master_key = self.optional("RDS_MASTER_KEY", SIXTY_FOUR_HEX, None, |text| {
            if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
                Ok(Some(Secret(text.into())))
            } else {
                Err("must be 64 hex characters".into())
            }
        });
        let test_clock = self.optional("RDS_TEST_CLOCK", "1", false, |text| match text {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            _ => Err("must be 1 or 0".into()),
        });
        let first_party =
            self.optional("RDS_FIRST_PARTY_ORIGINS", "https://app.example", FirstParty::default(), |text| {
                FirstParty::parse(text).map_err(|bad| format!("has an entry that is no web origin: {bad}"))
            });
        let log = self.optional("RDS_LOG", "info", LogLevel::Info, |text| {
            LogLevel::WORDS
                .iter()
                .find(|(word, _)| *word == text)
                .map(|(_, level)| *level)
                .ok_or_else(|| "must be error, warn, info or debug".into())
        });
        let read_deadline = self.optional("RDS_READ_DEADLINE_MS", "60000", Duration::from_secs(60), |text| {
            whole(text, 1, 600_000).map(Duration::from_millis)
        });
        let score_every_seconds = self.optional("RDS_SCORE_EVERY_SECONDS", "1800", 1_800, |text| {
            whole(text, 0, 86_400).map(|number| number as u32)
        });
        Some(Config {
            database: database?,
            edge_addr: edge_addr?,
            relay_addr: relay_addr?,
            admin_addr: admin_addr?,
            admin_token: admin_token?,
            assertion_keys: assertion_keys?,
            edge_url: edge_url?,
            master_key: master_key?,
            test_clock: test_clock?,
            first_party: first_party?,
            log: log?,
            read_deadline: read_deadline?,
            score_every_seconds: score_every_seconds?,
        })
    }

    fn database(&mut self) -> Option<DatabaseConfig> {
        let url = self.required("DATABASE_URL", "postgres://rds@127.0.0.1:5432/rds", |text| {
            if text.starts_with("postgres://") || text.starts_with("postgresql://") {
                Ok(Secret(text.into()))
            } else {
                Err("must start with postgres://".into())
            }
        });
        let connections =
            self.optional("RDS_DB_CONNECTIONS", "16", 16, |text| whole(text, 2, 500).map(|number| number as u32));
        Some(DatabaseConfig { url: url?, connections: connections? })
    }

    fn required<T>(
        &mut self,
        variable: &'static str,
        example: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        match self.text(variable) {
            Some(text) => self.note(variable, example, read(&text)),
            None => self.note(variable, example, Err("is not set".into())),
        }
    }

    fn optional<T>(
        &mut self,
        variable: &'static str,
        example: &'static str,
        default: T,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        match self.text(variable) {
            Some(text) => self.note(variable, example, read(&text)),
            None => Some(default),
        }
    }

    fn address(&mut self, variable: &'static str, default: &'static str) -> Option<SocketAddr> {
        let read = |text: &str| text.parse::<SocketAddr>().map_err(|_| "must be an IP address and a port".to_owned());
        let text = self.text(variable).unwrap_or_else(|| default.to_owned());
        self.note(variable, default, read(&text))
    }

    /// The variable's text; one that is set to nothing counts as not set.
    fn text(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn note<T>(&mut self, variable: &'static str, example: &'static str, read: Result<T, String>) -> Option<T> {
        read.map_err(|reason| self.faults.push(Fault { variable, reason, example })).ok()
    }

    fn finish<T>(self, value: Option<T>) -> Result<T, ConfigError> {
        match value {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => Err(ConfigError(self.faults)),
        }
    }
}

fn whole(text: &str, min: u64, max: u64) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| format!("must be a whole number from {min} to {max}"))
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
        assert!(!config.test_clock && config.admin_addr.ip().is_loopback());
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
