//! Reads of baskets: the version in force, the version at an instant, the histories, and a retired version.

use crate::baskets::world::{BASKET, ELSEWHERE, MEMBERS, World, definition};
use crate::http::tags::{newest, raised};
use crate::support::market::line;
use crate::support::testapp::{TestApp, holder, signed};
use axum::http::HeaderValue;
use rds_engine::baskets::candidates;
use rds_engine::baskets::support::{SupportChange, Verb};
use rds_shared::access::Plan;
use rds_shared::model::basket::ConstituentType;
use rds_shared::route::Tag;
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The content hash of a served version, computed without the service's code.
fn recomputed(version: &Value) -> String {
    let mut constituents = version["constituents"].as_array().unwrap().clone();
    constituents.sort_by_key(|it| it["id"].as_str().unwrap().to_owned());
    let constituents: Vec<String> = constituents
        .iter()
        .map(|it| {
            format!(
                r#"{{"id":{},"issuer":{},"score_mp":{},"weight_ppm":{}}}"#,
                it["id"], it["issuer"], it["score_mp"], it["weight_ppm"]
            )
        })
        .collect();
    let text = format!(
        r#"{{"basket_id":{},"constituents":[{}],"effective_from":{},"methodology_version":{},"prior_version_id":{}}}"#,
        version["id"],
        constituents.join(","),
        version["effective_from"],
        version["methodology_version"],
        version["prior_version_id"]
    );
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn fields(row: &Value) -> Vec<&str> {
    row.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_basket_shows_the_version_in_force_under_its_content_hash() {
    let world = World::new().await;
    assert_eq!(world.test.json("/v1/baskets").await["data"], json!([]), "without a version nothing is published");
    assert_eq!(world.get("").await.status, 404);
    world.refresh().await;
    let list = world.test.json("/v1/baskets").await["data"].clone();
    let listed =
        ["constituent_type", "content_hash", "effective_from", "id", "last_rebalanced_at", "name", "version_id"];
    assert_eq!(fields(&list[0]), listed);
    assert_eq!((list.as_array().unwrap().len(), &list[0]["version_id"]), (1, &json!("dollars-v1")));

    let reply = world.get("").await;
    let version = reply.json()["data"].clone();
    for name in listed {
        assert_eq!(version[name], list[0][name], "{name}");
    }
    assert_eq!(version["effective_from"], "2026-11-21T00:00:00.000000Z");
    assert_eq!((&version["trigger_reason"], &version["prior_version_id"]), (&json!("inception"), &Value::Null));
    assert_eq!((&version["support_status"], &version["retired_at"]), (&json!("current"), &Value::Null));
    assert_eq!(version["methodology"]["caps"], json!({"single_name_pct": 40, "issuer_pct": 60, "floor_pct": 2}));
    assert_eq!(version["methodology"]["weighting_rule"]["pivot"], 5);
    assert_eq!(version["methodology"]["eligibility_rule"]["tier"], json!(["Core", "Prime"]));
    assert_eq!(version["methodology"]["doc_url"], "https://rules.example/m1");
    let constituents = version["constituents"].as_array().unwrap();
    assert_eq!(constituents.len(), MEMBERS.len());
    assert_eq!(constituents.iter().map(|it| it["weight_ppm"].as_i64().unwrap()).sum::<i64>(), 1_000_000);
    // The score of amber is 4.0 points above the pivot of 5, and all five scores together are 16.0 above it.
    assert_eq!((&constituents[0]["id"], &constituents[0]["weight"]), (&json!("amber"), &json!(0.25)));
    assert_eq!(
        (&version["analytics"]["constituents"], &version["analytics"]["largest_weight"]),
        (&json!(5), &json!(0.25))
    );

    let hash = version["content_hash"].as_str().unwrap();
    assert_eq!(recomputed(&version), hash);
    assert_eq!(reply.header("etag"), Some(format!("\"{hash}\"").as_str()));
    let told = "public, max-age=0, s-maxage=60, stale-while-revalidate=60";
    assert_eq!(reply.header("cache-control"), Some(told));
    assert_eq!(world.test.get("/v1/baskets").await.header("cache-control"), Some(told));
    let immutable = world.get("/version/dollars-v1").await;
    assert_eq!(immutable.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!((immutable.header("etag"), &immutable.json()["data"]), (reply.header("etag"), &version));
    for target in ["/v1/baskets/dollars", "/v1/baskets/dollars/version/dollars-v1"] {
        let mut request = signed("GET", target, "");
        request.headers_mut().insert("if-none-match", HeaderValue::try_from(format!("\"{hash}\"")).unwrap());
        assert_eq!(world.test.ask(request).await.status, 304, "{target}");
    }
}

#[tokio::test]
async fn an_instant_shows_the_version_that_was_in_force_then() {
    let world = World::begun().await;
    let at = async |instant: &str| {
        let reply = world.get(&format!("?at={instant}")).await;
        (reply.status.as_u16(), reply.json()["data"]["version_id"].as_str().unwrap_or_default().to_owned())
    };
    let first = (200, "dollars-v1".to_owned());
    let second = (200, "dollars-v2".to_owned());
    assert_eq!(world.next_version("amber", 8.0).await, "dollars-v2");
    assert_eq!(at("2026-11-20T23:59:59.999999Z").await, (404, String::new()));
    assert_eq!(at("2026-11-21T00:00:00Z").await, first, "a boundary belongs to the new one");
    assert_eq!(at("2026-11-21T00:59:59.999999Z").await, first);
    assert_eq!(at("2026-11-21T01:00:00Z").await, second);
    assert_eq!(at("2026-11-21T02:00:00%2B01:00").await, second);
    assert_eq!(at("2030-01-01").await, second);
    let past = world.data("?at=2026-11-21T00:30:00Z").await;
    assert_eq!(recomputed(&past), past["content_hash"]);
    for wrong in ["yesterday", "2026-13-01T00:00:00Z", "1795219200", ""] {
        let reply = world.get(&format!("?at={wrong}")).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "INVALID_PARAMETER".to_owned()), "{wrong}");
        assert!(reply.message().contains("at "), "{}", reply.message());
    }
}

#[tokio::test]
async fn every_path_of_what_is_not_there_is_unknown() {
    let world = World::begun().await;
    for target in [
        "/v1/baskets/nothing",
        "/v1/baskets/nothing?at=2026-11-21T00:00:00Z",
        "/v1/baskets/nothing/versions",
        "/v1/baskets/nothing/changes",
        "/v1/baskets/nothing/methodology/versions",
        "/v1/baskets/nothing/version/dollars-v1",
        "/v1/baskets/dollars/version/dollars-v2",
        "/v1/baskets/dollars/version/%00",
        "/v1/baskets/%00",
    ] {
        let reply = world.test.get(target).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (404, "NOT_FOUND".to_owned()), "{target}");
    }
}

#[tokio::test]
async fn histories_are_paged_linked_and_say_what_changed() {
    let world = World::begun().await;
    world.next_version("amber", 8.0).await;
    world.next_version("elm", 4.0).await;
    let page = world.test.json("/v1/baskets/dollars/versions?pageSize=2").await;
    assert_eq!(page["meta"], json!({"page": 1, "limit": 2, "total": 3, "totalPages": 2}));
    assert_eq!(
        fields(&page["data"][0]),
        [
            "basket_id",
            "content_hash",
            "created_at",
            "deprecated_at",
            "effective_from",
            "methodology_version",
            "prior_version_id",
            "retired_at",
            "signature",
            "signer_address",
            "signing_key_id",
            "successor_version_id",
            "support_status",
            "trigger_reason",
            "version_id"
        ]
    );
    let linked = |row: &Value| (row["version_id"].clone(), row["prior_version_id"].clone());
    assert_eq!(linked(&page["data"][0]), (json!("dollars-v3"), json!("dollars-v2")));
    let rest = world.data("/versions?pageSize=2&page=2").await;
    assert_eq!(linked(&rest[0]), (json!("dollars-v1"), Value::Null));
    let limit = async |keyed: bool| {
        let target = "/v1/baskets/dollars/versions?pageSize=1000";
        let reply = match keyed {
            true => world.test.get_as(&holder(Plan::Data), target).await,
            false => world.test.get(target).await,
        };
        reply.json()["meta"]["limit"].as_i64()
    };
    assert_eq!((limit(true).await, limit(false).await), (Some(200), Some(100)));
    for wrong in ["/versions?page=0", "/versions?pageSize=x", "/changes?limit=0"] {
        assert_eq!(world.get(wrong).await.status, 400, "{wrong}");
    }

    let changes = world.data("/changes").await;
    let of = |row: &Value, list: &str| -> Vec<String> {
        row[list].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        fields(&changes[0]),
        ["added", "effective_from", "prior_version_id", "removed", "trigger_reason", "version_id", "weight_changed"]
    );
    let everyone: Vec<String> = MEMBERS.iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(
        (of(&changes[0], "removed"), &changes[0]["trigger_reason"]),
        (vec!["elm".to_owned()], &json!("tier_cross"))
    );
    assert_eq!(
        (of(&changes[1], "weight_changed"), &changes[1]["trigger_reason"]),
        (everyone.clone(), &json!("score_down"))
    );
    assert_eq!((of(&changes[2], "added"), of(&changes[2], "removed")), (everyone, vec![]));
    let newest = world.data("/changes?limit=1").await;
    assert_eq!(
        newest.as_array().unwrap().as_slice(),
        &changes.as_array().unwrap()[..1],
        "compared with one that is not shown"
    );
}

#[tokio::test]
async fn a_retired_version_is_gone_and_names_its_successor() {
    let world = World::begun().await;
    world.next_version("amber", 8.0).await;
    let made = world.get("/version/dollars-v1").await;
    let hash = made.header("etag").unwrap().to_owned();
    assert_eq!(world.say("dollars-v1", Verb::Deprecate { successor: None }).await, SupportChange::Done);
    let deprecated = world.get("/version/dollars-v1").await;
    assert_eq!(
        (deprecated.header("etag"), &deprecated.body),
        (Some(hash.as_str()), &made.body),
        "what may be kept for a year stays as it is"
    );
    assert_eq!(world.data("?at=2026-11-21T00:30:00Z").await["support_status"], "deprecated");
    let listed = world.data("/versions").await;
    assert_eq!((&listed[0]["support_status"], &listed[1]["support_status"]), (&json!("current"), &json!("deprecated")));
    assert_eq!(
        (&listed[1]["deprecated_at"], &listed[1]["retired_at"]),
        (&json!("2026-11-21T01:00:00.000Z"), &Value::Null)
    );

    let before = newest(&world.test).await;
    assert_eq!(world.retire("dollars-v1", "dollars-v2").await, SupportChange::Done);
    assert_eq!(raised(&before, &newest(&world.test).await), [Tag::Baskets]);
    let addresses = ["/v1/baskets/dollars/version/dollars-v1", "/v1/baskets/dollars?at=2026-11-21T00:30:00Z"];
    for (address, held) in
        addresses.into_iter().flat_map(|it| [None, Some(hash.as_str()), Some("*")].map(|held| (it, held)))
    {
        let mut request = signed("GET", address, "");
        if let Some(held) = held {
            request.headers_mut().insert("if-none-match", HeaderValue::try_from(held).unwrap());
        }
        let gone = world.test.ask(request).await;
        assert_eq!((gone.status.as_u16(), gone.code()), (410, "VERSION_RETIRED".to_owned()));
        assert_eq!(gone.json()["error"]["successor"], "dollars-v2");
        assert_eq!(gone.header("link"), Some("</v1/baskets/dollars/version/dollars-v2>; rel=\"successor-version\""));
    }
    let chains = world.captured_chains().await;
    assert_eq!(chains, [vec![1, 8453], vec![1, 8453], vec![], vec![]], "of those that are named");
    let past = world.data("/versions").await[1].clone();
    assert_eq!((&past["version_id"], &past["support_status"]), (&json!("dollars-v1"), &json!("retired")));
    assert_eq!(
        (&past["retired_at"], &past["successor_version_id"]),
        (&json!("2026-11-21T01:00:00.000Z"), &json!("dollars-v2"))
    );
    assert_eq!(world.versions().await, ["dollars-v2", "dollars-v1"]);

    let told = world.captured_events().await;
    let families: Vec<&str> = told.iter().map(|(family, _)| family.as_str()).collect();
    let expected = ["basket.rebalanced", "basket.rebalanced", "basket.version.deprecated", "basket.version.retired"];
    assert_eq!(families, expected);
    let (_, retired) = told.last().unwrap();
    assert_eq!((&retired["basket_id"], &retired["version_id"]), (&json!(BASKET), &json!("dollars-v1")));
    assert_eq!(
        (&retired["successor_version_id"], &retired["support_status"]),
        (&json!("dollars-v2"), &json!("retired"))
    );
    let (_, second) = &told[1];
    assert_eq!(
        (&second["prior_version_id"], &second["changes"]["weight_changed"][0]["id"]),
        (&json!("dollars-v1"), &json!("amber"))
    );
}

#[tokio::test]
async fn a_constituent_on_a_withheld_chain_keeps_its_weight_and_loses_its_name() {
    let world = World::begun().await;
    let before = world.get("").await;
    let base = |is_served: bool, at: &str| {
        let fields = json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": is_served});
        line("chain", at, fields)
    };
    world.test.ingest(&base(false, "2026-11-20T12:00:00Z")).await;
    let after = world.get("").await;
    assert_ne!(after.header("etag"), before.header("etag"));
    assert_eq!(after.json()["data"]["content_hash"], before.json()["data"]["content_hash"]);
    let nameless = after.json()["data"]["constituents"][4].clone();
    assert_eq!((&nameless["id"], &nameless["issuer"], &nameless["score"]), (&Value::Null, &Value::Null, &Value::Null));
    assert_eq!(nameless["weight_ppm"], before.json()["data"]["constituents"][4]["weight_ppm"]);

    // The next rebalance removes it, and the event does not name it.
    world.pass(3600);
    assert_eq!(world.refresh().await, crate::baskets::world::rebalanced("dollars-v2", Trigger::TierCross));
    let told = world.captured_events().await.pop().unwrap().1;
    assert_eq!(told["changes"]["removed"][0]["id"], Value::Null);
    // The first event names the constituent, so its operation has the withheld chain 8453 and is not delivered any
    // more.
    assert_eq!(world.captured_chains().await, [vec![1, 8453], vec![1]]);
    for rest in ["", "/changes", "/version/dollars-v1", "/versions", "?at=2026-11-21T00:00:00Z"] {
        assert!(!world.get(rest).await.text().contains(ELSEWHERE), "{rest}");
    }
    assert!(!told.to_string().contains(ELSEWHERE));
    world.test.ingest(&base(true, "2026-11-20T13:00:00Z")).await;
    let again = world.get("/version/dollars-v1").await;
    assert_eq!(
        (again.header("etag"), again.json()["data"]["constituents"][4]["id"].as_str()),
        (before.header("etag"), Some(ELSEWHERE))
    );
}

#[tokio::test]
async fn an_asset_says_whether_it_is_in_basket_a() {
    let world = World::new().await;
    let members = async || -> Vec<String> {
        let rows = world.test.json("/v1/assets/enriched?limit=100").await["data"].clone();
        let rows = rows.as_array().unwrap().iter().filter(|row| row["in_basket_a"] == true);
        let mut names: Vec<String> = rows.map(|row| row["symbol"].as_str().unwrap().to_lowercase()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(members().await, Vec::<String>::new());
    let before = newest(&world.test).await;
    world.refresh().await;
    assert_eq!(raised(&before, &newest(&world.test).await), [Tag::Assets, Tag::Baskets]);
    assert_eq!(members().await, MEMBERS.map(|(id, _)| id));
    world.next_version("dune", 4.0).await;
    assert_eq!(members().await, ["amber", "birch", "cedar", "elm"]);

    // Another basket, without a version, can become the default only once `dollars` no longer is the default.
    let other = |is_it: bool| {
        let fields = json!({"id": "other", "name": "Other", "constituent_type": "asset", "is_basket_a": is_it});
        line("basket", "2026-03-01T00:00:00Z", fields)
    };
    let refused = world.test.admin("POST", "/ingest", &other(true)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("is_basket_a") && refused.text().contains("dollars"), "{}", refused.text());
    // An older observation does not change the default.
    world.test.ingest(&other(false)).await;
    world.test.ingest(&other(true).replace("2026-03-01", "2026-02-01")).await;
    let taken =
        definition().replace("\"is_basket_a\":true", "\"is_basket_a\":false").replace("2026-01-01", "2026-04-01");
    let before = newest(&world.test).await;
    world.test.ingest(&[other(true).replace("2026-03-01", "2026-04-01"), taken].concat()).await;
    assert_eq!(raised(&before, &newest(&world.test).await), [Tag::Assets, Tag::Baskets]);
    assert_eq!(members().await, Vec::<String>::new());
}

/// A lending vault hard-fails with the asset that it lends, a holding vault with an asset that makes up at least 5 % of it. A lower score
/// alone is no hard fail.
#[tokio::test]
async fn a_vault_hard_fails_only_with_the_assets_it_depends_on() {
    let test = TestApp::with_market().await;
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT v.id, v.asset_mode FROM vault v JOIN vault_score p ON p.vault_id = v.id JOIN asset a USING (chain_id) \
         WHERE a.address = v.asset_address AND a.id = 'dollar' AND v.is_active ORDER BY v.id",
    )
    .fetch_all(&test.facts.db.pool)
    .await
    .unwrap();
    let (lending, _) = rows.iter().find(|(_, mode)| mode == "lending").unwrap();
    let failing = async |id: &str| {
        let mut tx = test.facts.db.pool.begin().await.unwrap();
        let now = test.app.clock.now();
        let found = candidates::load(&mut tx, ConstituentType::Vault, &[id], true, now).await.unwrap();
        found[0].hard_fail_since.map(|at| at.to_string())
    };
    sqlx::query(
        "INSERT INTO score_history (vault_id, observed_at, version, change_type, prev_score, new_score, prev_tier, new_tier, methodology_version) \
         VALUES ($1, now(), 999999, 'hard_demote', 9000, 4000, 'Prime', 'Edge', 'rds-1.0.0')",
    )
    .bind(lending)
    .execute(&test.facts.db.pool)
    .await
    .unwrap();
    assert_eq!(failing(lending).await, None, "a plain drop");

    // The same vault, holding instead of lending.
    let hold = async |share: f64| {
        let part = json!([{"asset_id": "dollar", "share": share}]).to_string();
        let sql = "INSERT INTO exposure (vault_id, status, parts, source, observed_at, content_hash) VALUES ($1, 'observed', $2::jsonb, 't', now(), '') \
                   ON CONFLICT (vault_id) DO UPDATE SET parts = excluded.parts";
        sqlx::query(sql).bind(lending).bind(part).execute(&test.facts.db.pool).await.unwrap();
        sqlx::query("UPDATE vault SET asset_mode = 'holdings' WHERE id = $1")
            .bind(lending)
            .execute(&test.facts.db.pool)
            .await
            .unwrap();
    };
    let dimensions = json!({"peg_stability": 9.5, "issuer_custody": 9, "redeemability": 9.5, "reserve_transparency": 9,
        "governance_controls": 9, "protocol_security": 9, "liquidity": 9.5});
    let depeg = json!([{"flag": "depeg_active", "transition": "triggered", "at": "2026-11-20T20:00:00Z"}]);
    let review =
        json!({"asset_id": "dollar", "review_status": "reviewed", "dimensions": dimensions, "hard_fail_events": depeg});
    test.ingest(&line("asset_review", "2026-11-20T23:00:00Z", review)).await;
    let raised = Some("2026-11-20T20:00:00.000Z".to_owned());
    assert_eq!(failing(lending).await, raised);
    hold(0.05).await;
    assert_eq!(failing(lending).await, raised);
    hold(0.04).await;
    assert_eq!(failing(lending).await, None);
}
