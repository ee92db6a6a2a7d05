//! The cache key, and the canonical target sent to the origin.

use rds_shared::access::Principal;
use rds_shared::route::{Found, Query};

/// Increase whenever the stored format or its meaning changes, so that older cached responses are not found.
const SCHEMA: &str = "3";

/// Canonical path and query, the only form sent to the origin.
pub fn target(found: &Found, query: &Query) -> String {
    let mut target = found.canonical_path();
    let query = query.canonical();
    if !query.is_empty() {
        target.push('?');
        target.push_str(&query);
    }
    target
}

/// `{schema}/{route}/{content class}{target}`. If responses do not depend on the caller, all classes share one key. `longer` marks a
/// list page on which callers with a key get more rows.
pub fn key(found: &Found, principal: &Principal, target: &str, longer: bool) -> String {
    let route = found.route;
    let class = if route.depends_on_caller() || longer { principal.content_class() } else { "all" };
    format!("{SCHEMA}/{}/{class}{target}", route.id.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::{Matching, Method, match_route};

    fn spelled(path: &str, text: &str) -> String {
        let Matching::Found(mut found) = match_route(Some(Method::Get), path) else { return String::new() };
        found.fold();
        let query = Query::parse(found.route.query, text).unwrap();
        let target = target(&found, &query);
        key(&found, &Principal::Anonymous, &target, false)
    }

    #[test]
    fn equal_requests_share_a_cached_response() {
        let listed = spelled("/v1/vaults", "riskTier=CORE,prime&min_score=7.50&utm_source=x&page=1");
        assert_eq!(listed, "3/VaultList/all/v1/vaults?minRiskScore=7.5&riskTier=prime,core");
        assert_eq!(listed, spelled("/v1/vaults", "minRiskScore=7.5&riskTier=prime,core&limit=20"));
    }

    #[test]
    fn responses_that_depend_on_the_caller_are_cached_per_content_class() {
        let named = |path: &str, principal: &Principal| {
            let Matching::Found(found) = match_route(Some(Method::Get), path) else { return String::new() };
            key(&found, principal, path, false)
        };
        let holder = Principal::Key { id: 1, org_id: 1, plan: rds_shared::access::Plan::Data };
        let other = Principal::Key { id: 2, org_id: 2, plan: rds_shared::access::Plan::Embedded };
        assert_ne!(named("/v1/vaults/scores", &holder), named("/v1/vaults/scores", &Principal::Anonymous));
        assert_eq!(named("/v1/vaults/scores", &holder), named("/v1/vaults/scores", &other));
        assert_eq!(named("/v1/vaults", &holder), named("/v1/vaults", &Principal::Anonymous));
        let Matching::Found(list) = match_route(Some(Method::Get), "/v1/vaults") else { panic!("the route exists") };
        let cut = |principal: &Principal| key(&list, principal, "/v1/vaults?page=3&limit=99", true);
        assert_ne!(cut(&holder), cut(&Principal::Anonymous), "a page that is longer with a key");
    }

    #[test]
    fn the_case_of_an_evm_address_makes_no_second_cache_entry() {
        let (upper, lower) =
            ("0x00B6F2C15E4439749F192D10C70F65354848CF4B", "0x00b6f2c15e4439749f192d10c70f65354848cf4b");
        for suffix in [
            "",
            "/snapshots",
            "/score-history",
            "/events",
            "/holders",
            "/holders/history",
            "/markets",
            "/strategies",
            "/strategy",
        ] {
            let path = |address: &str| format!("/v1/vault/ethereum/{address}{suffix}");
            assert_eq!(spelled(&path(upper), ""), spelled(&path(lower), ""));
        }
        let id = |protocol: &str, address: &str| format!("/v1/vaults/{protocol}-1-{address}");
        assert_eq!(spelled(&id("Aave", upper), ""), spelled(&id("aave", lower), ""));
    }

    #[test]
    fn markets_symbols_feeds_and_holders_have_one_spelling_each() {
        for (one, other) in [
            ("/v1/markets/Aave-V3-base-core", "/v1/markets/aave-v3-base-core"),
            ("/v1/assets/usdc/history", "/v1/assets/USDC/history"),
            (
                "/v1/oracle/base/0x00B6F2C15E4439749F192D10C70F65354848CF4B",
                "/v1/oracle/base/0x00b6f2c15e4439749f192d10c70f65354848cf4b",
            ),
            (
                "/v1/portfolio/0x00B6F2C15E4439749F192D10C70F65354848CF4B",
                "/v1/portfolio/0x00b6f2c15e4439749f192d10c70f65354848cf4b",
            ),
        ] {
            assert_eq!(spelled(one, ""), spelled(other, ""));
        }
    }

    #[test]
    fn the_case_of_a_solana_address_is_part_of_it() {
        let (one, other) =
            ("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "tokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
        assert_ne!(spelled(&format!("/v1/vault/solana/{one}"), ""), spelled(&format!("/v1/vault/solana/{other}"), ""));
    }

    #[test]
    fn keyed_and_anonymous_callers_have_different_cache_keys() {
        for route in rds_shared::route::ROUTES.iter().filter(|route| route.cache.by_class) {
            let found = Found { route, path: vec!["1".to_owned(); route.path.matches('{').count()] };
            let keyed = Principal::Key { id: 1, org_id: 1, plan: rds_shared::access::Plan::Data };
            let target = found.canonical_path();
            assert_ne!(
                key(&found, &Principal::Anonymous, &target, false),
                key(&found, &keyed, &target, false),
                "{}",
                route.path
            );
        }
    }

    #[test]
    fn a_malformed_address_reaches_the_origin_unchanged() {
        assert!(spelled("/v1/vault/ethereum/0xZZ", "").ends_with("/v1/vault/ethereum/0xZZ"));
    }
}
