//! nchan: publish/subscribe inside nginx, from Debian's packages. It keeps messages in memory only.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;
use xtask::console::Step;
use xtask::measure;
use xtask::provision::cache::Cache;
use xtask::provision::peers;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};

use super::server::{Poster, Server};
use crate::{cores, http};

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(5) };
const TIMEOUT: Duration = Duration::from_secs(20);

/// The running server. It is stopped when dropped.
pub struct Nchan {
    service: Service,
    address: SocketAddr,
    publisher: Poster,
    folder: PathBuf,
}

impl Nchan {
    /// Starts the server on the servers' core.
    pub fn start(cache: &Cache) -> Result<Self> {
        let peers::Nchan { nginx, module, libraries } = peers::nchan(cache)?;
        let mut step = Step::start("nchan");
        let folder = std::env::temp_dir().join(format!("rds-bench-nchan-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let port = Ports::free()?.edge;
        let configuration = folder.join("nginx.conf");
        std::fs::write(&configuration, configured(&module.display().to_string(), port)?)?;
        let mut command = Command::new(nginx);
        command.arg("-p").arg(&folder).arg("-c").arg(&configuration).arg("-e").arg(folder.join("error.log"));
        command.envs(libraries.map(|libraries| ("LD_LIBRARY_PATH", libraries)));
        let mut service = cores::on_server(|| Service::start("nchan", command, folder.join("log"), STOP))?;
        let address = SocketAddr::from(local(port));
        let ready = http::get("/ready", "");
        service
            .wait_until(&mut step, TIMEOUT, || http::ask(address, &ready).is_ok_and(|answer| answer.status == 200))?;
        step.done(&format!("port {port}"));
        Ok(Self { service, address, publisher: Poster::open(address, "/publish")?, folder })
    }
}

/// The configuration: one worker, and defaults except for paths, limits, and a message buffer as large as the service's ring.
fn configured(module: &str, port: u16) -> Result<String> {
    let mut out = format!("load_module {module};\n");
    out.push_str("daemon off;\nuser root;\nworker_processes 1;\nworker_rlimit_nofile 20000;\npid nginx.pid;\n");
    out.push_str("events { worker_connections 16384; }\nhttp {\naccess_log off;\nkeepalive_requests 1000000;\nkeepalive_timeout 1h;\n");
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(out, "{kind}_temp_path {kind};")?;
    }
    writeln!(out, "server {{\nlisten {} backlog=4096;", local(port))?;
    out.push_str("location = /ready { return 200 ready; }\n");
    out.push_str(
        "location = /publish { nchan_publisher; nchan_channel_id bench; nchan_message_buffer_length 8192; }\n",
    );
    out.push_str(
        "location = /subscribe { nchan_subscriber eventsource; nchan_channel_id bench; nchan_subscriber_first_message newest; }\n}\n}\n",
    );
    Ok(out)
}

impl Server for Nchan {
    fn name(&self) -> &'static str {
        "nchan"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn request(&self, _: usize) -> Vec<u8> {
        http::get("/subscribe", "accept: text/event-stream\r\n")
    }

    fn publish(&mut self, payload: &[u8], handed_over: &(dyn Fn() + Sync)) -> Result<()> {
        self.publisher.post(payload, handed_over)
    }

    fn cpu(&self) -> Result<Duration> {
        measure::cpu_time_of_family(self.service.pid())
    }

    fn resident(&self) -> Result<u64> {
        measure::resident_of_family(self.service.pid())
    }
}

impl Drop for Nchan {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
