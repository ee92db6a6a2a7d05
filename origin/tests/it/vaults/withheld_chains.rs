//! A withheld chain does not appear in any response. The tests call every public GET route with ids of existing rows and search the
//! responses for the chain.

use crate::assets::routes::keyed;
use crate::events::feed::event;
use crate::graph::world;
use crate::support::db::TestDb;
use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::{NOW, TestApp, holder};
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_engine::research;
use rds_shared::access::{Plan, Principal};
use rds_shared::route::{Method, ROUTES, Route};
use rds_shared::wire::{Timestamp, percent};
use rds_simulate::{self as simulate, Options};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SEEN: &str = "2026-11-20T23:55:00Z";

/// A chain that is served or withheld, and the names that would reveal it.
struct Chain {
    id: u64,
    slug: &'static str,
    name: &'static str,
}

impl Chain {
    fn served(&self, is_served: bool, observed_at: &str) -> String {
        let fields = json!({"chain_id": self.id, "slug": self.slug, "name": self.name, "namespace": "evm", "is_settlement": true,
            "is_served": is_served});
        line("chain", observed_at, fields)
    }

    /// Whether a text is a name of the chain, or contains an id that includes the chain's id or slug.
    fn is_named_by(&self, text: &str) -> bool {
        let (id, slug) = (self.id, self.slug);
        let ids = [format!("-{id}-"), format!("{id}:"), format!("-{slug}-")];
        [slug, self.name, &id.to_string()].contains(&text) || ids.iter().any(|part| text.contains(part.as_str()))
    }

    /// The places where a response names the chain. The source of a row does not count.
    fn traces(&self, at: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Number(number) if number.as_u64() == Some(self.id) => found.push(format!("{at} {number}")),
            Value::String(text) if !at.ends_with(".source") && self.is_named_by(text) => {
                found.push(format!("{at} {text}"))
            }
            Value::Array(items) => items.iter().for_each(|item| self.traces(at, item, found)),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| self.traces(&format!("{at}.{name}"), field, found))
            }
            _ => {}
        }
    }

    /// The places where the responses to `targets` name the chain. Index routes are called with an index token, all other routes
    /// anonymously and with a key.
    async fn find_traces(&self, test: &TestApp, targets: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        for target in targets {
            let is_index = target.starts_with("/v1/indices") || target.starts_with("/v1/rates");
            let token = Principal::IndexToken { id: 1 };
            for caller in if is_index { vec![token] } else { vec![Principal::Anonymous, holder(Plan::Decisioning)] } {
                let reply = test.get_as(&caller, target).await;
                let refused = [StatusCode::NOT_FOUND, StatusCode::UNAUTHORIZED].contains(&reply.status);
                assert!(reply.status == StatusCode::OK || refused, "{target}: {}", reply.text());
                self.traces(target, &reply.json(), &mut found);
            }
        }
        found
    }
}

/// The targets whose responses name the chain.
fn naming(traces: &[String]) -> BTreeSet<String> {
    traces.iter().filter_map(|trace| Some(trace.split_once([' ', '?', '.'])?.0.to_owned())).collect()
}

async fn texts(test: &TestApp, sql: &str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(&test.facts.db.pool).await.unwrap()
}

/// Targets of every public GET route, filled in with ids of existing rows.
async fn every_read(test: &TestApp) -> Vec<String> {
    let mut targets = BTreeSet::new();
    // Not tested here: subscriptions contain nothing about a chain, the documentation and its examples contain no facts, and streams,
    // which never end, have tests of their own.
    let left_out = ["/webhooks", "/v1/docs", "/v1/openapi.json"];
    let is_walked = |route: &&Route| !route.streams() && !left_out.iter().any(|part| route.path.contains(part));
    for route in ROUTES.iter().filter(|route| route.method == Method::Get).filter(is_walked) {
        // The ids of existing rows for each path, limited so that the test stays short.
        let names = match route.path {
            path if !path.contains('{') => "",
            "/v1/vaults/{id}" => "SELECT id FROM vault ORDER BY 1 LIMIT 30",
            path if path.starts_with("/v1/vault/{network}/{address}") => {
                "SELECT c.slug || '/' || v.address FROM vault v JOIN chain c USING (chain_id) JOIN protocol p ON p.id = v.protocol_id \
                 WHERE v.id IN (SELECT min(id) FROM vault GROUP BY chain_id, protocol_id) ORDER BY 1 LIMIT 30"
            }
            "/v1/protocols/{id}" => "SELECT id FROM protocol ORDER BY 1",
            path if path.starts_with("/v1/curators/{id}") => "SELECT id FROM curator ORDER BY 1",
            path if path.starts_with("/v1/markets/{id}") => "SELECT id FROM market_key ORDER BY 1",
            "/v1/events/{id}" => "SELECT id::text FROM event WHERE state = 'published' ORDER BY 1 LIMIT 50",
            "/v1/events/group/{groupKey}" => {
                "SELECT DISTINCT group_key FROM event WHERE group_key IS NOT NULL ORDER BY 1"
            }
            "/v1/oracle/{chain}/{address}" => {
                "SELECT c.slug || '/' || f.address FROM oracle_feed f JOIN chain c USING (chain_id) ORDER BY 1"
            }
            "/v1/assets/{symbol}/history" => {
                "SELECT DISTINCT asset_symbol FROM vault WHERE asset_symbol IS NOT NULL ORDER BY 1"
            }
            "/v1/assets/{chain_id}/{address}" => {
                "SELECT chain_id || '/' || address FROM asset WHERE address IS NOT NULL ORDER BY 1"
            }
            "/v1/portfolio/{address}" => "SELECT DISTINCT holder FROM vault_position ORDER BY 1 LIMIT 30",
            "/v1/rwa/{asset_id}" => "SELECT number::text FROM asset ORDER BY number",
            "/v1/signals/{id}" => "SELECT id::text FROM signal ORDER BY 1",
            "/v1/graph/snapshot/{id}" => "SELECT snapshot_id FROM graph_snapshot ORDER BY 1",
            path if path.starts_with("/v1/graph/decision/{id}") => "SELECT decision_id FROM decision ORDER BY 1",
            "/v1/rates/{symbol}" => {
                "SELECT DISTINCT upper(asset_symbol) FROM vault WHERE asset_symbol IS NOT NULL ORDER BY 1"
            }
            path if path.starts_with("/v1/indices/{id}") => "SELECT id FROM basket ORDER BY 1",
            "/v1/baskets/{id}/version/{versionId}" => {
                "SELECT basket_id || '/version/' || version_id FROM basket_version ORDER BY 1"
            }
            path if path.starts_with("/v1/baskets/{id}") => "SELECT id FROM basket ORDER BY 1",
            path => panic!("no query for the names of {path}"),
        };
        let (start, rest) = match route.path.split_once('{') {
            None => (route.path, ""),
            Some((start, _)) => (start, route.path.rsplit_once('}').unwrap().1),
        };
        let found = if names.is_empty() { vec![String::new()] } else { texts(test, names).await };
        let keys = "SELECT string_agg(chain_id || ':' || address, ',' ORDER BY id) FROM (SELECT * FROM vault ORDER BY id LIMIT 50) AS v";
        let query = if route.query.iter().any(|param| param.name == "vaults") {
            &format!("?vaults={}", texts(test, keys).await[0])
        } else if route.query.iter().any(|param| param.name == "since") && route.path == "/v1/vaults/changes" {
            "?since=2026-11-01T00:00:00Z&limit=500"
        } else if route.query.iter().any(|param| param.name == "limit") {
            "?limit=100"
        } else {
            ""
        };
        targets.extend(found.iter().map(|name| {
            let mut encoded = String::new();
            // The separator between two parameters is not part of a name.
            let between: &[u8] = if route.path.matches('{').count() > 1 { b"/" } else { b"" };
            percent::encode_into(name, between, &mut encoded);
            format!("{start}{encoded}{rest}{query}")
        }));
    }
    // The test's key is not in the database, so `/v1/me` finds no record of it.
    targets.remove("/v1/me");
    targets.into_iter().collect()
}

#[tokio::test]
async fn nothing_of_a_withheld_chain_is_served_on_any_route() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, Options { seed: 1, vaults: 45, hours: 4 }, None, &mut |_: &str| ()).await.unwrap();
    research::run(&facts.db, &clock).await.unwrap();
    let test = TestApp::over(facts, world::offered()).await;
    world::build(&test).await;
    let chain = Chain { id: 31337, slug: "devnet", name: "Devnet" };
    let targets = every_read(&test).await;
    let before = naming(&chain.find_traces(&test, &targets).await);
    assert!(before.len() > 60, "too few responses name the chain while it is served: {before:?}");

    test.ingest(&chain.served(false, "2026-11-21T00:00:00Z")).await;
    world::build(&test).await;
    assert_eq!(chain.find_traces(&test, &targets).await, Vec::<String>::new());
    for empty in
        ["/v1/vaults", "/v1/assets", "/v1/assets/enriched", "/v1/rwa", "/v1/oracle", "/v1/markets", "/v1/chains"]
    {
        assert_eq!(test.json(empty).await["data"], json!([]), "{empty}");
    }
    for path in ["/v1/assets/enriched/facets", "/v1/rwa/facets"] {
        let counted = test.json(path).await.to_string();
        assert!(!counted.contains("\"count\":1"), "{path} counts nothing: {counted}");
    }
    let reviewers = test.json("/v1/reviewers").await["data"].clone();
    assert!(reviewers.as_array().unwrap().iter().all(|reviewer| reviewer["attestation_count"] == 0));
    let coverage = test.json("/v1/rwa/coverage").await["data"].clone();
    assert_eq!((&coverage["universe"]["deployments"], &coverage["discovery"]["open"]), (&json!(0), &json!(0)));
    assert_eq!(test.json("/v1/stats").await["data"]["vault_count"], 0);
    // The time of the chain's last reading would reveal the chain, too.
    assert_eq!(test.json("/v1/health").await["lastSync"], Value::Null);

    let history = keyed(&test, "/v1/rwa/stats/history").await.json();
    let days = history["data"].as_array().unwrap();
    assert_eq!(
        (&days.last().unwrap()["included_products"], &days.last().unwrap()["value_usd"]),
        (&json!(0), &Value::Null)
    );
    let ids = json!({"ids": texts(&test, "SELECT id FROM vault LIMIT 100").await}).to_string();
    assert_eq!(test.post("/v1/vaults/batch", &ids).await.json()["data"], json!([]));

    test.ingest(&chain.served(true, "2026-11-21T00:00:01Z")).await;
    world::build(&test).await;
    let again = naming(&chain.find_traces(&test, &targets).await);
    assert!(before.is_subset(&again), "not shown again: {:?}", before.difference(&again));
}

/// Vaults of one chain hold assets and shares of another, and a market is administered from another chain.
#[tokio::test]
async fn holdings_on_a_withheld_chain_keep_their_share_and_lose_their_name() {
    let test = TestApp::with_market().await;
    let chain = Chain { id: 8453, slug: "base", name: "Base" };
    let parts = json!([{"vault_id": VAULTS[3].id(), "share": 0.5}, {"asset_id": "pebble", "share": 0.3}, {"asset_id": "dollar", "share": 0.2}]);
    let asset = |id: &str, changed: Value| {
        let mut fields = json!({"id": id, "chain_id": 1, "address": address(0xa0), "symbol": "PBL", "name": "Pebble"});
        fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        line("asset", SEEN, fields)
    };
    let market = json!({"protocol_id": "harbor", "protocol_version": "v4", "chain_id": 1, "address": address(0xc0), "name": "Prime",
        "shape": "spoke", "discovered_by": "onchain_rpc"});
    let signers = json!({"form": "multisig", "chain_id": 8453, "address": address(0x51), "threshold": 1, "owners": [address(1)], "roles": []});
    let council = json!({"mapping_type": "signer_set", "mapping_id": "council", "verified": true, "confidence": 1, "signers": signers,
        "applies_to": [{"type": "market", "id": format!("1:{}", address(0xc0))}]});
    let lender = json!({"id": "harbor", "name": "harbor", "dependencies": [], "audits": 1, "strategy": "curated_lending", "breakdown": "markets"});
    let lines = [
        line("protocol", SEEN, lender),
        asset("pebble", json!({"chain_id": 8453})),
        asset(
            "wrapped",
            json!({"address": address(0xa1), "symbol": "wPBL", "name": "Wrapped", "underlying": "pebble", "dependency_chain": ["pebble"]}),
        ),
        line("exposure", SEEN, json!({"vault_id": VAULTS[0].id(), "status": "observed", "parts": parts})),
        line("market", SEEN, market),
        line("mapping", SEEN, council),
        event(
            "halt",
            1,
            json!({"vault_ids": [VAULTS[0].id()], "chain_id": 8453, "severity": "Critical", "title": "The chain halted"}),
        ),
    ];
    test.ingest(&lines.concat()).await;
    let targets = every_read(&test).await;
    assert!(chain.find_traces(&test, &targets).await.len() > 20);
    let told =
        [format!("/v1/vault/ethereum/{}/events", VAULTS[0].address()), "/v1/vaults/with-critical-incidents".to_owned()];
    for target in &told {
        assert!(test.get(target).await.text().contains("The chain halted"), "{target}");
    }

    test.ingest(&chain.served(false, "2026-11-20T23:56:00Z")).await;
    assert_eq!(chain.find_traces(&test, &targets).await, Vec::<String>::new());
    for target in &told {
        assert!(!test.get(target).await.text().contains("The chain halted"), "{target}");
    }
    let target = format!("/v1/vault/ethereum/{}/markets", VAULTS[0].address());
    let allocation = test.get_as(&holder(Plan::Data), &target).await.json()["data"].clone();
    let markets: Vec<(&Value, &Value)> = allocation["markets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["share"], &it["collateral"]["symbol"]))
        .collect();
    assert_eq!(markets, [(&json!(0.5), &Value::Null), (&json!(0.3), &Value::Null), (&json!(0.2), &json!("USDX"))]);
    let page = test.json(&format!("/v1/vaults/{}", VAULTS[0].id())).await["data"]["vault"]["score_provenance"].clone();
    let exposures: Vec<&Value> =
        page["inputs"]["asset"]["exposures"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(exposures, [&json!("withheld-2"), &json!("withheld-1"), &json!("dollar")]);
    let wrapped = test.json(&format!("/v1/assets/ethereum/{}", address(0xa1))).await["data"].clone();
    assert_eq!((&wrapped["underlying_asset"], &wrapped["dependency_chain"]), (&Value::Null, &json!([])));
    assert_eq!(test.json("/v1/markets/harbor-v4-ethereum-prime").await["data"]["signer_sets"], json!([]));
}
