//! Models made from rows.

use super::*;
use crate::access::Principal;
use crate::read_model::request::Request;
use crate::read_model::response::Response;
use crate::read_model::{ALWAYS, answer, families_of, samples, serves};
use crate::route::{Found, Query, ROUTES};
use crate::wire::error::ApiError;
use crate::wire::time::Timestamp;
use alloc::string::{String, ToString};
use alloc::vec;
use proptest::prelude::*;

/// The response of `model` to a request for each route without parameters.
fn responses(model: &ReadModel) -> Vec<Option<Result<Response, ApiError>>> {
    let routes = ROUTES.iter().filter(|route| serves(route.id));
    let respond = |route| {
        let found = Found { route, path: vec![String::from("1"), "0x0000000000000000000000000000000000000000".into()] };
        let query = Query::parse(route.query, "").ok()?;
        let (principal, now) = (&Principal::Anonymous, Timestamp::from_seconds(1_800_000_007));
        answer(
            model,
            Request { found: &found, query: &query, unknown_values: None, principal, if_none_match: None, now },
        )
    };
    routes.map(respond).collect()
}

fn body(model: &ReadModel, path: &str) -> serde_json::Value {
    let place = ROUTES.iter().filter(|route| serves(route.id)).position(|route| route.path == path).unwrap();
    let response = responses(model).swap_remove(place).unwrap().unwrap();
    serde_json::from_slice(response.body.unwrap().bytes()).unwrap()
}

#[test]
fn every_family_is_listed_in_the_order_of_its_keys() {
    let rows = samples::rows(9);
    let model = ReadModel::from_rows(7, &rows, None).unwrap();
    assert_eq!(model.rows(), rows);
    let listed = |path: &str, field: &str| -> Vec<String> {
        let body = body(&model, path);
        body["data"].as_array().unwrap().iter().map(|row| row[field].to_string()).collect()
    };
    assert_eq!(listed("/v1/chains", "slug"), ["\"base\"", "\"ethereum\""], "largest value first");
    assert_eq!(listed("/v1/protocols", "id"), ["\"royco\"", "\"aave\"", "\"none\""], "largest value first");
    assert_eq!(listed("/v1/assets", "asset_symbol"), ["\"WETH\"", "\"DAI\"", "\"USDC\""], "most vaults first");
    assert_eq!(listed("/v1/curators", "id"), ["\"a\"", "\"b\""]);
    assert_eq!(listed("/v1/oracle", "chain_id"), ["1", "1", "8453", "8453"]);
    assert_eq!(listed("/v1/vaults", "tvl_usd"), ["8.0", "7.0", "6.0", "5.0", "4.0", "3.0", "2.0", "1.0", "0.0"]);
    assert_eq!(listed("/v1/royco", "tvl_usd"), ["6.0", "3.0", "0.0"]);
    for path in [
        "/v1/markets",
        "/v1/assets/enriched",
        "/v1/rwa",
        "/v1/reviewers",
        "/v1/security-events",
        "/v1/security-events/losses",
    ] {
        assert!(!listed(path, "id").is_empty(), "{path}");
    }
    assert!(responses(&model).iter().all(|response| response.as_ref().unwrap().is_ok()));
}

#[test]
fn what_did_not_change_is_shared_with_the_previous_model() {
    let before = samples::rows(40);
    let first = ReadModel::from_rows(7, &before, None).unwrap();
    let mut after = before.clone();
    let mut vaults = before.of(Family::Vaults).to_vec();
    vaults.remove(3);
    vaults.retain(|row| row.key() != samples::vault(12, 0.0).row().key());
    vaults.extend([samples::vault(12, 1e9).row().clone(), samples::vault(99, 5e8).row().clone()]);
    samples::set(&mut after, Family::Vaults, vaults);
    let second = ReadModel::from_rows(8, &after, Some((&first, &before))).unwrap();
    assert!(Arc::ptr_eq(&first.markets, &second.markets) && Arc::ptr_eq(&first.feeds, &second.feeds));
    assert!(!Arc::ptr_eq(&first.vaults, &second.vaults));
    assert_eq!(responses(&second), responses(&ReadModel::from_rows(8, &after, None).unwrap()));
    let tvl = |place: usize| body(&second, "/v1/vaults")["data"][place]["tvl_usd"].clone();
    assert_eq!((tvl(0), tvl(1)), (1e9.into(), 5e8.into()));
    assert_eq!(responses(&ReadModel::from_rows(7, &before, Some((&second, &after))).unwrap()), responses(&first));
}

#[test]
fn hidden_chains_are_missing_in_the_lists_of_one_chain_as_if_they_had_no_rows() {
    let rows = samples::rows(9);
    let whole = ReadModel::from_rows(7, &rows, None).unwrap();
    for chains in [vec![], vec![ChainId(1)], vec![ChainId(8_453), ChainId(99)]] {
        let mut shown = rows.clone();
        for family in Family::ALL {
            let is_shown = |row: &&Row| chain_of(family, row).is_none_or(|chain| !chains.contains(&chain));
            samples::set(&mut shown, family, rows.of(family).iter().filter(is_shown).cloned().collect());
        }
        let expected = responses(&ReadModel::from_rows(7, &shown, None).unwrap());
        let routes = ROUTES.iter().filter(|route| serves(route.id));
        for ((route, expected), response) in routes.zip(&expected).zip(responses(&whole.without_chains(&chains))) {
            use crate::route::RouteId::*;
            if matches!(route.id, VaultList | VaultScores | Royco | Chains | MarketList | OracleList | OracleByAddress)
            {
                assert_eq!(response.as_ref(), expected.as_ref(), "{} without {chains:?}", route.path);
            }
        }
    }
}

#[test]
fn every_row_names_the_chain_that_it_belongs_to() {
    let rows = samples::rows(2);
    let chains = |family| -> Vec<Option<u64>> {
        rows.of(family).iter().map(|row| chain_of(family, row).map(|chain| chain.0)).collect()
    };
    assert_eq!(chains(Family::Vaults), [Some(8_453), Some(1)]);
    assert_eq!(chains(Family::Markets), [Some(1); 3]);
    assert_eq!(chains(Family::Feeds), [Some(1), Some(1), Some(8_453), Some(8_453)]);
    assert_eq!(chains(Family::Chains), [Some(8_453), Some(1), Some(7)]);
    assert_eq!(chains(Family::SecurityEvents), [None, Some(1), Some(1)]);
    assert_eq!(chains(Family::Losses), [None, Some(1), Some(2)]);
    assert_eq!(chains(Family::Protocols), [None; 3]);
    assert_eq!(chains(Family::Assets).len(), 3);
    assert!(chains(Family::Assets).iter().chain(&chains(Family::Rwa)).all(Option::is_some));
}

#[test]
fn a_model_of_some_families_answers_their_lists_as_the_whole_model_and_no_others() {
    let rows = samples::rows(9);
    let whole = responses(&ReadModel::from_rows(7, &rows, None).unwrap());
    for family in Family::ALL.into_iter().filter(|family| !ALWAYS.has(*family)) {
        let families = ALWAYS.with(family);
        let model = ReadModel::of_families(7, families, &rows.only(families), None).unwrap();
        assert_eq!((model.families(), model.rows()), (families, rows.only(families)));
        let routes = ROUTES.iter().filter(|route| serves(route.id)).zip(responses(&model).into_iter().zip(&whole));
        for (route, (response, whole)) in routes {
            let needed = families_of(route.id, &Query::parse(route.query, "").unwrap());
            match families.has_all(needed) {
                true => assert_eq!(response.as_ref(), whole.as_ref(), "{} of {}", route.path, family.name()),
                false => assert_eq!(response, None, "{} of {}", route.path, family.name()),
            }
        }
    }
}

#[test]
fn a_family_that_is_held_again_is_read_from_its_rows() {
    let rows = samples::rows(9);
    let whole = ReadModel::from_rows(7, &rows, None).unwrap();
    let some = ReadModel::of_families(7, ALWAYS, &rows.only(ALWAYS), Some((&whole, &rows))).unwrap();
    let again = ReadModel::from_rows(7, &rows, Some((&some, &rows.only(ALWAYS)))).unwrap();
    assert_eq!(responses(&again), responses(&whole));
    assert!(responses(&some).iter().any(Option::is_none));
}

#[test]
fn rows_without_what_every_model_has_make_no_model() {
    assert!(ReadModel::from_rows(7, &Rows::default(), None).is_none());
    assert!(ReadModel::from_rows(7, &samples::empty(), None).is_some());
}

proptest! {
    #[test]
    fn no_bytes_break_the_making_or_serving_of_a_model(
        family in prop::sample::select(Family::ALL.as_slice()), place: prop::sample::Index, in_key in any::<bool>(),
        at: prop::sample::Index, bytes in prop::collection::vec(any::<u8>(), 0..4), removed in 0usize..9, cut in any::<bool>(),
    ) {
        let mut rows = samples::rows(3);
        let mut of = rows.of(family).to_vec();
        let place = place.index(of.len());
        let (mut key, mut content) = (of[place].key().to_vec(), of[place].content().to_vec());
        let changed = if in_key { &mut key } else { &mut content };
        let at = at.index(changed.len());
        // The start of a row, where lengths and flags are, is changed as often as its texts.
        let at = if at.is_multiple_of(2) { at.min(at % 200) } else { at };
        changed.splice(at..changed.len().min(at + removed), bytes);
        if cut {
            changed.truncate(at);
        }
        of[place] = Row::new(&key, &content).unwrap();
        chain_of(family, &of[place]);
        of.sort_by(|a, b| a.key().cmp(b.key()));
        if rows.set(family, Arc::new(of)).is_some() && let Some(model) = ReadModel::from_rows(7, &rows, None) {
            responses(&model);
        }
    }
}
