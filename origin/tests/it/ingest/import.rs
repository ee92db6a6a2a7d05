//! Data sets: the result of each file, how its rows are joined with others, and invalid rows.

use crate::ingest::sets::{DOLLAR, Sets, VAULT, count, import};
use crate::support::db::TestDb;
use rds_importers::ImportError;
use serde_json::{Value, json};

#[tokio::test]
async fn a_derived_input_says_what_it_was_derived_from_and_a_missing_one_is_named() {
    let (test, sets) = (TestDb::new().await, Sets::new("derived"));
    sets.write("novelties.jsonl", &[json!({})]);
    let report = import(&test, &sets.dir, None).await.unwrap();
    assert_eq!(report.not_used, ["novelties.jsonl"]);
    assert_eq!((report.ingest.vaults_scored, report.ingest.score_changes), (4, 0));

    let provenance = async |protocol: &str| -> Value {
        let text: String = sqlx::query_scalar(
            "SELECT s.provenance::text FROM vault_score s JOIN vault v ON v.id = s.vault_id WHERE v.protocol_id = $1",
        )
        .bind(protocol)
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let known = provenance("harbor").await;
    // Nobody has answered a question about the deposit asset.
    assert_eq!(known["missing"], json!(["deposit_score"]));
    assert_eq!(known["inputs"]["platform"]["audits"]["value"], 1);
    for (vector, input) in [("platform", "audits"), ("platform", "version_age_days"), ("history", "vault_age_days")] {
        let source = known["inputs"][vector][input]["source"].as_str().unwrap();
        assert!(source.contains("lower bound"), "{input}: {source}");
    }
    assert_eq!(known["inputs"]["platform"]["strategy"]["source"], "s: feature tag morpho_like");
    assert_eq!(provenance("silent").await["missing"], json!(["deposit_score", "audits"]));
}

#[tokio::test]
async fn history_and_incidents_reach_the_vault_at_their_address() {
    let (test, sets) = (TestDb::new().await, Sets::new("history"));
    let report = import(&test, &sets.dir, None).await.unwrap();
    let links = "SELECT count(*) FROM event_link l JOIN vault v ON v.id = l.subject_id JOIN event e ON e.id = l.event_id \
                 WHERE v.protocol_id = 'harbor' AND e.loss_usd IS NULL AND e.block_number IS NULL AND e.tx_hash = '0xfeed'";
    assert_eq!(count(&test, links).await, 1);
    let points = "SELECT count(*) FROM vault_snapshot WHERE tvl_usd IS NULL AND price_per_share IN (1, 1.01)";
    assert_eq!(count(&test, points).await, 2);
    // The newest observation is the vault's state, although older ones were read later.
    assert_eq!(count(&test, "SELECT count(*) FROM vault_state WHERE tvl_usd = 10").await, 2);
    assert_eq!(count(&test, "SELECT count(*) FROM vault WHERE is_stablecoin AND flags = '{illiquid}'").await, 2);
    assert_eq!(report.files.len(), 17);
}

#[tokio::test]
async fn a_vault_that_only_the_history_knows_comes_with_it_and_a_listed_one_may_have_been_wound_up() {
    let (test, sets) = (TestDb::new().await, Sets::new("vaults-of-history"));
    let at = |last: &str| format!("0x00000000000000000000000000000000000000{last}");
    let vault = |chain_id: i64, last: &str, is_retired: bool| {
        json!({"chain_id": chain_id, "address": at(last), "name": "Elder", "symbol": null, "decimals": 6, "asset_address": DOLLAR,
               "asset_symbol": "USDX", "kind": "Multi Strategy", "api_version": "3.0.1", "performance_fee": 0.2, "management_fee": 0.0,
               "emergency_shutdown": false, "is_retired": is_retired, "first_date": "2023-11-16", "last_date": "2025-09-30", "source": "s"})
    };
    sets.write("vault_history_vaults.jsonl", &[vault(1, "a9", false), vault(1, "a2", true), vault(250, "a9", false)]);
    let day = |chain_id: i64, date: &str| json!({"chain_id": chain_id, "address": at("a9"), "date": date, "price_per_share": "1050000", "total_assets": "2000000", "decimals": 6});
    sets.write("vault_history.jsonl.gz", &[day(1, "2025-03-01"), day(1, "2025-03-02"), day(250, "2025-03-01")]);
    let report = import(&test, &sets.dir, None).await.unwrap();
    let skipped = |name: &str| {
        let file = report.files.iter().find(|file| file.file == name).unwrap();
        (file.observations, file.skipped.values().sum::<u64>())
    };
    assert_eq!((skipped("vault_history_vaults.jsonl"), skipped("vault_history.jsonl.gz")), ((2, 2), (2, 1)));
    let elder = "SELECT count(*) FROM vault v JOIN vault_state s ON s.vault_id = v.id WHERE v.id LIKE 'yearn-1-%a9' AND v.is_active \
                 AND v.is_stablecoin AND v.strategy = 'vault_of_vaults' AND v.first_seen_at = '2023-11-16' AND v.performance_fee = 0.2 \
                 AND s.tvl_native = 2 AND s.tvl_usd IS NULL AND s.price_per_share = 1.05";
    assert_eq!(count(&test, elder).await, 1);
    assert_eq!(count(&test, "SELECT count(*) FROM vault_snapshot WHERE price_per_share = 1.05").await, 2);
    let listed = "SELECT count(*) FROM vault WHERE protocol_id = 'silent' AND NOT is_active AND NOT is_shutdown AND name = 'Vault' \
                  AND performance_fee = 0.1 AND flags = '{illiquid,retired}'";
    assert_eq!(count(&test, listed).await, 1, "it stays as it is listed but for that");

    // After the import of the whole folder, an import of each file alone changes nothing.
    for file in ["vault_history_vaults", "vault_history", "vaults"] {
        let again = import(&test, &sets.dir, Some(file)).await.unwrap();
        assert_eq!((again.ingest.lines > 0, again.ingest.changed.len()), (true, 0), "{file}");
    }
}

#[tokio::test]
async fn a_compounders_vault_comes_with_its_strategy_and_no_figures() {
    let (test, sets) = (TestDb::new().await, Sets::new("compounder"));
    let report = import(&test, &sets.dir, None).await.unwrap();
    let file = report.files.iter().find(|file| file.file == "yield_vaults.jsonl.gz").unwrap();
    assert_eq!((file.rows, file.observations), (3, 1 + 2 * 3));
    assert_eq!(
        file.skipped.values().sum::<u64>(),
        1,
        "an address that is listed keeps its protocol: {:?}",
        file.skipped
    );
    let rows: Vec<(String, bool, Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT s.strategy_id, v.is_active AND s.is_active, v.strategy, s.description FROM vault v JOIN vault_strategy s ON s.vault_id = v.id \
         WHERE v.protocol_id = 'beefy' AND s.risk_flags = '{complex}' AND s.apy IS NULL AND v.is_stablecoin ORDER BY 1",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    let word = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows,
        [
            ("pool-b1".to_owned(), true, word("auto_compound"), None),
            ("pool-b2".to_owned(), false, None, word("Ended: rewards.")),
        ]
    );
    assert_eq!(
        count(
            &test,
            "SELECT count(*) FROM vault_state s JOIN vault v ON v.id = s.vault_id WHERE protocol_id = 'beefy'"
        )
        .await,
        0
    );
}

#[tokio::test]
async fn a_pool_of_the_address_book_is_a_market_over_the_vaults_at_its_tokens() {
    let (test, sets) = (TestDb::new().await, Sets::new("lending"));
    let report = import(&test, &sets.dir, None).await.unwrap();
    let emodes = report.files.iter().find(|file| file.file == "lending_emodes.jsonl").unwrap();
    assert_eq!(emodes.skipped.get("the pool is not in the list of reserves"), Some(&1));
    assert_eq!(count(&test, "SELECT count(*) FROM market_emode JOIN market USING (contract)").await, 1);
    assert_eq!(count(&test, "SELECT count(*) FROM market_key WHERE id = 'aave-v3-ethereum-harbor'").await, 1);
    let linked =
        "SELECT count(*) FROM market_reserve r JOIN vault v ON v.chain_id = r.chain_id AND v.address = r.token_address";
    assert_eq!(count(&test, linked).await, 1);

    // After the import of the whole folder, an import of the file alone changes nothing.
    let again = import(&test, &sets.dir, Some("lending_reserves")).await.unwrap();
    assert_eq!((again.ingest.observations["market"], again.ingest.changed.len()), (1, 0));
}

#[tokio::test]
async fn administrators_are_mapped_to_their_pools_and_tokens_to_bridges_that_may_mint_them() {
    let (test, sets) = (TestDb::new().await, Sets::new("administration"));
    import(&test, &sets.dir, None).await.unwrap();
    let subjects: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT mapping_id, it->>'type', it->>'id' FROM mapping, jsonb_array_elements(applies_to) AS it ORDER BY 1, 2, 3",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    let subjects: Vec<(&str, &str, &str)> =
        subjects.iter().map(|(mapping, kind, id)| (mapping.as_str(), kind.as_str(), id.as_str())).collect();
    let (set, delay) = ("1:0x000000000000000000000000000000000000005a", "1:0x000000000000000000000000000000000000005b");
    let pool = "1:0x00000000000000000000000000000000000000b0";
    let (dollar, other) =
        (format!("dollar-1-{DOLLAR}"), "silent-1-0x00000000000000000000000000000000000000a2".to_owned());
    assert_eq!(
        subjects,
        [
            (set, "market", pool),
            (delay, "market", pool),
            ("hyperlane/USDX/mints", "asset", dollar.as_str()),
            ("hyperlane/USDX/mints", "vault", format!("harbor-1-{VAULT}").as_str()),
            ("hyperlane/USDX/mints", "vault", other.as_str()),
        ],
        "what a route locks is not mapped to it, and a section without a market maps nothing"
    );
    let provisional = "SELECT count(*) FROM mapping, jsonb_array_elements(applies_to) AS it \
                       WHERE mapping_type = 'bridge' AND (it->>'verified')::boolean = false AND (it->>'confidence')::float8 = 0.5";
    assert_eq!(count(&test, provisional).await, 3, "others may mint the token too");

    // After the import of the whole folder, an import of each file alone changes nothing.
    for file in ["signer_sets", "timelocks", "bridges"] {
        let again = import(&test, &sets.dir, Some(file)).await.unwrap();
        assert_eq!((again.ingest.observations["mapping"] > 0, again.ingest.changed.len()), (true, 0), "{file}");
    }
}

#[tokio::test]
async fn one_file_is_imported_with_what_the_others_say_of_it() {
    let (test, sets) = (TestDb::new().await, Sets::new("only"));
    for file in ["chains.jsonl", "protocols.jsonl", "vaults"] {
        import(&test, &sets.dir, Some(file)).await.unwrap();
    }
    // No asset is imported, but the vaults are marked as stablecoin vaults, because the importer reads the assets file as a reference.
    assert_eq!(count(&test, "SELECT count(*) FROM asset").await, 0);
    assert_eq!(count(&test, "SELECT count(*) FROM vault WHERE is_stablecoin").await, 2);
    let report = import(&test, &sets.dir, Some("vault_history")).await.unwrap();
    assert_eq!(report.ingest.observations.into_iter().collect::<Vec<_>>(), [("vault_state", 2)]);
}

#[tokio::test]
async fn missing_and_invalid_fields_are_named_and_nothing_is_stored() {
    let (test, sets) = (TestDb::new().await, Sets::new("wrong"));
    let message = async |only: Option<&str>| import(&test, &sets.dir, only).await.unwrap_err().to_string();

    sets.write(
        "vaults.jsonl.gz",
        &[sets.vault(VAULT, "harbor"), sets.vault("0x12", "harbor"), sets.vault(DOLLAR, "nobody")],
    );
    let faults = match import(&test, &sets.dir, None).await {
        Err(ImportError::Faults { first: faults, .. }) => faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("expected faults, got {other:?}"),
    };
    for part in ["vaults.jsonl.gz row 2: address", "vaults.jsonl.gz row 3: protocol_id"] {
        assert!(faults.iter().any(|fault| fault.starts_with(part)), "{part}: {faults:?}");
    }

    sets.write("vaults.jsonl.gz", &[json!({"chain_id": 1})]);
    assert!(message(None).await.starts_with("vaults.jsonl.gz row 1 cannot be parsed: missing field"));
    std::fs::write(sets.dir.join("vaults.jsonl.gz"), b"not gzip").unwrap();
    assert!(message(None).await.starts_with("vaults.jsonl.gz cannot be read after row 0"));
    std::fs::remove_file(sets.dir.join("vaults.jsonl.gz")).unwrap();
    assert!(message(Some("incidents")).await.starts_with("vaults.jsonl.gz is missing in "));
    assert!(message(Some("novelties")).await.starts_with("\"novelties\" is not a known file"));
    let nowhere = import(&test, &sets.dir.join("nowhere"), None).await.unwrap_err().to_string();
    assert!(nowhere.contains("nowhere cannot be read"), "{nowhere}");

    assert_eq!(count(&test, "SELECT count(*) FROM chain").await, 0);
}
