//! A running stack with a simulated market of a given size.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use rds_shared::access::{Assertion, AssertionKey, BodyDigest, Plan, Principal, SignedHead, link};
use rds_shared::route::RouteId;
use rds_shared::wire::headers;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use xtask::up::ports::Ports;
use xtask::up::stack::Stack;
use xtask::up::{Edge, Options};

use crate::{cores, http};

/// A typical list request of a dashboard, with filters and sorting.
pub const LIST: &str = "/v1/vaults?chain=devnet&limit=20&minTvl=1000000&riskTier=prime,core&sortBy=total_score";
/// The first page of the change feed, of maximum size.
pub const CHANGES: &str = "/v1/vaults/changes?since=2020-01-01&limit=500";
/// A page of the loss board, filtered, searched and sorted by loss.
pub const LOSSES: &str = "/v1/security-events/losses?chainId=31337&minLossUsd=100000&search=attack&sort=loss";
const SEED: &str = "1";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Counter that gives every request of this process its own nonce.
static NONCES: AtomicU64 = AtomicU64::new(1);

/// A running stack. Dropping it stops all its processes.
pub struct Market {
    stack: Option<Stack>,
    /// Content of `stack.json`: the stack's addresses, process ids, files and secrets.
    description: Value,
    folder: PathBuf,
}

impl Market {
    /// Starts a stack on the servers' core with a market of `vaults` vaults; 0 leaves it empty.
    pub fn start(vaults: u32, edge: Edge) -> Result<Self> {
        Self::start_as(vaults, edge, |_| {})
    }

    /// Like [`start`](Self::start); `configure` changes the options of `up`.
    pub fn start_as(vaults: u32, edge: Edge, configure: impl FnOnce(&mut Options)) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("rds-bench-{}-{vaults}", std::process::id()));
        let mut options = Options { edge, release: true, ..Options::in_folder(folder.join("state")) };
        configure(&mut options);
        std::fs::create_dir_all(&folder)?;
        let stack = cores::on_server(|| Stack::start(&options, Ports::free()?))?;
        let description = serde_json::from_slice(&std::fs::read(stack.description_file())?)?;
        let market = Self { stack: Some(stack), description, folder };
        if vaults > 0 {
            cores::release()?;
            market.verb(&["simulate", "--seed", SEED, "--vaults", &vaults.to_string(), "--hours", "1"])?;
            cores::pin(cores::CLIENT)?;
            // Up to 5 % of the simulated vaults are not listed.
            market.wait_for("/v1/vaults?limit=1", u64::from(vaults - vaults / 20))?;
        }
        Ok(market)
    }

    /// Lets Postgres and the origin run on every core.
    pub fn release(&self) -> Result<()> {
        for name in ["postgres", "origin"] {
            cores::release_family(self.pid(name)?)?;
        }
        Ok(())
    }

    /// The origin's program with the environment of this market.
    pub fn program(&self) -> Result<Command> {
        let mut command = Command::new(self.text("origin_bin")?);
        for line in std::fs::read_to_string(self.text("origin_env")?)?.lines() {
            if let Some((name, value)) = line.split_once('=') {
                command.env(name, value);
            }
        }
        Ok(command)
    }

    /// Runs a subcommand of the operator's command line on this market's database and returns its output.
    pub fn verb(&self, words: &[&str]) -> Result<String> {
        let output = self.program()?.args(words).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            bail!("`rds-origin {}`: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Mints a key with this many requests per minute.
    pub fn mint(&self, rpm: u32) -> Result<String> {
        let said =
            self.verb(&["keys", "mint", "--org", "bench", "--plan", "data", "--rpm", &rpm.to_string(), "--json"])?;
        let minted: Value = serde_json::from_str(&said)?;
        minted.get("key").and_then(Value::as_str).map(str::to_owned).context("`keys mint` printed no key")
    }

    /// Ingests observations with the command line, and waits until the paged list `shown_by` has at least `rows` rows.
    pub fn ingest(&self, lines: &[Value], shown_by: &str, rows: u64) -> Result<()> {
        let file = self.folder.join("observations.ndjson");
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        cores::release()?;
        self.verb(&["ingest", &file.display().to_string()])?;
        cores::pin(cores::CLIENT)?;
        self.wait_for(shown_by, rows)
    }

    /// Ingests observations through the admin listener of the running origin.
    pub fn post_observations(&self, lines: &[Value]) -> Result<()> {
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let bearer = format!("authorization: Bearer {}\r\n", self.text("admin_token")?);
        let answer = http::ask(self.address("admin")?, &http::request("POST", "/ingest", &bearer, body.as_bytes()))?;
        ensure!(answer.status == 200, "observations were refused: {}", String::from_utf8_lossy(&answer.body));
        Ok(())
    }

    /// Sends one request as the holder of a key; the status must be 200.
    pub fn ask(&self, target: &str) -> Result<Vec<u8>> {
        let mut request = Vec::new();
        self.signed_keyed(target)?(&mut request);
        let answer = http::ask(self.address("origin_edge")?, &request)?;
        ensure!(answer.status == 200, "{target}: {}", String::from_utf8_lossy(&answer.body));
        Ok(answer.body)
    }

    /// A signed message of an edge to the origin: a POST of JSON.
    pub fn message(&self, path: &str, body: &[u8]) -> Result<Vec<u8>> {
        let lines = signed(&self.assertion_key()?, "POST", path, link::EDGE, "", body);
        Ok(http::request("POST", path, &lines, body))
    }

    /// Kills the origin's process, as a failure would.
    pub fn kill_origin(&self) -> Result<()> {
        let pid = i32::try_from(self.pid("origin")?).ok().and_then(Pid::from_raw).context("no process")?;
        Ok(kill_process(pid, Signal::KILL)?)
    }

    /// Number of requests to these routes that the origin has answered, from its metrics.
    pub fn answered(&self, routes: &[RouteId]) -> Result<u64> {
        let lines = format!("authorization: Bearer {}\r\n", self.text("admin_token")?);
        let answer = http::ask(self.address("admin")?, &http::get("/metrics", &lines))?;
        ensure!(answer.status == 200, "the origin's metrics cannot be read: {}", answer.head);
        let text = String::from_utf8(answer.body)?;
        let mut total = 0;
        for line in text.lines().filter_map(|line| line.strip_prefix("rds_requests_total{route=\"")) {
            let (route, rest) = line.split_once('"').context("a route")?;
            if routes.iter().any(|id| id.name() == route) {
                total += rest.rsplit(' ').next().context("a count")?.parse::<u64>()?;
            }
        }
        Ok(total)
    }

    /// Waits until the list has at least this many rows.
    fn wait_for(&self, list: &str, rows: u64) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT {
            xtask::signals::check()?;
            let page: Value = serde_json::from_slice(&self.ask(list)?)?;
            if page.pointer("/meta/total").and_then(Value::as_u64) >= Some(rows) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("{list} did not have {rows} rows in time")
    }

    /// A listener's address, by its name in `stack.json`.
    pub fn address(&self, listener: &str) -> Result<SocketAddr> {
        let url = self.text(listener)?;
        url.strip_prefix("http://").and_then(|rest| rest.parse().ok()).with_context(|| format!("not an address: {url}"))
    }

    /// A process id, by its name in `stack.json`.
    pub fn pid(&self, name: &str) -> Result<u32> {
        let pid = self.description.get("pids").and_then(|pids| pids.get(name)).and_then(Value::as_u64);
        u32::try_from(pid.with_context(|| format!("{name} is not running"))?).context("a pid")
    }

    /// A text member of `stack.json`.
    pub fn text(&self, name: &str) -> Result<&str> {
        self.description.get(name).and_then(Value::as_str).with_context(|| format!("stack.json has no {name}"))
    }

    /// Returns a writer of anonymous requests for [`LIST`], signed with the edge's key.
    pub fn signed_list(&self) -> Result<impl FnMut(&mut Vec<u8>) + use<>> {
        self.signed(LIST, &Principal::Anonymous)
    }

    /// Returns a writer of anonymous requests for [`LOSSES`], signed with the edge's key.
    pub fn signed_losses(&self) -> Result<impl FnMut(&mut Vec<u8>) + use<>> {
        self.signed(LOSSES, &Principal::Anonymous)
    }

    /// The keys with which the edge signs its requests, as the origin's environment lists them.
    pub fn assertion_keys(&self) -> Result<String> {
        let environment = std::fs::read_to_string(self.text("origin_env")?)?;
        let keys = environment.lines().find_map(|line| line.strip_prefix("RDS_EDGE_ASSERTION_KEYS="));
        Ok(keys.context("no assertion key")?.to_owned())
    }

    /// Returns a writer of GET requests by the holder of a Data key, signed with the edge's key.
    pub fn signed_keyed(&self, target: &str) -> Result<impl FnMut(&mut Vec<u8>) + use<>> {
        self.signed(target, &Principal::Key { id: 1, org_id: 1, plan: Plan::Data })
    }

    /// Returns a writer of GET requests. Each has a new nonce and is signed with the edge's key, so that the origin accepts it.
    pub fn signed(&self, target: &str, principal: &Principal) -> Result<impl FnMut(&mut Vec<u8>) + use<>> {
        self.signed_call("GET", target, Vec::new(), principal)
    }

    /// Returns a writer of POST requests with a JSON body, signed like those of [`signed`](Self::signed).
    pub fn signed_post(
        &self,
        target: &str,
        body: Vec<u8>,
        principal: &Principal,
    ) -> Result<impl FnMut(&mut Vec<u8>) + use<>> {
        self.signed_call("POST", target, body, principal)
    }

    /// Returns a writer of signed GET requests by the holder of a Data key. Each is for the target that `next` returns and also contains the
    /// header lines `lines`.
    pub fn signed_targets<F: FnMut() -> String>(
        &self,
        lines: &str,
        mut next: F,
    ) -> Result<impl FnMut(&mut Vec<u8>) + use<F>> {
        let (key, lines) = (self.assertion_key()?, lines.to_owned());
        let principal = Principal::Key { id: 1, org_id: 1, plan: Plan::Data }.to_json();
        Ok(move |out: &mut Vec<u8>| {
            let target = next();
            out.extend_from_slice(&http::get(&target, &signed(&key, "GET", &target, &principal, &lines, b"")));
        })
    }

    fn signed_call(
        &self,
        method: &'static str,
        target: &str,
        body: Vec<u8>,
        principal: &Principal,
    ) -> Result<impl FnMut(&mut Vec<u8>) + use<>> {
        let (key, target, principal) = (self.assertion_key()?, target.to_owned(), principal.to_json());
        Ok(move |out: &mut Vec<u8>| {
            let lines = signed(&key, method, &target, &principal, "accept: application/json\r\n", &body);
            out.extend_from_slice(&http::request(method, &target, &lines, &body));
        })
    }

    fn assertion_key(&self) -> Result<AssertionKey> {
        let keys = AssertionKey::parse_list(&self.assertion_keys()?).context("no assertion key")?;
        keys.into_iter().next().context("no assertion key")
    }
}

/// `lines` with the headers that authenticate the edge to the origin.
fn signed(key: &AssertionKey, method: &str, target: &str, principal: &str, lines: &str, body: &[u8]) -> String {
    // The nonces are spread over the whole range like random ones, because the origin shards nonces by their first bits.
    let spread = NONCES.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let count = u128::from(spread) << 64 | u128::from(std::process::id());
    let seconds = i64::try_from(now()).unwrap_or(i64::MAX);
    let request_id = format!("{count:032x}");
    let mut forwarded: Vec<_> = lines.lines().filter_map(|line| line.split_once(": ")).collect();
    forwarded.push((headers::REQUEST_ID, request_id.as_str()));
    if !body.is_empty() {
        forwarded.push((headers::CONTENT_TYPE, headers::JSON));
    }
    let head = SignedHead { method, target, principal, forwarded: &forwarded };
    let assertion = Assertion::sign_head(key, &head, BodyDigest::of(body), seconds, count.to_be_bytes()).to_header();
    format!(
        "{lines}{}: {assertion}\r\n{}: {principal}\r\n{}: {request_id}\r\n",
        headers::ASSERTION,
        headers::PRINCIPAL,
        headers::REQUEST_ID
    )
}

impl Drop for Market {
    fn drop(&mut self) {
        if let Some(stack) = self.stack.take() {
            stack.stop();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
