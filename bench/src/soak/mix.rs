//! The mixed load: typical requests at a constant rate, each with its expected status.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::http::{self, Answer, Connection};
use crate::market::LIST;

/// Connections of one load.
const CONNECTIONS: u64 = 4;
/// Number of thresholds: a prime, so that steps of [`STEP`] visit all of them.
const THRESHOLDS: u64 = 999_983;
const STEP: u64 = 618_033;
/// Vaults in a batch.
const BATCH: usize = 20;
/// Maximum fraction of requests with an unexpected status or a cut connection.
const MAX_UNEXPECTED: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The same list each time, with a key.
    Hit,
    /// Without a key, from a new address each time.
    Anonymous,
    /// A list that was not requested before, with a key.
    Miss,
    /// A conditional request for the list.
    Confirm,
    /// With an unknown key.
    Unknown,
    /// With a key that is limited to one request per minute.
    Limited,
    /// A POST that looks up many vaults.
    Batch,
}

/// The kinds of twenty consecutive requests. The order repeats, and mixes the kinds so that none comes in bursts.
const ORDER: [Kind; 20] = {
    use Kind::{Anonymous as A, Batch as B, Confirm as C, Hit as H, Limited as L, Miss as M, Unknown as U};
    [H, A, M, C, H, U, M, A, H, B, H, L, M, A, H, C, U, M, H, L]
};

impl Kind {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Hit => "keyed hits",
            Kind::Anonymous => "anonymous reads",
            Kind::Miss => "misses",
            Kind::Confirm => "304s",
            Kind::Unknown => "401s",
            Kind::Limited => "429s",
            Kind::Batch => "batches",
        }
    }

    /// Whether a status is expected. The limited key passes once per minute, and a list may have changed.
    fn expects(self, status: u16) -> bool {
        match self {
            Kind::Hit | Kind::Anonymous | Kind::Miss | Kind::Batch => status == 200,
            Kind::Confirm => matches!(status, 304 | 200),
            Kind::Unknown => status == 401,
            Kind::Limited => matches!(status, 429 | 200),
        }
    }
}

/// Generates the requests.
pub struct Callers {
    key: String,
    narrow: String,
    etag: String,
    batch: Vec<u8>,
    asked: AtomicU64,
}

impl Callers {
    /// `key` has no effective limit, `narrow` has one request per minute; `list` is the current answer.
    pub fn new(key: String, narrow: String, list: &Answer) -> Result<Self> {
        let body: Value = serde_json::from_slice(&list.body)?;
        let rows = body.get("data").and_then(Value::as_array).context("a list has rows")?;
        let ids: Vec<_> = rows.iter().filter_map(|row| row.get("id")).take(BATCH).collect();
        let batch = json!({ "ids": ids, "addresses": [] }).to_string().into_bytes();
        let etag = list.etag.clone().context("a list has an ETag")?;
        Ok(Callers { key, narrow, etag, batch, asked: AtomicU64::new(0) })
    }

    /// A request for the list with this key.
    pub fn list(key: &str) -> Vec<u8> {
        http::get(LIST, &keyed(key))
    }

    /// The next request and its kind.
    fn next(&self) -> (Kind, Vec<u8>) {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let kind = ORDER.get(number as usize % ORDER.len()).copied().unwrap_or(Kind::Hit);
        // Spread consecutive numbers over all bits, so that addresses and unknown keys look random.
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let [.., second, third, fourth] = (spread >> 40).to_be_bytes();
        let address = format!("cf-connecting-ip: 10.{second}.{third}.{fourth}\r\n");
        let request = match kind {
            Kind::Hit => Self::list(&self.key),
            Kind::Anonymous => {
                let targets = ["/v1/vaults?limit=5", "/v1/chains", "/v1/health", "/v1/markets"];
                let target = targets.get(number as usize / ORDER.len() % targets.len()).unwrap_or(&"/v1/chains");
                http::get(target, &address)
            }
            Kind::Miss => {
                let threshold = number * STEP % THRESHOLDS;
                let target = format!("/v1/vaults?chain=devnet&limit=20&minTvl={threshold}&sortBy=total_score");
                http::get(&target, &keyed(&self.key))
            }
            Kind::Confirm => http::get(LIST, &format!("{}if-none-match: {}\r\n", keyed(&self.key), self.etag)),
            Kind::Unknown => {
                let key = format!("pk_live_{spread:016x}{number:016x}");
                http::get(LIST, &format!("accept: application/json\r\nauthorization: Bearer {key}\r\n{address}"))
            }
            Kind::Limited => Self::list(&self.narrow),
            Kind::Batch => http::request("POST", "/v1/vaults/batch", &keyed(&self.key), &self.batch),
        };
        (kind, request)
    }
}

fn keyed(key: &str) -> String {
    format!("accept: application/json\r\nauthorization: Bearer {key}\r\ncf-connecting-ip: 192.0.2.1\r\n")
}

/// Counts of answers.
#[derive(Debug, Default)]
pub struct Answers {
    /// Number of answers by kind and status.
    pub statuses: BTreeMap<(Kind, u16), u64>,
    /// Connections that the server cut during a request.
    pub cuts: u64,
}

impl Answers {
    fn add(&mut self, other: Answers) {
        for (which, count) in other.statuses {
            *self.statuses.entry(which).or_default() += count;
        }
        self.cuts += other.cuts;
    }

    /// Number of answers.
    pub fn count(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Checks that at most [`MAX_UNEXPECTED`] of the requests have an unexpected result.
    pub fn check(&self) -> Result<()> {
        let wrong: Vec<_> = self.statuses.iter().filter(|((kind, status), _)| !kind.expects(*status)).collect();
        let count = wrong.iter().map(|(_, count)| **count).sum::<u64>() + self.cuts;
        let allowed = (self.count() as f64 * MAX_UNEXPECTED) as u64;
        ensure!(count <= allowed, "{count} of {} requests had an unexpected result: {wrong:?}", self.count());
        Ok(())
    }

    /// The counts as text.
    pub fn text(&self) -> String {
        let each = self.statuses.iter().map(|((kind, status), count)| format!("{count} {} ({status})", kind.name()));
        let cuts = (self.cuts > 0).then(|| format!("{} connections cut", self.cuts));
        each.chain(cuts).collect::<Vec<_>>().join(", ")
    }
}

/// Sends `rate` requests per second to `address` until `over`. With several connections a slow answer delays only later requests on its
/// own connection.
pub fn send(address: SocketAddr, callers: &Callers, rate: f64, over: &AtomicBool) -> Result<Answers> {
    std::thread::scope(|scope| {
        let each = rate / CONNECTIONS as f64;
        let all: Vec<_> =
            (0..CONNECTIONS).map(|_| scope.spawn(move || send_on_one(address, callers, each, over))).collect();
        let mut answers = Answers::default();
        for one in all {
            answers.add(one.join().map_err(|_| anyhow::anyhow!("a caller panicked"))??);
        }
        Ok(answers)
    })
}

fn send_on_one(address: SocketAddr, callers: &Callers, rate: f64, over: &AtomicBool) -> Result<Answers> {
    let mut answers = Answers::default();
    let mut connection = Connection::open(address)?;
    let mut due = Instant::now();
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += Duration::from_secs_f64(1.0 / rate);
        let (kind, request) = callers.next();
        match connection.send(&request).and_then(|()| connection.receive()) {
            Ok(answer) => *answers.statuses.entry((kind, answer.status)).or_default() += 1,
            Err(error) if http::was_cut(&error) => {
                answers.cuts += 1;
                connection = Connection::open(address)?;
            }
            Err(error) => return Err(error.context(kind.name())),
        }
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_unexpected_results_are_tolerated() {
        let answers = |wrong, cuts| Answers {
            statuses: [((Kind::Unknown, 401), 990), ((Kind::Unknown, 503), wrong)].into(),
            cuts,
        };
        assert!(answers(5, 4).check().is_ok());
        assert!(answers(5, 40).check().is_err());
        assert!(answers(50, 0).check().unwrap_err().to_string().contains("503"));
    }

    #[test]
    fn misses_unknown_keys_and_anonymous_reads_are_all_distinct() {
        let list = Answer {
            status: 200,
            head: String::new(),
            etag: Some("\"x\"".to_owned()),
            body: br#"{"data":[{"id":"a"}]}"#.to_vec(),
        };
        let callers = Callers::new("k".to_owned(), "n".to_owned(), &list).unwrap();
        let asked: Vec<_> = (0..4_000).map(|_| callers.next()).collect();
        let of =
            |which| asked.iter().filter(|(kind, _)| *kind == which).map(|(_, request)| request).collect::<Vec<_>>();
        for (kind, count) in [(Kind::Miss, 800), (Kind::Unknown, 400), (Kind::Anonymous, 600)] {
            let mut requests = of(kind);
            assert_eq!(requests.len(), count);
            requests.sort();
            requests.dedup();
            assert_eq!(requests.len(), count, "{kind:?}");
        }
        assert_eq!(of(Kind::Batch).len(), 200);
    }
}
