//! Risk signals.

use super::At;
use super::fact::observations;
use super::{Share, Usd, event_id};
use rds_shared::model::ids::{VaultId, VaultKey};
use rds_shared::model::signal::{SignalEntity, SignalSeverity};
use serde::{Deserialize, Serialize};

observations! {
    /// A risk signal. The service determines the affected vaults and their exposure if the source does not state them.
    SignalReport in "signal" by [id] {
        /// Derived from the key; not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        id: i64,
        /// Slug that identifies the signal.
        signal_key: String,
        /// Title in one sentence.
        title: String,
        /// Link to the signal.
        url: Option<String>,
        /// Severity, on the ladder from `Info` to `PolicyBreach`.
        severity: SignalSeverity,
        /// Reason for the severity.
        severity_reason: Option<String>,
        /// Weight among signals of the same severity, from 0 to 1.
        significance: f64,
        /// Slug of the signal's subject matter, for example `liquidity`.
        category: String,
        /// Summary as text.
        summary: Option<String>,
        /// Who or what the signal is about.
        #[serde(default)]
        entities: Vec<Entity>,
        /// The affected vaults as the source states them; absent if the service is to determine them.
        given_vaults: Option<Vec<StatedVault>>,
        /// Total exposure of these vaults as the source states it; absent if the service is to compute it.
        given_exposure_usd: Option<Usd>,
        /// Number of risk limits that are exceeded.
        #[serde(default)]
        breach_count: u32,
        /// Version of the methodology behind the source's impact figures.
        methodology_version: Option<String>,
        /// Link to the primary source.
        source_url: Option<String>,
        /// Links to articles.
        #[serde(default)]
        article_urls: Vec<String>,
        /// Exposure graph snapshot that the source used.
        snapshot_id: Option<String>,
        /// Search keys of the entities; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        entity_words: Vec<String>,
        /// Chains named by number in the entities' ids; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        chain_ids: Vec<i64>,
        /// When the signal was published.
        published_at: At,
    }
}

/// Who or what a signal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// Slug. The kinds `vault`, `curator`, `protocol`, `asset`, `chain`, `market` and `oracle` lead to vaults.
    pub kind: String,
    /// For a vault its id or key, for a market or oracle `{chain_id}:{address}`, for a chain its number or slug.
    pub id: String,
    /// Display name.
    pub label: String,
}

impl From<Entity> for SignalEntity {
    fn from(Entity { kind, id, label }: Entity) -> Self {
        SignalEntity { kind, id, label }
    }
}

/// A vault that the source states as affected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatedVault {
    /// Id of the vault; a known vault.
    pub vault_id: String,
    /// Exposed value; null if the source does not state it.
    pub exposure_usd: Option<Usd>,
    /// Exposed part of the vault's value; absent means all of it.
    pub share: Option<Share>,
}

impl SignalReport {
    /// Computes `id`, `entity_words` and `chain_ids`.
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
    /// Normalises addresses in the id, so that an entity is found in any spelling.
    pub fn fold(&mut self) {
        if let Some(key) = VaultKey::parse(&self.id) {
            self.id = key.to_string();
        } else if self.kind == "vault"
            && let Some(id) = VaultId::parse(&self.id)
        {
            self.id = id.to_string();
        }
    }

    /// The chain that the entity is, or is located on.
    fn chain(&self) -> Option<i64> {
        match self.kind.as_str() {
            "chain" => self.id.parse().ok(),
            _ => match VaultKey::parse(&self.id) {
                Some(key) => i64::try_from(key.chain_id.0).ok(),
                // `{protocol}-{chain}-{address}`, or any other id that begins with a number and a colon.
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
    fn an_entitys_chain_is_read_from_any_spelling_of_its_id() {
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
