//! Commands about the program itself: `completions` and `man` for packages, and `ready`, which containers run as their health check.

use super::{Cli, Output, readable};
use crate::config;
use anyhow::{Context, bail};
use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const NAME: &str = "rds-origin";
const ADMIN_ADDR: &str = "RDS_ADMIN_ADDR";
const DEFAULT_ADMIN_ADDR: &str = "127.0.0.1:8790";
/// A ready process answers within milliseconds.
const READY_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum bytes that are read of the answer.
const MAX_ANSWER: u64 = 16 << 10;

/// Prints the completions for a shell.
pub(super) fn completions(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    readable(io::stdout().write_all(&script))?;
    Ok(())
}

/// Writes a man page for the program and one for each command into a folder.
pub(super) fn man(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(|| format!("cannot write to {}", folder.display()))
}

/// Asks the service on this machine whether it is ready.
///
/// # Errors
/// If it is not, or does not answer.
pub(super) async fn ready(out: Output) -> anyhow::Result<()> {
    let text = config::environment(ADMIN_ADDR).unwrap_or_else(|| DEFAULT_ADMIN_ADDR.to_owned());
    let address = text.trim().parse().with_context(|| format!("{ADMIN_ADDR} is not an address with a port"))?;
    let address = reachable(address);
    let answer = timeout(READY_TIMEOUT, ask(address))
        .await
        .with_context(|| format!("{address} did not answer within {} s", READY_TIMEOUT.as_secs()))?
        .with_context(|| format!("{address} does not answer"))?;
    let status = answer.split(' ').nth(1).and_then(|word| word.parse::<u16>().ok());
    match status {
        Some(200) => out.show("ready", &json!({ "ready": true })),
        Some(status) => {
            bail!("{address} answers {status}: {}", answer.split("\r\n\r\n").nth(1).unwrap_or_default().trim())
        }
        None => bail!("{address} does not speak HTTP"),
    }
}

/// Where a listener on this machine is reached: one that listens on every address, at the loopback address.
fn reachable(listener: SocketAddr) -> SocketAddr {
    let ip = match listener.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listener.port())
}

/// The answer to `GET /ready`, as text.
async fn ask(address: SocketAddr) -> io::Result<String> {
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("GET /ready HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    connection.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
