//! bridges.jsonl: routes of one bridge system, mapped to the tokens that exist because the bridge minted them.
//!
//! A token that a route locks does not depend on the route, because its holders own the original token. The tokens that the route mints
//! on other chains depend on the route.

use super::adapter::{Adapter, Known, Observed};
use super::signer_sets::CERTAIN;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Bridge, BridgeEnd, Mapping, Share, Subject};
use rds_shared::model::mapping::{MappingType, SubjectType};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The file states only the year of its release, 2026; this is the earliest possible date.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_767_225_600);
/// Confidence for a token with several minters, in parts per million: whether this bridge minted it is unknown.
const ONE_OF_SEVERAL: Share = Share(500_000);

pub struct Bridges;

/// A bridge route with its end on each chain.
#[derive(Deserialize)]
pub struct Row {
    route_id: String,
    bridge: String,
    symbol: String,
    tokens: Vec<BridgeEnd>,
    source: String,
}

/// How an end of a route mints a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Minted<'a> {
    /// The end is the token's only minter.
    Alone(&'a str),
    /// The end is one of several minters.
    AmongOthers(&'a str),
}

/// The token that an end mints, according to `standard`, the registry's name of the contract type; `None` if the end locks its token.
fn minted(end: &BridgeEnd) -> Option<Minted<'_>> {
    match end.standard.as_deref()? {
        "EvmHypSynthetic" | "EvmHypSyntheticRebase" => Some(Minted::Alone(&end.address)),
        "SealevelHypSynthetic" => end.collateral.as_deref().map(Minted::Alone),
        "EvmHypXERC20" | "EvmHypVSXERC20" | "EvmHypCollateralFiat" => {
            end.collateral.as_deref().map(Minted::AmongOthers)
        }
        _ => None,
    }
}

impl Adapter for Bridges {
    const FILE: &'static str = "bridges.jsonl";
    type Row = Row;

    fn observe(&self, row: Row, known: &Known) -> Observed {
        let mut subjects: BTreeMap<(SubjectType, String), Subject> = BTreeMap::new();
        for end in &row.tokens {
            let (Some(chain_id), Some(minted)) = (end.chain_id, minted(end)) else { continue };
            let (token, only) = match minted {
                Minted::Alone(token) => (token, true),
                Minted::AmongOthers(token) => (token, false),
            };
            let contract = (chain_id, token.to_owned());
            let assets = known.tokens.get(&contract).into_iter().flatten().map(|id| (SubjectType::Asset, id));
            let vaults = known.deposits.get(&contract).into_iter().flatten().map(|id| (SubjectType::Vault, id));
            for (subject_type, id) in assets.chain(vaults) {
                let which = if only { "mints" } else { "may mint" };
                subjects.entry((subject_type, id.clone())).or_insert_with(|| Subject {
                    subject_type,
                    id: id.clone(),
                    verified: (!only).then_some(false),
                    confidence: (!only).then_some(ONE_OF_SEVERAL),
                    reason: Some(format!("the route {which} the token {token} on {}", end.chain)),
                });
            }
        }
        Observed::As(vec![Observation::Mapping(Box::new(Mapping {
            kind: Kind,
            observed_at: At(AS_OF),
            source: row.source,
            mapping_type: MappingType::Bridge,
            mapping_id: format!("{}/{}", row.bridge, row.route_id),
            name: Some(row.route_id),
            is_active: true,
            verified: true,
            confidence: CERTAIN,
            signers: None,
            bridge: Some(Bridge { system: row.bridge, symbol: Some(row.symbol), ends: row.tokens }),
            operators: Vec::new(),
            applies_to: subjects.into_values().collect(),
        }))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn end(standard: &str, collateral: Option<&str>) -> BridgeEnd {
        serde_json::from_value(json!({
            "chain": "ethereum", "chain_id": 1, "protocol": "evm", "address": "0xend", "symbol": "X", "decimals": 18, "standard": standard,
            "collateral": collateral,
        }))
        .unwrap()
    }

    #[test]
    fn only_minted_tokens_depend_on_a_route() {
        assert_eq!(minted(&end("EvmHypCollateral", Some("0xreal"))), None);
        assert_eq!(minted(&end("EvmHypXERC20Lockbox", Some("0xreal"))), None);
        assert_eq!(minted(&end("EvmHypNative", None)), None);
        assert_eq!(minted(&end("EvmHypSynthetic", None)), Some(Minted::Alone("0xend")));
        assert_eq!(minted(&end("SealevelHypSynthetic", Some("mint"))), Some(Minted::Alone("mint")));
        assert_eq!(minted(&end("EvmHypXERC20", Some("0xtoken"))), Some(Minted::AmongOthers("0xtoken")));
    }
}
