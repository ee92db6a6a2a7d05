//! Answers to the questionnaire: the data sets' and the registry's own, one observation for each deployment.

use super::adapter::{Adapter, Known, Observed};
use rds_engine::ingest::registry_row::{AssetRow, ProtocolRow};
use rds_engine::ingest::{Observation, is_permitted};
use serde::Deserialize;
use serde_json::Value;

/// Where the files that the data sets cite can be opened.
const ORIGINS: [(&str, &str); 6] = [
    ("data/oracles.jsonl", "https://github.com/aave-dao/aave-address-book"),
    ("data/lending_reserves.jsonl", "https://github.com/aave-dao/aave-address-book"),
    ("data/yield_vaults.jsonl.gz", "https://github.com/beefyfinance/beefy-v2"),
    ("data/incidents.jsonl", "https://github.com/SunWeb3Sec/DeFiHackLabs"),
    ("data/assets.jsonl", "https://github.com/tradingstrategy-ai/web3-ethereum-defi"),
    ("data/vaults.jsonl.gz", "https://github.com/tradingstrategy-ai/web3-ethereum-defi"),
];

/// The address at which a source can be opened: a file of the data sets is replaced by the project that it was taken from.
pub(super) fn opened(url: &str) -> String {
    let origin = ORIGINS.iter().find(|(file, _)| url.starts_with(file));
    origin.map_or_else(|| url.to_owned(), |(_, address)| (*address).to_owned())
}

/// Declares a file of answers about assets.
macro_rules! asset_answers {
    ($($(#[$about:meta])* $name:ident: $file:literal from $source:literal $(is $text:expr)?;)+) => {$(
        $(#[$about])*
        pub struct $name;

        impl Adapter for $name {
            const FILE: &'static str = $file;
            const OPTIONAL: bool = true;
            $(const TEXT: Option<&'static str> = Some($text);)?
            type Row = AssetRow;

            fn observe(&self, row: AssetRow, known: &Known) -> Observed {
                asset_answers(row, $source, known)
            }
        }
    )+};
}

asset_answers! {
    /// Reads the data sets' answers about assets.
    AssetEvidence: "asset_evidence.jsonl" from "asset_evidence";
    /// Reads answers from sources whose licence is not known. They may be used for trial only.
    AssetEvidenceOnTrial: "asset_evidence_unlicensed.jsonl" from "asset_evidence_unlicensed";
    /// Reads the registry's own answers.
    OwnAssetAnswers: "evidence/asset_answers.jsonl" from "evidence" is include_str!("../../../evidence/asset_answers.jsonl");
}

fn asset_answers(row: AssetRow, source: &str, known: &Known) -> Observed {
    let row = AssetRow { source_url: opened(&row.source_url), ..row };
    let mut observed = Vec::new();
    for asset_id in known.deployments(&row.asset) {
        let Ok(answer) = row.observation(asset_id.to_owned(), source) else {
            return Observed::Skipped("the date cannot be read");
        };
        let mut observation = Observation::AssetAnswer(Box::new(answer));
        if !is_permitted(&mut observation) {
            return Observed::Skipped("the questionnaire does not permit the answer or its source");
        }
        observed.push(observation);
    }
    if observed.is_empty() { Observed::Skipped("no deployment of the asset is listed") } else { Observed::As(observed) }
}

/// An answer about a protocol. The file has inputs that the questionnaire does not have.
#[derive(Deserialize)]
pub struct Row {
    protocol: String,
    input: String,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

/// Reads the data sets' answers about protocols.
pub struct ProtocolEvidence;

impl Adapter for ProtocolEvidence {
    const FILE: &'static str = "protocol_evidence.jsonl";
    const OPTIONAL: bool = true;
    type Row = Row;

    fn observe(&self, row: Row, known: &Known) -> Observed {
        let Row { protocol, input, rest } = row;
        if input.starts_with("incident") {
            return Observed::Skipped("incidents are facts of their own, linked to vaults and protocols by an editor");
        }
        let fields =
            rest.into_iter().chain([("protocol".to_owned(), protocol.into()), ("input".to_owned(), input.into())]);
        match serde_json::from_value::<ProtocolRow>(Value::Object(fields.collect())) {
            Ok(row) => protocol_answer(row, "protocol_evidence", known),
            Err(_) => Observed::Skipped("the questionnaire does not have the input"),
        }
    }
}

/// Reads the registry's own answers about protocols.
pub struct OwnProtocolAnswers;

impl Adapter for OwnProtocolAnswers {
    const FILE: &'static str = "evidence/protocol_answers.jsonl";
    const OPTIONAL: bool = true;
    const TEXT: Option<&'static str> = Some(include_str!("../../../evidence/protocol_answers.jsonl"));
    type Row = ProtocolRow;

    fn observe(&self, row: ProtocolRow, known: &Known) -> Observed {
        protocol_answer(row, "evidence", known)
    }
}

fn protocol_answer(row: ProtocolRow, source: &str, known: &Known) -> Observed {
    if !known.protocols.contains(&row.protocol) && !known.has_vault(&row.protocol) {
        return Observed::Skipped("the protocol or vault is in no data set");
    }
    let row = ProtocolRow { source_url: opened(&row.source_url), ..row };
    let Ok(answer) = row.observation(source) else { return Observed::Skipped("the date cannot be read") };
    let mut observation = Observation::ProtocolAnswer(Box::new(answer));
    if !is_permitted(&mut observation) {
        return Observed::Skipped("the questionnaire does not permit the answer or its source");
    }
    Observed::As(vec![observation])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[test]
    fn a_file_of_the_data_sets_is_cited_at_the_project_it_was_taken_from() {
        assert_eq!(opened("data/incidents.jsonl"), "https://github.com/SunWeb3Sec/DeFiHackLabs");
        assert_eq!(opened("https://issuer.example/terms"), "https://issuer.example/terms");
    }

    #[test]
    fn every_answer_of_the_registry_is_permitted() {
        let asset = |row: AssetRow| {
            let answer = row.observation("a".to_owned(), "evidence").unwrap();
            is_permitted(&mut Observation::AssetAnswer(Box::new(answer)))
        };
        let protocol = |row: ProtocolRow| {
            is_permitted(&mut Observation::ProtocolAnswer(Box::new(row.observation("evidence").unwrap())))
        };
        for row in Folder::embedded::<AssetRow>(OwnAssetAnswers::FILE, OwnAssetAnswers::TEXT.unwrap()) {
            let (number, row) = row.unwrap();
            assert!(asset(row), "{number}");
        }
        for row in Folder::embedded::<ProtocolRow>(OwnProtocolAnswers::FILE, OwnProtocolAnswers::TEXT.unwrap()) {
            let (number, row) = row.unwrap();
            assert!(protocol(row), "{number}");
        }
    }
}
