//! A process of its own that asks for one page many times, with the Rust library or with bare hyper.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client as Hyper;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use risk_data_client::types::VaultListParams;
use risk_data_client::{Client, bytes::Bytes};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// The client that sends the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// hyper, and JSON read without types.
    Bare,
    /// The library.
    Library,
}

/// Asks once, then `requests` times, and prints the CPU time of these and of the whole process, in microseconds.
pub fn ask(kind: Kind, address: SocketAddr, requests: u32) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (rows, spent) = runtime.block_on(async {
        match kind {
            Kind::Bare => bare(address, requests).await,
            Kind::Library => library(address, requests).await,
        }
    })?;
    println!("{}", json!({"rows": rows, "requests": micros(spent), "process": micros(cpu()?)}));
    Ok(())
}

async fn bare(address: SocketAddr, requests: u32) -> Result<(usize, Duration)> {
    let client: Hyper<HttpConnector, Empty<Bytes>> = Hyper::builder(TokioExecutor::new()).build_http();
    let uri = format!("http://{address}/v1/vaults?limit=20");
    let ask = async || {
        let answer = client.get(uri.parse()?).await?;
        ensure!(answer.status().is_success(), "status {}", answer.status());
        let body: Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
        body.get("data").and_then(Value::as_array).map(Vec::len).context("no rows")
    };
    ask().await?;
    let (mut rows, before) = (0, cpu()?);
    for _ in 0..requests {
        rows += ask().await?;
    }
    Ok((rows, cpu()? - before))
}

async fn library(address: SocketAddr, requests: u32) -> Result<(usize, Duration)> {
    let client = Client::builder(format!("http://{address}")).build()?;
    let ask = async || {
        let params = VaultListParams { limit: Some(20), ..Default::default() };
        client.vaults().list(params).await.map(|page| page.data.len())
    };
    ask().await?;
    let (mut rows, before) = (0, cpu()?);
    for _ in 0..requests {
        rows += ask().await?;
    }
    Ok((rows, cpu()? - before))
}

/// CPU time of this process, all threads.
fn cpu() -> Result<Duration> {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Duration::new(u64::try_from(now.tv_sec)?, u32::try_from(now.tv_nsec)?))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
