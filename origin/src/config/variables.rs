//! Reads the variables one by one; a fault does not prevent finding later ones.

use super::{Config, ConfigError, DatabaseConfig, Fault, KeepDays, LogLevel, Secret, TraceConfig, traces};
use axum::http::Uri;
use rds_rpc::file::{Chain, Providers};
use rds_shared::access::{AssertionKey, FirstParty, TrustedProxies};
use rds_shared::graph::signature::DecisionKey;
use rds_shared::push::address::Cidr;
use rds_shared::push::target::Policy;
use rds_shared::wire::traceparent::SampleRatio;
use rds_store as store;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// The environment, and the faults found so far.
pub(super) struct Reader<L> {
    lookup: L,
    faults: Vec<Fault>,
}

const SIXTY_FOUR_HEX: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

const CHAIN_PROVIDERS: &str = "/etc/rds/chains.json";

const CHAIN_KEYS: &str = "/run/secrets/rds-chain-keys.json";

const SIGNING_KEY_FILE: &str = "/run/secrets/rds-signing-key";

impl<L: Fn(&str) -> Option<String>> Reader<L> {
    /// A reader of the variables that `lookup` returns.
    pub(super) fn of(lookup: L) -> Self {
        Reader { lookup, faults: Vec::new() }
    }

    /// Everything `serve` needs. No `?` before the last expression, so that every fault is found.
    pub(super) fn config(&mut self) -> Option<Config> {
        let database = self.database();
        let edge_addr = self.address("RDS_EDGE_ADDR", "127.0.0.1:8788");
        let edge_allow = self.optional("RDS_EDGE_ALLOW", "10.1.0.0/16", Vec::new(), blocks);
        let relay_addr = self.address("RDS_RELAY_ADDR", "127.0.0.1:8789");
        let admin_addr = self.address("RDS_ADMIN_ADDR", "127.0.0.1:8790");
        let admin_token = self.required("RDS_ADMIN_TOKEN", SIXTY_FOUR_HEX, |text| {
            if text.len() < 16 { Err("must have at least 16 characters".into()) } else { Ok(Secret(text.into())) }
        });
        let assertion_keys = self.assertion_keys();
        let edge_url = self.edge_url();
        let master_key = self.optional("RDS_MASTER_KEY", SIXTY_FOUR_HEX, None, |text| master_key(text).map(Some));
        let signing_key = self.signing_key();
        let webhook_policy = self
            .optional("RDS_WEBHOOK_ALLOW", "10.1.0.0/16", Policy::default(), |text| blocks(text).map(Policy::allowing));
        let webhook_authorities = self.optional("RDS_WEBHOOK_CA", "/etc/rds/webhook-ca.pem", Vec::new(), authorities);
        let test_clock = self.optional("RDS_TEST_CLOCK", "1", false, switch);
        let first_party =
            self.optional("RDS_FIRST_PARTY_ORIGINS", "https://app.example", FirstParty::default(), |text| {
                FirstParty::parse(text).map_err(|bad| format!("has an entry that is not a web origin: {bad}"))
            });
        let trusted_proxies = self.optional("RDS_TRUSTED_PROXIES", "10.0.0.0/8", TrustedProxies::default(), |text| {
            TrustedProxies::parse(text)
                .map_err(|(entry, error)| format!("has an entry that is not an address block: {entry}: {error}"))
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
        let anonymous_stream = self.optional("RDS_STREAM_ANONYMOUS", "1", false, switch);
        let graph = self.optional("RDS_GRAPH", "1", false, switch);
        let graph_every_seconds = self
            .optional("RDS_GRAPH_EVERY_SECONDS", "600", 600, |text| whole(text, 0, 86_400).map(|number| number as u32));
        let lame_duck = self.optional("RDS_LAME_DUCK_SECONDS", "5", Duration::from_secs(5), |text| {
            whole(text, 0, 300).map(Duration::from_secs)
        });
        let traces = self.traces();
        let keep_days = self.keep_days();
        let chains = self.chains();
        Some(Config {
            database: database?,
            edge_addr: edge_addr?,
            edge_allow: edge_allow?,
            relay_addr: relay_addr?,
            admin_addr: admin_addr?,
            admin_token: admin_token?,
            assertion_keys: assertion_keys?,
            edge_url: edge_url?,
            master_key: master_key?,
            signing_key: signing_key?,
            webhook_policy: webhook_policy?,
            webhook_authorities: webhook_authorities?,
            test_clock: test_clock?,
            first_party: first_party?,
            trusted_proxies: trusted_proxies?,
            log: log?,
            read_deadline: read_deadline?,
            score_every_seconds: score_every_seconds?,
            anonymous_stream: anonymous_stream?,
            graph: graph?,
            graph_every_seconds: graph_every_seconds?,
            keep_days: keep_days?,
            chains: chains?,
            traces: traces?,
            lame_duck: lame_duck?,
        })
    }

    /// Reads where traces are sent, and the share that is.
    fn traces(&mut self) -> Option<Option<TraceConfig>> {
        let ratio = self.optional("RDS_TRACE_RATIO", "0.01", SampleRatio::ONE_PERCENT, traces::ratio);
        let to =
            self.optional("RDS_OTLP_ENDPOINT", "http://127.0.0.1:4318", None, |text| traces::endpoint(text).map(Some));
        let ratio = ratio?;
        Some(to?.map(|traces| TraceConfig { traces, ratio }))
    }

    /// How long histories are kept whole.
    fn keep_days(&mut self) -> Option<KeepDays> {
        let mut days = |variable: &'static str, min: u32| {
            self.optional(variable, "400", 0, |text| match whole(text, 0, KeepDays::MAX.into())? {
                days if days > 0 && days < u64::from(min) => {
                    Err(format!("must be 0, for ever, or at least {min} days"))
                }
                days => Ok(days as u32),
            })
        };
        let readings = days("RDS_KEEP_READINGS_DAYS", KeepDays::MIN_READINGS);
        let chain_readings = days("RDS_KEEP_CHAIN_READINGS_DAYS", KeepDays::MIN_OTHERS);
        let holders = days("RDS_KEEP_HOLDERS_DAYS", KeepDays::MIN_OTHERS);
        Some(KeepDays { readings: readings?, chain_readings: chain_readings?, holders: holders? })
    }

    /// Reads the file of providers that `RDS_CHAIN_PROVIDERS` names, with the keys in the file that `RDS_CHAIN_KEYS` names.
    pub(super) fn chains(&mut self) -> Option<Vec<Chain>> {
        let keys = self.optional("RDS_CHAIN_KEYS", CHAIN_KEYS, BTreeMap::new(), |path| {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("names a file that cannot be read: {error}"))?;
            // The parser's error would quote the text, which may be a key.
            serde_json::from_str(&text)
                .map_err(|_| "names a file that is not a JSON object from names to keys".to_owned())
        })?;
        self.optional("RDS_CHAIN_PROVIDERS", CHAIN_PROVIDERS, Vec::new(), |path| {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("names a file that cannot be read: {error}"))?;
            let providers = Providers::parse(&text, &keys).map_err(|faults| {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                format!("names a file with faults: {}", faults.join("; "))
            })?;
            Ok(providers.chains)
        })
    }

    pub(super) fn required_master_key(&mut self) -> Option<Secret> {
        self.required("RDS_MASTER_KEY", SIXTY_FOUR_HEX, master_key)
    }

    /// Reads the key from `RDS_SIGNING_KEY`, or from the file that `RDS_SIGNING_KEY_FILE` names. A file keeps the secret out of the
    /// environment, which other processes may read.
    pub(super) fn signing_key(&mut self) -> Option<Option<DecisionKey>> {
        let own = self.optional("RDS_SIGNING_KEY", SIXTY_FOUR_HEX, None, |text| signing_key(text).map(Some))?;
        let path = self.optional("RDS_SIGNING_KEY_FILE", SIGNING_KEY_FILE, None, |path| {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("names a file that cannot be read: {error}"))?;
            signing_key(&text).map(Some).map_err(|reason| format!("names a file whose content {reason}"))
        })?;
        match (own, path) {
            (Some(_), Some(_)) => self.note(
                "RDS_SIGNING_KEY_FILE",
                SIGNING_KEY_FILE,
                Err("must not be set together with RDS_SIGNING_KEY".into()),
            ),
            (own, path) => Some(own.or(path)),
        }
    }

    pub(super) fn assertion_keys(&mut self) -> Option<Vec<AssertionKey>> {
        self.required("RDS_EDGE_ASSERTION_KEYS", "k1:<64 hex characters>", |text| {
            AssertionKey::parse_list(text)
                .ok_or_else(|| "must be a comma-separated list of <id>:<64 hex characters>".into())
        })
    }

    pub(super) fn edge_url(&mut self) -> Option<Option<String>> {
        self.optional("RDS_EDGE_URL", "http://127.0.0.1:8787", None, |text| {
            let is_valid = text.parse().is_ok_and(|uri: Uri| {
                matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some() && uri.query().is_none()
            });
            if is_valid {
                Ok(Some(text.trim_end_matches('/').to_owned()))
            } else {
                Err("must be an http:// or https:// URL without a query".into())
            }
        })
    }

    pub(super) fn database(&mut self) -> Option<DatabaseConfig> {
        let url = self.required("DATABASE_URL", "postgres://rds@127.0.0.1:5432/rds", |text| {
            if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
                Err("must start with postgres://".into())
            } else if !store::is_address(text) {
                Err("is not a valid Postgres URL: percent-encode its parts and check the values of its options".into())
            } else {
                Ok(Secret(text.into()))
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

    /// The variable's text, trimmed; an empty variable counts as not set.
    fn text(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn note<T>(&mut self, variable: &'static str, example: &'static str, read: Result<T, String>) -> Option<T> {
        read.map_err(|reason| self.faults.push(Fault { variable, reason, example })).ok()
    }

    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, ConfigError> {
        match value {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => Err(ConfigError(self.faults)),
        }
    }
}

/// Parses address blocks, separated by commas.
fn blocks(text: &str) -> Result<Vec<Cidr>, String> {
    text.split(',').map(|block| Cidr::parse(block.trim()).map_err(|error| format!("{block}: {error}"))).collect()
}

fn signing_key(text: &str) -> Result<DecisionKey, String> {
    DecisionKey::parse(text)
        .ok_or_else(|| "must be 64 hex digits, with or without 0x, and a valid secp256k1 private key".into())
}

fn master_key(text: &str) -> Result<Secret, String> {
    let well_formed = |key: &str| key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.split(',').all(|key| well_formed(key.trim())) {
        Ok(Secret(text.into()))
    } else {
        Err("must be 64 hex digits, or several such keys separated by commas".into())
    }
}

/// The certificates of a PEM file.
fn authorities(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = std::fs::read(path).map_err(|error| format!("names a file that cannot be read: {error}"))?;
    match CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>() {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err("names a file that is not a PEM file with certificates".to_owned()),
    }
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err("must be 1, 0, true or false".into()),
    }
}

fn whole(text: &str, min: u64, max: u64) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| format!("must be a whole number from {min} to {max}"))
}
