//! Requests drawn from the route table, half of them damaged.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use rds_shared::route::param::{Kind, Param};
use rds_shared::route::{Method, ROUTES, Route, RouteId};
use rds_shared::wire::percent;
use serde_json::Value;
use xtask::workspace;

use super::damage;
use crate::market::Market;
use crate::random::Random;

/// The beginnings of the paths whose answers edge and origin must share. Pages, status and usage differ between them or in time.
const COMPARED: [&str; 12] = [
    "/v1/vaults",
    "/v1/vault/",
    "/v1/assets",
    "/v1/markets",
    "/v1/oracle",
    "/v1/curators",
    "/v1/protocols",
    "/v1/chains",
    "/v1/rwa",
    "/v1/events",
    "/v1/security-events",
    "/v1/rates",
];
/// Texts that are easily mishandled.
pub const ODD: [&str; 24] = [
    "",
    " ",
    "0",
    "-0",
    "-1",
    "1e9",
    "1e400",
    "NaN",
    "null",
    "true",
    "\u{0}",
    "\n",
    "\"",
    "'",
    "\\",
    "%",
    ",",
    "..",
    "/",
    "é",
    "İ",
    "日本",
    "🙂",
    "${jndi:x}",
];
/// Bytes that need no percent-encoding in a value.
const PLAIN: &[u8] = b",:-._~";

/// One request.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The runtime may refuse it before our code sees it.
    pub is_odd_http: bool,
    /// The origin must answer alike.
    pub is_comparable: bool,
}

impl Drawn {
    /// The bytes on the connection.
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nhost: bench\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() || self.method == "POST" {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The request in one line, for a person who repeats it. The key is not printed.
    pub fn summary(&self) -> String {
        let target: String = self.target.chars().take(300).collect();
        let headers: Vec<String> = self
            .headers
            .iter()
            .filter(|(name, _)| name != "authorization")
            .map(|(name, value)| format!("{name}: {:.60}", value))
            .collect();
        format!(
            "{} {target:?} {headers:?} {} bytes {:.120}",
            self.method,
            self.body.len(),
            String::from_utf8_lossy(&self.body)
        )
    }
}

/// Draws requests.
#[derive(Clone)]
pub struct Draws {
    random: Random,
    key: String,
    routes: Vec<&'static Route>,
    /// Existing values by the name of a path parameter.
    names: BTreeMap<&'static str, Vec<String>>,
    /// A valid body by path.
    bodies: BTreeMap<String, Vec<u8>>,
}

impl Draws {
    /// Reads existing names from the market's origin, and valid bodies from the OpenAPI document.
    pub fn of(market: &Market, key: &str) -> Result<Self> {
        let column = |list: &str, field: &str| -> Result<Vec<String>> {
            let page: Value = serde_json::from_slice(&market.ask(list)?)?;
            let rows = page.get("data").and_then(Value::as_array).with_context(|| format!("{list} has no rows"))?;
            Ok(rows
                .iter()
                .filter_map(|row| row.get(field))
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .collect())
        };
        let vaults = "/v1/vaults?limit=100";
        let ids = [
            column(vaults, "id")?,
            column("/v1/curators?limit=50", "id")?,
            column("/v1/protocols?limit=50", "id")?,
            column("/v1/markets?limit=50", "id")?,
            vec!["prime-vaults".to_owned(), "1".to_owned()],
        ];
        let names = BTreeMap::from([
            ("id", ids.concat()),
            ("network", column("/v1/chains", "slug")?),
            ("chain", column("/v1/chains", "slug")?),
            ("chain_id", column("/v1/chains", "chain_id")?),
            ("address", column(vaults, "address")?),
            ("symbol", column("/v1/assets?limit=50", "asset_symbol")?),
            ("asset_id", column("/v1/rwa?limit=50", "id")?),
        ]);
        let document: Value = serde_json::from_slice(&std::fs::read(workspace::root().join("openapi/openapi.json"))?)?;
        let paths = document.get("paths").and_then(Value::as_object).context("a document without paths")?;
        let example = |operations: &Value| {
            Some(operations.pointer("/post/requestBody/content/application~1json/example")?.to_string().into_bytes())
        };
        let bodies = paths.iter().filter_map(|(path, operations)| Some((path.clone(), example(operations)?))).collect();
        // A stream does not end.
        let routes = ROUTES.iter().filter(|route| route.id != RouteId::EventStream).collect();
        Ok(Draws { random: Random(0), key: key.to_owned(), routes, names, bodies })
    }

    /// The same draws with another seed.
    pub fn with_seed(&self, seed: u64) -> Self {
        Draws { random: Random(seed), ..self.clone() }
    }

    /// The next request.
    pub fn next(&mut self) -> Drawn {
        let mut drawn = self.whole();
        if self.random.one_in(2) {
            for _ in 0..=self.random.below(3) {
                damage::damage(&mut self.random, &mut drawn);
            }
        }
        // A stream does not end, and neither does the page's answer to it.
        if drawn.target.contains("/stream") {
            return self.next();
        }
        drawn
    }

    /// A request as the route wants it, with existing names where there are some.
    fn whole(&mut self) -> Drawn {
        let place = self.random.place(self.routes.len());
        let Some(route) = self.routes.get(place).copied() else { return Drawn::default() };
        let mut target = String::new();
        for segment in route.path.split('/').skip(1) {
            target.push('/');
            match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) => {
                    let values = self.names.get(name).map_or(&[][..], Vec::as_slice);
                    percent::encode_into(self.random.text(values), PLAIN, &mut target);
                }
                None => target.push_str(segment),
            }
        }
        let mut joint = '?';
        for param in route.query {
            if self.random.one_in(3) {
                target.push(joint);
                target.push_str(param.name);
                target.push('=');
                let value = self.value(param);
                percent::encode_into(&value, PLAIN, &mut target);
                joint = '&';
            }
        }
        let mut headers =
            vec![("accept".to_owned(), "application/json".to_owned()), ("cf-connecting-ip".to_owned(), self.address())];
        let has_key = !self.random.one_in(8);
        if has_key {
            headers.push(("authorization".to_owned(), format!("Bearer {}", self.key)));
        }
        let body = self.bodies.get(route.path).filter(|_| route.method == Method::Post).cloned().unwrap_or_default();
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let is_comparable =
            has_key && route.method == Method::Get && COMPARED.iter().any(|start| route.path.starts_with(start));
        Drawn { method: route.method.as_str().to_owned(), target, headers, body, is_odd_http: false, is_comparable }
    }

    /// An address of a caller, so that no limit of one address ends the run.
    fn address(&mut self) -> String {
        let [one, two, three] = [0, 1, 2].map(|_| self.random.below(256));
        format!("10.{one}.{two}.{three}")
    }

    fn value(&mut self, param: &Param) -> String {
        if self.random.one_in(6) {
            return self.random.text(&ODD).to_owned();
        }
        let random = &mut self.random;
        match param.kind {
            Kind::Int { min, max, .. } => {
                let near = [
                    min,
                    max,
                    min.saturating_sub(1),
                    max.saturating_add(1),
                    min.saturating_add(random.below(50) as i64),
                ];
                near.get(random.place(near.len())).copied().unwrap_or(min).to_string()
            }
            Kind::Decimal { min, max } => {
                let near = [min, max, (min + max) / 2.0, min - 1.0, random.below(1_000_000_000) as f64 / 10.0];
                near.get(random.place(near.len())).copied().unwrap_or(min).to_string()
            }
            Kind::Flag => random.text(&["true", "false", "TRUE", "1"]).to_owned(),
            Kind::Choice(words) | Kind::Word(words) | Kind::Choices(words) => random.text(words).to_owned(),
            Kind::Names => {
                let all = ["chain", "id", "symbol", "chain_id"]
                    .map(|name| self.names.get(name).map_or(&[][..], Vec::as_slice));
                let from = all.get(random.place(all.len())).copied().unwrap_or_default();
                [random.text(from), random.text(from)].join(",")
            }
            Kind::Text { .. } | Kind::Verbatim => {
                random.text(&["prime", "a", "usd 100%", "attack -bridge", "\"two words\""]).to_owned()
            }
            Kind::Instant => random
                .text(&["2026-11-01", "2026-11-01T00:00:00Z", "2026-11-01T00:00:00.123456+02:00", "2026-02-30"])
                .to_owned(),
        }
    }
}

impl Default for Drawn {
    /// The index.
    fn default() -> Self {
        Drawn {
            method: "GET".to_owned(),
            target: "/".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            is_odd_http: false,
            is_comparable: false,
        }
    }
}
