//! Simulated mappings, verified and provisional: bridges, signer sets, vendors of feeds and a cluster of operators. Also the assets of the
//! simulated hub.

use super::actor::Actor;
use super::feeds;
use super::markets;
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::random::Random;
use super::source::SOURCE;
use super::tokens::Token;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Bridge, BridgeEnd, HubAsset, Mapping, Permission, Share, Signers, Subject, contract};
use rds_shared::model::mapping::{MappingType, SignerForm, SubjectType};

const CERTAIN: Share = Share(1_000_000);
/// Above `Trust::MIN_CERTAIN_CONFIDENCE`, so a verified mapping with this confidence is certain.
const LIKELY: Share = Share(850_000);
const DOUBTFUL: Share = Share(400_000);

/// All mappings, observed in the first hour.
pub fn registry(moment: Moment, actors: &[Actor]) -> Vec<Observation> {
    let vault = |name: &str| {
        actors.iter().find(|actor| actor.name() == name).map(|actor| (SubjectType::Vault, actor.id().to_owned()))
    };
    let hubs = markets::hubs().into_iter().flat_map(|hub| hub_assets(moment, &hub));
    let mut news: Vec<Observation> = hubs.map(|asset| Observation::HubAsset(Box::new(asset))).collect();
    let mut map = |mapping: Mapping| news.push(Observation::Mapping(Box::new(mapping)));
    map(Mapping {
        bridge: Some(bridge()),
        ..of(moment, MappingType::Bridge, "ferry/dbtc", (true, CERTAIN), bridged(&vault))
    });
    map(of(
        moment,
        MappingType::Bridge,
        "ferry/quill",
        (false, DOUBTFUL),
        vec![(SubjectType::Asset, "quill".to_owned())],
    ));
    let markets: Vec<(SubjectType, String)> =
        markets::contracts().map(|contract| (SubjectType::Market, contract)).collect();
    let council = signers("council", SignerForm::Multisig, Some((5, 8)), None);
    let keeper = signers("keeper", SignerForm::Multisig, Some((1, 2)), None);
    let delay = signers("delay", SignerForm::Timelock, None, Some(172_800));
    let everywhere = of(moment, MappingType::SignerSet, &id_of(&council), (true, CERTAIN), markets.clone());
    map(Mapping { name: Some("Devnet Council".to_owned()), signers: Some(council), ..everywhere });
    let waits = of(moment, MappingType::SignerSet, &id_of(&delay), (true, LIKELY), markets.clone());
    map(Mapping { name: Some("Devnet Timelock".to_owned()), signers: Some(delay), ..waits });
    let guessed =
        of(moment, MappingType::SignerSet, &id_of(&keeper), (false, LIKELY), markets.into_iter().take(1).collect());
    map(Mapping { signers: Some(keeper), ..guessed });
    for (vendor, contracts) in feeds::vendors() {
        let feeds = contracts.into_iter().map(|contract| (SubjectType::Feed, contract)).collect();
        map(of(moment, MappingType::OracleVendor, vendor, (true, CERTAIN), feeds));
    }
    let run = ["Quillfish Penny Pool", "Quillfish Ether Pool"].into_iter().filter_map(vault).collect();
    let operators = vec!["Northgate Nodes".to_owned(), "Southgate Nodes".to_owned()];
    map(Mapping { operators, ..of(moment, MappingType::OperatorCluster, "gate-nodes", (true, LIKELY), run) });
    news
}

fn bridged(vault: &impl Fn(&str) -> Option<(SubjectType, String)>) -> Vec<(SubjectType, String)> {
    let mut subjects = vec![(SubjectType::Asset, "dbtc".to_owned())];
    subjects.extend(vault("Quillfish Ether Pool"));
    subjects
}

fn of(
    moment: Moment,
    mapping_type: MappingType,
    id: &str,
    (verified, confidence): (bool, Share),
    subjects: Vec<(SubjectType, String)>,
) -> Mapping {
    let subject = |(subject_type, id)| Subject { subject_type, id, verified: None, confidence: None, reason: None };
    Mapping {
        kind: Kind,
        observed_at: moment.at(),
        source: SOURCE.to_owned(),
        mapping_type,
        mapping_id: id.to_owned(),
        name: None,
        is_active: true,
        verified,
        confidence,
        signers: None,
        bridge: None,
        operators: Vec::new(),
        applies_to: subjects.into_iter().map(subject).collect(),
    }
}

fn id_of(signers: &Signers) -> String {
    contract(signers.chain_id, &signers.address)
}

fn signers(name: &str, form: SignerForm, keys: Option<(u32, u64)>, delay_seconds: Option<i64>) -> Signers {
    let address = |number: u64| Random::of(0, name, number).address();
    let permission = Permission {
        modifier: "onlyOwner".to_owned(),
        functions: vec!["setInterestRateStrategy".to_owned()],
        holders: vec![address(0)],
    };
    Signers {
        form,
        chain_id: CHAIN_ID,
        address: address(0),
        threshold: keys.map(|(threshold, _)| threshold),
        owners: keys.map(|(_, owners)| (1..=owners).map(address).collect()),
        delay_seconds,
        proxy_admin: None,
        roles: vec![format!("devnet/{name}/onlyOwner")],
        permissions: vec![permission],
    }
}

fn bridge() -> Bridge {
    let end = |chain: &str, chain_id, token: Option<&Token>, standard: &str| BridgeEnd {
        chain: chain.to_owned(),
        chain_id,
        protocol: Some("evm".to_owned()),
        address: Random::of(0, "ferry", u64::from(token.is_some())).address(),
        symbol: Some("dBTC".to_owned()),
        decimals: Some(8),
        standard: Some(standard.to_owned()),
        collateral: token.map(Token::address),
    };
    let ends =
        vec![end("farnet", None, None, "locks"), end("devnet", Some(CHAIN_ID), Some(Token::named("dbtc")), "mints")];
    Bridge { system: "ferry".to_owned(), symbol: Some("dBTC".to_owned()), ends }
}

/// The assets of a hub; only the first has a wrapper.
fn hub_assets(moment: Moment, hub: &markets::Hub) -> Vec<HubAsset> {
    let asset = |(place, id): (usize, &&str)| HubAsset {
        kind: Kind,
        observed_at: moment.at(),
        source: SOURCE.to_owned(),
        hub: String::new(),
        asset_address: Token::named(id).address(),
        protocol_id: hub.platform.to_owned(),
        protocol_version: hub.version.to_owned(),
        chain_id: CHAIN_ID,
        hub_address: hub.address.clone(),
        hub_name: "Tidewater".to_owned(),
        asset_symbol: Token::named(id).symbol.to_owned(),
        interest_rate_strategy: Some(Random::of(0, "rates", 0).address()),
        wrapper_address: (place == 0).then(|| Random::of(0, "wrapper", 0).address()),
        is_active: true,
    };
    ["sdeth", "quill", "dbtc", "dgld", "wisp", "flrn"].iter().enumerate().map(asset).collect()
}
