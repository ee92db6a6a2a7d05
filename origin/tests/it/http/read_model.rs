//! The read model answers alike wherever it is held: the origin's HTTP answers and those of another holder of the same encoded rows have equal
//! status, headers and bodies.
//!
//! The requests are drawn from the route table: valid and invalid values of every parameter, by every kind of caller, with and without
//! `If-None-Match`.

use crate::http::odd_texts::Dice;
use crate::support::db::TestDb;
use crate::support::market::{address, line};
use crate::support::testapp::{NOW, Reply, TestApp, TestOptions, holder, signed_as};
use crate::vaults::lists::with_header;
use rds_engine::clock::Clock;
use rds_shared::access::{Plan, Principal, gate};
use rds_shared::read_model::request::Request;
use rds_shared::read_model::{self, ReadModel};
use rds_shared::replica::{Family, Row};
use rds_shared::route::param::{Kind, Param};
use rds_shared::route::unknown::{refuse_unknown_values, unknown_values};
use rds_shared::route::{Matching, Method, Query, ROUTES, Route, RouteId, Tag, TagVersions, match_route};
use rds_shared::wire::{ApiError, RequestId, Timestamp, headers, percent};
use rds_simulate::{self as simulate, Options};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const SEEN: &str = "2026-11-20T23:00:00Z";
/// Requests for each route.
const REQUESTS: usize = 300;
/// Texts that no row has, and texts that are easily mishandled.
const ODD: &[&str] =
    &["nowhere", "a", "0x", "", " ", "\u{0}", "\n", "\"", "\\", "%", ",", "é", "İ", "Σ", "日本", "1e9", "-0", "null"];

/// A service with a simulated market and vaults of the protocol whose rewards are listed, so that every list has rows.
async fn world() -> TestApp {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, Options { seed: 5, vaults: 60, hours: 4 }, None, &mut |_: &str| ()).await.unwrap();
    let test = TestApp::over(facts, TestOptions::default()).await;
    let chains = test.json("/v1/chains").await["data"].as_array().unwrap().clone();
    let chain = chains.iter().find(|chain| chain["namespace"] == "evm").unwrap()["chain_id"].clone();
    let mut lines = line("protocol", SEEN, json!({ "id": "royco", "name": "Royco" }));
    for number in 0x40..0x43 {
        let (id, at) = (format!("royco-{chain}-{}", address(number)), address(number));
        let name = format!("Royco {number}");
        let vault =
            json!({ "protocol_id": "royco", "chain_id": chain, "address": at, "name": name, "asset_mode": "holdings" });
        let state = json!({ "vault_id": id, "tvl_usd": number, "base_apr": 0.02, "incentives": "checked" });
        let reward =
            json!({ "vault_id": id, "campaign_id": "c", "side": "supply", "reward_type": "points", "apr": 0.0 });
        lines.push_str(
            &[line("vault", SEEN, vault), line("vault_state", SEEN, state), line("reward", SEEN, reward)].concat(),
        );
    }
    test.ingest(&lines).await;
    test
}

/// An answer without what differs between two equal requests: the request's id, and the signature over it.
#[derive(Debug, PartialEq)]
struct Answered {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

/// What the origin answered over HTTP.
fn of_origin(reply: &Reply) -> Answered {
    let fields =
        reply.headers.iter().filter(|(name, _)| ![headers::REQUEST_ID, headers::ANSWER].contains(&name.as_str()));
    let fields = fields.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    Answered { status: reply.status.as_u16(), headers: fields.collect(), body: reply.text() }
}

/// What a holder of `model` answers to the request that the origin answered with `reply`.
fn of_holder(model: &ReadModel, known: &TagVersions, asked: &Asked, now: Timestamp, request_id: RequestId) -> Answered {
    let mut fields = BTreeMap::new();
    match respond(model, known, asked, now, &mut fields) {
        Ok((status, body)) => Answered { status, headers: fields, body },
        Err(error) => {
            let body = error.to_json(request_id);
            for (name, value) in [
                ("content-type", headers::JSON.to_owned()),
                ("content-length", body.len().to_string()),
                ("cache-control", headers::NO_STORE.to_owned()),
            ] {
                fields.insert(name.to_owned(), value);
            }
            if error.status() == 401 {
                fields.insert("www-authenticate".to_owned(), "Bearer".to_owned());
            }
            Answered { status: error.status(), headers: fields, body }
        }
    }
}

fn respond(
    model: &ReadModel,
    known: &TagVersions,
    asked: &Asked,
    now: Timestamp,
    fields: &mut BTreeMap<String, String>,
) -> Result<(u16, String), ApiError> {
    let (path, text) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    // A path segment with a control character matches no route.
    let Matching::Found(found) = match_route(Some(Method::Get), path) else { return Err(ApiError::not_found("route")) };
    let route = found.route;
    gate::admit(route.access, &asked.caller)?;
    let query = Query::parse(route.query, text)?;
    if let Some(ignored) = query.ignored() {
        fields.insert(headers::IGNORED_PARAMETERS.to_owned(), ignored);
    }
    let unknown = unknown_values(&query, |registry, name| model.registries.knows(registry, name));
    if let Some(unknown) = unknown.as_deref().filter(|_| query.is_strict()) {
        return Err(refuse_unknown_values(unknown));
    }
    let request = Request {
        found: &found,
        query: &query,
        unknown_values: unknown.as_deref(),
        principal: &asked.caller,
        if_none_match: asked.if_none_match.as_deref(),
        now,
    };
    read_model::check(&request)?;
    let response = read_model::answer(model, request).expect("the read model serves the route")?;
    let tags = known.only(route.tags).with(Tag::FailSafe, known.of(Tag::FailSafe));
    response.head(tags, unknown.clone()).write(Some(route), |field, value| {
        fields.insert(field.name().to_owned(), value.into_owned());
    });
    let body = response.body.as_ref().map(|body| String::from_utf8(body.bytes().to_vec()).unwrap());
    Ok((response.status(), body.unwrap_or_default()))
}

/// A request to compare.
#[derive(Debug, Clone)]
struct Asked {
    target: String,
    caller: Principal,
    if_none_match: Option<String>,
}

/// Draws requests to one route.
struct Draw {
    dice: Dice,
    /// Texts of the route's rows.
    texts: Vec<String>,
}

impl Draw {
    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.dice.below(all.len())].clone()
    }

    /// True once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.dice.below(n) == 0
    }

    /// A text of a row, a part of one, or an odd text.
    fn text(&mut self) -> String {
        if self.texts.is_empty() || self.once_in(4) {
            return self.of(ODD).to_owned();
        }
        let texts = std::mem::take(&mut self.texts);
        let text = self.of(&texts);
        self.texts = texts;
        match self.dice.below(3) {
            0 => text.to_uppercase(),
            1 => text.chars().skip(self.dice.below(3)).take(1 + self.dice.below(6)).collect(),
            _ => text,
        }
    }

    fn value(&mut self, param: &Param) -> String {
        match param.kind {
            Kind::Int { min, max, .. } => {
                let near = 1 + i64::try_from(self.dice.below(40)).unwrap();
                let numbers =
                    [min, near, near, near, max, min - 1, max.saturating_add(1)].map(|number| number.to_string());
                if self.once_in(12) {
                    self.of(&["x", "", "1.5", "99999999999999999999"]).to_owned()
                } else {
                    self.of(&numbers)
                }
            }
            Kind::Decimal { min, max } => {
                let part = min + (max - min) * self.dice.below(1_000) as f64 / 1_000.0;
                let numbers = [min, max, part, part, part.sqrt(), max * 2.0 + 1.0].map(|number| number.to_string());
                if self.once_in(12) { self.of(&["x", "", "NaN", "-0", "1e3"]).to_owned() } else { self.of(&numbers) }
            }
            Kind::Flag => self.of(&["true", "false", "TRUE", "false", "true", "1"]).to_owned(),
            Kind::Choice(words) | Kind::Word(words) => {
                let word = self.of(words).to_owned();
                match self.dice.below(10) {
                    0 => word.to_uppercase(),
                    1 => self.text(),
                    _ => word,
                }
            }
            Kind::Choices(words) => {
                let some: Vec<&str> = (0..=self.dice.below(3)).map(|_| self.of(words)).collect();
                if self.once_in(10) { self.text() } else { some.join(",") }
            }
            Kind::Names => {
                let number = if self.once_in(30) { 60 } else { 1 + self.dice.below(3) };
                let some: Vec<String> =
                    (0..number).map(|place| if number > 3 { place.to_string() } else { self.text() }).collect();
                some.join(",")
            }
            Kind::Text { .. } | Kind::Verbatim => {
                if self.once_in(30) {
                    "a".repeat(300)
                } else {
                    self.text()
                }
            }
            Kind::Instant => self.of(&[NOW, "2026-11-20T23:50:00.123Z", "yesterday", ""]).to_owned(),
        }
    }

    fn query(&mut self, route: &Route) -> String {
        let mut pairs = Vec::new();
        for _ in 0..self.dice.below(4) {
            let Some(param) = (!route.query.is_empty()).then(|| self.of(route.query)) else { break };
            let names: Vec<&str> = param.aliases.iter().chain([&param.name]).copied().collect();
            let mut value = String::new();
            percent::encode_into(&self.value(&param), b",:", &mut value);
            pairs.push(format!("{}={value}", self.of(&names)));
        }
        if self.once_in(15) {
            pairs.push(self.of(&["strict=true", "strict=true", "strict=false", "strict=maybe"]).to_owned());
        }
        if self.once_in(15) {
            pairs.push(self.of(&["foo=1", "%ff=x", "=", "&", "Limit=3", "chain%5B%5D=base"]).to_owned());
        }
        pairs.join("&")
    }

    fn path(&mut self, route: &Route, places: &[(String, String)]) -> String {
        let place = if self.once_in(3) || places.is_empty() { (self.text(), self.text()) } else { self.of(places) };
        let segment = |part: &'static str| {
            let value = match part {
                "{chain}" => &place.0,
                "{address}" => &place.1,
                _ => return part.to_owned(),
            };
            let mut encoded = String::new();
            percent::encode_into(if value.is_empty() { "-" } else { value }, b":", &mut encoded);
            encoded
        };
        route.path.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    fn caller(&mut self) -> Principal {
        let app = Principal::FirstParty { origin: "https://app.example".to_owned() };
        self.of(&[Principal::Anonymous, app, holder(Plan::Data), holder(Plan::Data), holder(Plan::Embedded)])
    }
}

/// Every short text in a JSON value.
fn texts(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() <= 60 => _ = into.insert(text.clone()),
        Value::Array(all) => all.iter().for_each(|one| texts(one, into)),
        Value::Object(all) => all.values().for_each(|one| texts(one, into)),
        _ => {}
    }
}

fn served() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| read_model::serves(route.id))
}

async fn ask(test: &TestApp, asked: &Asked) -> Reply {
    let request = signed_as(&asked.caller.to_json(), "GET", &asked.target, "");
    test.ask(match &asked.if_none_match {
        Some(etag) => with_header(request, "if-none-match", etag),
        None => request,
    })
    .await
}

#[tokio::test]
async fn every_holder_of_the_rows_answers_every_request_with_the_same_bytes() {
    let test = world().await;
    let catalog = test.app.catalog.get().unwrap();
    let holder_of_rows = ReadModel::from_rows(catalog.model.version, &catalog.model.rows(), None).unwrap();
    let feeds = test.json("/v1/oracle?limit=100").await;
    let place = |feed: &Value| (feed["chain_id"].to_string(), feed["address"].as_str().unwrap().to_owned());
    let places: Vec<(String, String)> = feeds["data"].as_array().unwrap().iter().map(place).collect();
    let mut statuses: BTreeMap<(RouteId, u16), usize> = BTreeMap::new();
    for (number, route) in (0..).zip(served()) {
        let mut known = BTreeSet::new();
        if !route.path.contains('{') {
            let all = test.get_as(&holder(Plan::Embedded), route.path).await.json();
            texts(&all["data"], &mut known);
            assert!(!all["data"].as_array().is_some_and(Vec::is_empty), "{} has no rows", route.path);
        }
        let mut draw = Draw { dice: Dice(number), texts: known.into_iter().collect() };
        for _ in 0..REQUESTS {
            let target = format!("{}?{}", draw.path(route, &places), draw.query(route));
            let mut asked = Asked { target, caller: draw.caller(), if_none_match: None };
            // The second request is conditional, if the first had an ETag. The clock moves on in between.
            for _ in 0..2 {
                let reply = ask(&test, &asked).await;
                let request_id = RequestId::parse(reply.header(headers::REQUEST_ID).unwrap()).unwrap();
                let (tags, now) = (test.app.catalog.tags(), test.app.clock.now());
                let expected = of_holder(&holder_of_rows, &tags, &asked, now, request_id);
                assert_eq!(of_origin(&reply), expected, "{asked:?}");
                *statuses.entry((route.id, expected.status)).or_default() += 1;
                let Some(etag) = reply.header("etag") else { break };
                asked.if_none_match =
                    Some(draw.of(&[etag.to_owned(), format!("\"other\", {etag}"), "W/\"other\"".to_owned()]));
                test.app.clock.advance(i64::from(u8::try_from(draw.dice.below(3)).unwrap()));
            }
        }
    }
    for route in served() {
        let count = |status| statuses.get(&(route.id, status)).copied().unwrap_or_default();
        assert!(count(200) > 40 && count(304) > 10, "{:?}: {statuses:?}", route.id);
        assert!(route.query.is_empty() || count(400) > 0, "{:?}: {statuses:?}", route.id);
    }
}

#[tokio::test]
async fn a_refresh_changes_only_the_rows_whose_facts_changed() {
    let test = world().await;
    let before = test.app.catalog.get().unwrap().model.clone();
    let id = test.json("/v1/royco").await["data"][0]["id"].as_str().unwrap().to_owned();
    let state = json!({ "vault_id": id, "tvl_usd": 77.5, "base_apr": 0.02, "incentives": "checked" });
    test.ingest(&line("vault_state", "2026-11-20T23:30:00Z", state)).await;
    let after = test.app.catalog.get().unwrap().model.clone();
    let (earlier, rows) = (before.rows(), after.rows());
    let is_new = |family, row: &&Row| !earlier.find(family, row.key()).is_some_and(|known| known.is_same(row));
    let changed: Vec<&[u8]> =
        rows.of(Family::Vaults).iter().filter(|row| is_new(Family::Vaults, row)).map(Row::key).collect();
    assert_eq!(changed, [id.as_bytes()]);
    for family in [Family::Markets, Family::Feeds, Family::Assets, Family::Rwa, Family::Curators, Family::Losses] {
        assert!(rows.shares(&earlier, family), "{}", family.name());
    }
    assert!(!rows.shares(&earlier, Family::Protocols), "the protocol's total changed");
    // Another holder of the previous rows, to which only the changed ones are sent.
    let held = ReadModel::from_rows(before.version, &earlier, None).unwrap();
    let next = ReadModel::from_rows(after.version, &rows, Some((&held, &earlier))).unwrap();
    for route in served().filter(|route| !route.path.contains('{')) {
        let asked = Asked { target: route.path.to_owned(), caller: holder(Plan::Embedded), if_none_match: None };
        let of = |model| {
            let mut fields = BTreeMap::new();
            let (tags, now) = (test.app.catalog.tags(), test.app.clock.now());
            (respond(model, &tags, &asked, now, &mut fields).unwrap(), fields)
        };
        assert_eq!(of(&next), of(&after), "{}", route.path);
    }
}
