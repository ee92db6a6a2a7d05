//! Random valid queries to every route of the read model.

use anyhow::{Context, Result, bail, ensure};
use rds_shared::access::{Plan, Principal};
use rds_shared::read_model::{self, request::Request};
use rds_shared::route::param::{Kind, Param, Registry};
use rds_shared::route::{Matching, Method, Query, ROUTES, Route, RouteId, match_route};
use rds_shared::wire::{Timestamp, percent};
use serde_json::Value;

use crate::market::Market;
use crate::random::Random;

/// Of a hundred parameters of a route, this many are given.
const GIVEN: u64 = 30;
/// Values of filters that take any name.
const NAMES: [&str; 6] = ["v1", "v3", "bench", "fund", "unknown", "(unknown)"];
/// Maximum number of a page.
const PAGES: u64 = 8;
/// Bytes that need no percent-encoding in a value.
const PLAIN: &[u8] = b",:";

/// Draws queries. Equal seeds and equal facts give equal queries.
pub struct Queries {
    random: Random,
    routes: Vec<&'static Route>,
    chains: Vec<String>,
    protocols: Vec<String>,
    curators: Vec<String>,
    symbols: Vec<String>,
    /// Names of vaults, whose parts are searched for.
    titles: Vec<String>,
    /// Chain and address of price feeds.
    feeds: Vec<(String, String)>,
}

impl Queries {
    /// Reads the names that filters take from the market's origin.
    pub fn of(market: &Market, seed: u64) -> Result<Self> {
        let chains = column(market, "/v1/chains", "slug")?;
        let chain = chains.first().context("the market has no chain")?;
        let addresses = column(market, &format!("/v1/oracle?limit=100&chain={chain}"), "address")?;
        Ok(Queries {
            random: Random(seed),
            routes: ROUTES.iter().filter(|route| read_model::serves(route.id)).collect(),
            feeds: addresses.into_iter().map(|address| (chain.clone(), address)).collect(),
            protocols: column(market, "/v1/protocols?limit=100", "id")?,
            curators: column(market, "/v1/curators?limit=100", "id")?,
            symbols: column(market, "/v1/assets?limit=100", "asset_symbol")?,
            titles: column(market, "/v1/vaults?limit=100", "name")?,
            chains,
        })
    }

    /// The routes that queries are drawn for.
    pub fn routes(&self) -> Vec<RouteId> {
        self.routes.iter().map(|route| route.id).collect()
    }

    /// The path and query of the next request.
    pub fn next(&mut self) -> Result<String> {
        loop {
            let target = self.draw()?;
            if is_valid(&target)? {
                return Ok(target);
            }
        }
    }

    fn draw(&mut self) -> Result<String> {
        let route = *self.random.of(&self.routes).context("no routes")?;
        let mut target = self.path(route)?;
        let mut before = '?';
        for param in route.query {
            if self.random.below(100) < GIVEN {
                target.push(before);
                target.push_str(param.name);
                target.push('=');
                percent::encode_into(&self.value(param), PLAIN, &mut target);
                before = '&';
            }
        }
        Ok(target)
    }

    fn path(&mut self, route: &Route) -> Result<String> {
        if route.id != RouteId::OracleByAddress {
            return Ok(route.path.to_owned());
        }
        let (chain, address) = self.random.of(&self.feeds).context("the market has no price feed")?;
        Ok(route.path.replace("{chain}", chain).replace("{address}", address))
    }

    fn value(&mut self, param: &Param) -> String {
        let random = &mut self.random;
        match param.kind {
            Kind::Int { min, .. } if param.name == "page" => (min.unsigned_abs() + random.below(PAGES)).to_string(),
            Kind::Int { min, max, .. } => {
                let max = max.min(1_000).abs_diff(min);
                (min.unsigned_abs() + random.below(max + 1)).to_string()
            }
            // Values of all magnitudes, because amounts are spread over many.
            Kind::Decimal { min, max } if max > 100.0 => (min + 10f64.powf(random.fraction() * 9.0)).to_string(),
            Kind::Decimal { min, max } => (min + (max - min) * random.fraction()).to_string(),
            Kind::Flag => (random.below(2) == 0).to_string(),
            Kind::Choice(words) | Kind::Word(words) => random.of(words).copied().unwrap_or_default().to_owned(),
            Kind::Choices(words) => random.some(words).join(","),
            Kind::Names => match (param.registry, param.name) {
                (Some(Registry::Chains | Registry::ChainsOrUnmapped), _) => random.some(&self.chains).join(","),
                (Some(Registry::Protocols), _) => random.some(&self.protocols).join(","),
                (Some(Registry::Curators), _) => random.some(&self.curators).join(","),
                (None, "asset") => random.some(&self.symbols).join(","),
                (None, _) => random.some(&NAMES).join(","),
            },
            Kind::Text { .. } | Kind::Verbatim => {
                let title: Vec<char> = random.of(&self.titles).map(|title| title.chars().collect()).unwrap_or_default();
                let from = random.below(title.len() as u64) as usize;
                let length = 1 + random.below(5) as usize;
                title.into_iter().skip(from).take(length).collect()
            }
            Kind::Instant => format!("2026-{:02}-{:02}T00:00:00Z", 1 + random.below(12), 1 + random.below(28)),
        }
    }
}

/// Whether the service accepts the request from the holder of a key.
fn is_valid(target: &str) -> Result<bool> {
    let (path, text) = target.split_once('?').unwrap_or((target, ""));
    let Matching::Found(found) = match_route(Some(Method::Get), path) else { bail!("no route has the path {path}") };
    let Ok(query) = Query::parse(found.route.query, text) else { return Ok(false) };
    let principal = Principal::Key { id: 1, org_id: 1, plan: Plan::Data };
    let request = Request {
        found: &found,
        query: &query,
        unknown_values: None,
        principal: &principal,
        if_none_match: None,
        now: Timestamp::from_seconds(0),
    };
    Ok(read_model::check(&request).is_ok())
}

/// A field of the rows of one page, where it is a text.
fn column(market: &Market, list: &str, field: &str) -> Result<Vec<String>> {
    let page: Value = serde_json::from_slice(&market.ask(list)?)?;
    let rows = page.get("data").and_then(Value::as_array).with_context(|| format!("{list} has no rows"))?;
    let texts: Vec<String> =
        rows.iter().filter_map(|row| row.get(field)).filter_map(Value::as_str).map(str::to_owned).collect();
    ensure!(!texts.is_empty(), "the rows of {list} have no {field}");
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn queries_are_valid_and_cover_every_route_and_parameter() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut queries = Queries {
            random: Random(1),
            routes: ROUTES.iter().filter(|route| read_model::serves(route.id)).collect(),
            chains: names(&["base", "devnet"]),
            protocols: names(&["aave"]),
            curators: names(&["steak"]),
            symbols: names(&["USDC"]),
            titles: names(&["Prime & Core 100%"]),
            feeds: vec![("base".to_owned(), format!("0x{:040x}", 1))],
        };
        let mut given: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for _ in 0..20_000 {
            let target = queries.next().unwrap();
            assert!(is_valid(&target).unwrap());
            let (path, text) = target.split_once('?').unwrap_or((&target, ""));
            let names = text.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.to_owned());
            given.entry(path.to_owned()).or_default().extend(names);
        }
        assert_eq!(given.len(), queries.routes().len());
        for route in queries.routes.clone() {
            let path = queries.path(route).unwrap();
            let missing: Vec<_> = route.query.iter().filter(|param| !given[&path].contains(param.name)).collect();
            assert!(missing.is_empty(), "{path}: {missing:?}");
        }
    }
}
