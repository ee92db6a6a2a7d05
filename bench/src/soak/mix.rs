//! The mixed load: everything that callers do all day, at a constant rate, each request with the answer that it should get.

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
/// Thresholds there are, a prime, so that each step of another size passes all of them.
const THRESHOLDS: u64 = 999_983;
const STEP: u64 = 618_033;
/// Vaults in a batch.
const BATCH: usize = 20;
/// Share of the requests that may be answered otherwise than they should, or by a cut connection.
const WRONG_SHARE: f64 = 0.01;

/// What a caller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Asks for the same list as ever, with a key.
    Hit,
    /// Asks without a key, each time from another address.
    Anonymous,
    /// Asks with a key for a list that nobody asked for.
    Miss,
    /// Asks whether the list is still what it was.
    Confirm,
    /// Shows a key that there is not.
    Unknown,
    /// Has used up an allowance of one request a minute.
    Limited,
    /// Looks many vaults up by a POST.
    Batch,
}

/// The order in which they come: of twenty requests six are hits, four are misses, and so on.
const ORDER: [Kind; 20] = {
    use Kind::{Anonymous as A, Batch as B, Confirm as C, Hit as H, Limited as L, Miss as M, Unknown as U};
    [H, A, M, C, H, U, M, A, H, B, H, L, M, A, H, C, U, M, H, L]
};

impl Kind {
    /// What it is called in tables.
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

    /// Whether an answer is what this caller should get. One request a minute of the limited key passes, and a list changes with the facts.
    fn expects(self, status: u16) -> bool {
        match self {
            Kind::Hit | Kind::Anonymous | Kind::Miss | Kind::Batch => status == 200,
            Kind::Confirm => matches!(status, 304 | 200),
            Kind::Unknown => status == 401,
            Kind::Limited => matches!(status, 429 | 200),
        }
    }
}

/// Who asks, and for what.
pub struct Callers {
    key: String,
    narrow: String,
    etag: String,
    batch: Vec<u8>,
    asked: AtomicU64,
}

impl Callers {
    /// Callers with a key that nothing limits and one of a single request a minute, who have the list already.
    pub fn new(key: String, narrow: String, list: &Answer) -> Result<Self> {
        let body: Value = serde_json::from_slice(&list.body)?;
        let rows = body.get("data").and_then(Value::as_array).context("a list has rows")?;
        let ids: Vec<_> = rows.iter().filter_map(|row| row.get("id")).take(BATCH).collect();
        let batch = json!({ "ids": ids, "addresses": [] }).to_string().into_bytes();
        let etag = list.etag.clone().context("a list has an ETag")?;
        Ok(Callers { key, narrow, etag, batch, asked: AtomicU64::new(0) })
    }

    /// A request of the list with the key that nothing limits.
    pub fn list(key: &str) -> Vec<u8> {
        http::get(LIST, &keyed(key))
    }

    /// The next request, and who sends it.
    fn next(&self) -> (Kind, Vec<u8>) {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let kind = ORDER.get(number as usize % ORDER.len()).copied().unwrap_or(Kind::Hit);
        // Each number once: as an address, as a key, as a threshold.
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

/// How requests were answered.
#[derive(Debug, Default)]
pub struct Answers {
    /// How many of each kind got each status.
    pub statuses: BTreeMap<(Kind, u16), u64>,
    /// Connections that the server cut with a request under way.
    pub cuts: u64,
}

impl Answers {
    fn add(&mut self, other: Answers) {
        for (which, count) in other.statuses {
            *self.statuses.entry(which).or_default() += count;
        }
        self.cuts += other.cuts;
    }

    /// All of them.
    pub fn count(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Checks that they are what they should be, but for a few.
    pub fn check(&self) -> Result<()> {
        let wrong: Vec<_> = self.statuses.iter().filter(|((kind, status), _)| !kind.expects(*status)).collect();
        let count = wrong.iter().map(|(_, count)| **count).sum::<u64>() + self.cuts;
        let bearable = (self.count() as f64 * WRONG_SHARE) as u64;
        ensure!(count <= bearable, "{count} of {} requests were not answered as they should: {wrong:?}", self.count());
        Ok(())
    }

    /// How many of each kind, in words.
    pub fn told(&self) -> String {
        let each = self.statuses.iter().map(|((kind, status), count)| format!("{count} {} ({status})", kind.name()));
        let cuts = (self.cuts > 0).then(|| format!("{} connections cut", self.cuts));
        each.chain(cuts).collect::<Vec<_>>().join(", ")
    }
}

/// Sends `rate` requests a second to `address` until `over`. With several connections a slow answer holds up none but those behind it on its own.
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
    fn a_few_wrong_answers_are_forgiven_and_many_are_not() {
        let answers = |wrong, cuts| Answers {
            statuses: [((Kind::Unknown, 401), 990), ((Kind::Unknown, 503), wrong)].into(),
            cuts,
        };
        assert!(answers(5, 4).check().is_ok());
        assert!(answers(5, 40).check().is_err());
        assert!(answers(50, 0).check().unwrap_err().to_string().contains("503"));
    }

    #[test]
    fn no_two_misses_and_no_two_strangers_are_alike() {
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
