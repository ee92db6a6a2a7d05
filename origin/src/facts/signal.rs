//! Risk signals.

use super::At;
use super::fact::observations;
use super::{Share, Usd, event_id};
use rds_shared::model::ids::{VaultId, VaultKey};
use rds_shared::model::signal::SignalSeverity;
use serde::{Deserialize, Serialize};

observations! {
    /// A signal. Which vaults it touches, and how much of them, the service works out where the source does not say.
    SignalReport in "signal" by [id] {
        /// Made out of the key; never read.
        #[serde(default, skip_deserializing)]
        id: i64,
        /// Slug.
        signal_key: String,
        /// One line.
        title: String,
        /// Where it is told.
        url: Option<String>,
        /// Its step of the ladder.
        severity: SignalSeverity,
        /// Why it stands there.
        severity_reason: Option<String>,
        /// How much it matters beside others of its step, from 0 to 1.
        significance: f64,
        /// What it is about, as a slug.
        category: String,
        /// The story.
        summary: Option<String>,
        /// Who it is about.
        #[serde(default)]
        entities: Vec<Entity>,
        /// The vaults it touches, by the source's own reckoning; absent leaves that to the service.
        given_vaults: Option<Vec<GivenVault>>,
        /// What of them is exposed together, likewise.
        given_exposure_usd: Option<Usd>,
        /// How many limits it breaks.
        #[serde(default)]
        breach_count: u32,
        /// The rules by which its impact was computed.
        methodology_version: Option<String>,
        /// Its primary source.
        source_url: Option<String>,
        /// Where it was reported.
        #[serde(default)]
        article_urls: Vec<String>,
        /// The snapshot that its source looked at.
        snapshot_id: Option<String>,
        /// What the entities are found by; made here, never read.
        #[serde(default, skip_deserializing)]
        entity_words: Vec<String>,
        /// The chains that the entities' own ids name by number; made here, never read.
        #[serde(default, skip_deserializing)]
        chain_ids: Vec<i64>,
        /// When it was published.
        published_at: At,
    }
}

/// Who or what a signal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// A slug. `vault`, `curator`, `protocol`, `asset`, `chain`, `market` and `oracle` lead to vaults.
    pub kind: String,
    /// Of a vault its id or key, of a market or oracle its contract as `{chain_id}:{address}`, of a chain its number or slug.
    pub id: String,
    /// For display.
    pub label: String,
}

/// A vault that the source says is touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenVault {
    /// The vault.
    pub vault_id: String,
    /// What of it is exposed; null where the source does not say.
    pub exposure_usd: Option<Usd>,
    /// That part of its value; all of it when absent.
    pub share: Option<Share>,
}

impl SignalReport {
    /// Fills in what follows from the rest.
    pub fn complete(&mut self) {
        self.id = event_id(&format!("signal|{}", self.signal_key));
        let words = |entity: &Entity| {
            let id = entity.id.to_lowercase();
            [format!("{}:{id}", entity.kind), id]
        };
        self.entity_words = self.entities.iter().flat_map(words).collect();
        self.entity_words.sort_unstable();
        self.entity_words.dedup();
        self.chain_ids = self.entities.iter().filter_map(Entity::chain).collect();
        self.chain_ids.sort_unstable();
        self.chain_ids.dedup();
    }
}

impl Entity {
    /// Addresses in their one spelling, so that an entity is found however it was written.
    pub fn fold(&mut self) {
        if let Some(key) = VaultKey::parse(&self.id) {
            self.id = key.to_string();
        } else if self.kind == "vault"
            && let Some(id) = VaultId::parse(&self.id)
        {
            self.id = id.to_string();
        }
    }

    /// The chain that the entity itself is or stands on.
    fn chain(&self) -> Option<i64> {
        match self.kind.as_str() {
            "chain" => self.id.parse().ok(),
            _ => match VaultKey::parse(&self.id) {
                Some(key) => i64::try_from(key.chain_id.0).ok(),
                // {protocol}-{chain}-{address}, or what is written as if it were a key
                None => match VaultId::parse(&self.id) {
                    Some(id) => id.as_str().rsplit('-').nth(1)?.parse().ok(),
                    None => self.id.split_once(':')?.0.parse().ok(),
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_stands_on_the_chain_that_its_id_names_however_that_is_spelled() {
        let address = "0x000000000000000000000000000000000000000a";
        for (kind, id, chain) in [
            ("vault", format!("1:{address}"), Some(1)),
            ("vault", format!("01:{address}"), Some(1)),
            ("market", format!("+900:{address}"), Some(900)),
            ("asset", "8453:native".to_owned(), Some(8453)),
            ("vault", format!("harbor-8453-{address}"), Some(8453)),
            ("chain", "5".to_owned(), Some(5)),
            ("protocol", "harbor".to_owned(), None),
        ] {
            let entity = Entity { kind: kind.to_owned(), id: id.clone(), label: String::new() };
            assert_eq!(entity.chain(), chain, "{id}");
        }
    }
}
