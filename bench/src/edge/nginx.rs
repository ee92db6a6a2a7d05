//! nginx as an edge: proxy_cache and limit_req in front of the origin.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use xtask::console::Step;
use xtask::provision::cache::Cache;
use xtask::provision::proxies;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};
use xtask::{measure, up};

use crate::cores;

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(5) };
const TIMEOUT: Duration = Duration::from_secs(20);

/// The API keys in nginx's configuration.
pub struct Keys<'a> {
    /// A key whose limit is never reached.
    pub wide: &'a str,
    /// A key with [`limit`](Self::limit) requests per minute, which may all come at once.
    pub narrow: &'a str,
    /// Requests per minute of the `narrow` key.
    pub limit: u32,
}

/// The running server. It is stopped when dropped.
pub struct Nginx {
    pub address: SocketAddr,
    /// Process id of its only worker.
    pub worker: u32,
    service: Service,
    folder: PathBuf,
}

impl Nginx {
    /// Starts nginx on the servers' core, in front of the origin at `origin`.
    pub fn start(cache: &Cache, origin: SocketAddr, keys: &Keys<'_>) -> Result<Self> {
        let found = proxies::find(cache)?;
        let (_, program) = found.programs.iter().find(|(name, _)| *name == "nginx").context("no nginx")?;
        let mut step = Step::start("nginx");
        let folder = std::env::temp_dir().join(format!("rds-bench-nginx-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let port = Ports::free()?.edge;
        let configuration = folder.join("nginx.conf");
        std::fs::write(&configuration, configured(port, origin, keys)?)?;
        let mut command = Command::new(program);
        command.arg("-p").arg(&folder).arg("-c").arg(&configuration).arg("-e").arg(folder.join("error.log"));
        command.envs(found.libraries.map(|libraries| ("LD_LIBRARY_PATH", libraries)));
        let mut service = cores::on_server(|| Service::start("nginx", command, folder.join("log"), STOP))?;
        service.wait_until(&mut step, TIMEOUT, || up::probe::is_ok(port, "/ready"))?;
        step.done(&format!("port {port}"));
        let worker = worker_of(service.pid())?;
        Ok(Self { address: local(port).into(), worker, service, folder })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Process id of nginx's worker. The master's other children manage the cache.
fn worker_of(master: u32) -> Result<u32> {
    let answers = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("worker process"))
    };
    measure::family(master)?.into_iter().find(answers).context("nginx has no worker")
}

/// The configuration: one worker, keys from a map, a limit per key, a cache as large as an isolate's, and keep-alive to the origin.
fn configured(port: u16, origin: SocketAddr, keys: &Keys<'_>) -> Result<String> {
    let Keys { wide, narrow, limit } = keys;
    let mut out = String::from(
        "daemon off;\nuser root;\nworker_processes 1;\npid nginx.pid;\nevents { worker_connections 4096; }\nhttp {\n\
         access_log off;\nkeepalive_requests 1000000000;\nkeepalive_timeout 1h;\n",
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(out, "{kind}_temp_path {kind};")?;
    }
    write!(
        out,
        r#"map_hash_bucket_size 128;
map $http_authorization $wide {{ default ""; "Bearer {wide}" "1"; }}
map $http_authorization $narrow {{ default ""; "Bearer {narrow}" "1"; }}
map $wide$narrow $stranger {{ default ""; "" "1"; }}
limit_req_zone $wide zone=wide:1m rate=1000000r/s;
limit_req_zone $narrow zone=narrow:1m rate={limit}r/m;
limit_req_status 429;
proxy_cache_path cache levels=1:2 keys_zone=copies:8m max_size=24m inactive=1d use_temp_path=off;
upstream origin {{ server {origin}; keepalive 64; keepalive_requests 1000000000; }}
server {{
listen {} backlog=4096;
location = /ready {{ return 200 ready; }}
location / {{
  if ($stranger) {{ return 401; }}
  limit_req zone=wide burst=1000000 nodelay;
  limit_req zone=narrow burst={burst} nodelay;
  proxy_pass http://origin;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Authorization "";
  proxy_cache copies;
  proxy_cache_key $request_uri;
  proxy_cache_valid 200 15s;
  proxy_ignore_headers Cache-Control Expires;
  proxy_cache_lock on;
  proxy_cache_use_stale error timeout updating http_500 http_502 http_503 http_504;
  add_header X-Cache $upstream_cache_status;
}}
}}
}}
"#,
        local(port),
        burst = limit.saturating_sub(1),
    )?;
    Ok(out)
}
