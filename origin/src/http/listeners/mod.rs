//! The three listening sockets, and how they close.

pub mod admin;
pub mod admin_token;
pub mod assertion;
pub mod edge;
pub mod edge_messages;
pub mod edge_replica;
pub mod ingest;
pub mod relay;
pub mod relay_lookups;
pub mod relay_meter;
pub mod replays;

use crate::config::Config;
use crate::http::exchange::pipeline;
use crate::http::exchange::trace::Ingress;
use crate::http::server::Server;
use crate::http::transport::http1;
use crate::listener::Listener;
use anyhow::Context;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long running requests may take to finish after the stop signal.
const DRAIN: Duration = Duration::from_secs(10);

/// The bound sockets, before they are served.
#[derive(Debug)]
pub struct Listeners {
    edge: TcpListener,
    relay: TcpListener,
    admin: TcpListener,
}

/// The bound addresses of the listeners, with the assigned port if the configuration says port 0.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    pub edge: SocketAddr,
    pub relay: SocketAddr,
    pub admin: SocketAddr,
}

/// Which listeners accept new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    AllOpen,
    OnlyAdmin,
    AllClosed,
}

impl Listeners {
    /// Binds the three sockets; an error names the environment variable that contains the address.
    pub async fn bind(config: &Config) -> anyhow::Result<Self> {
        Ok(Listeners {
            edge: bind(config.edge_addr, "RDS_EDGE_ADDR").await?,
            relay: bind(config.relay_addr, "RDS_RELAY_ADDR").await?,
            admin: bind(config.admin_addr, "RDS_ADMIN_ADDR").await?,
        })
    }

    pub fn addresses(&self) -> anyhow::Result<Addresses> {
        Ok(Addresses {
            edge: self.edge.local_addr()?,
            relay: self.relay.local_addr()?,
            admin: self.admin.local_addr()?,
        })
    }

    /// Serves until `stop`, then drains: the process reports not ready, and the edge and relay listeners accept no new connections and
    /// finish running requests within ten seconds. The admin listener closes last, so that operators can watch the draining.
    pub async fn serve(self, server: Arc<Server>, stop: impl Future<Output = ()>) {
        let (phase, watched) = watch::channel(Phase::AllOpen);
        // Dropping this future drops all connections.
        let (mut public, mut private) = (JoinSet::new(), JoinSet::new());
        public.spawn(open(server.clone(), Listener::Edge, self.edge, watched.clone(), Phase::OnlyAdmin));
        public.spawn(open(server.clone(), Listener::Relay, self.relay, watched.clone(), Phase::OnlyAdmin));
        private.spawn(open(server.clone(), Listener::Admin, self.admin, watched, Phase::AllClosed));
        stop.await;
        server.app.begin_draining();
        tracing::info!("draining: the edge and relay listeners accept no new connections");
        phase.send_replace(Phase::OnlyAdmin);
        if timeout(DRAIN, all(&mut public)).await.is_err() {
            tracing::warn!("requests were still running after {} seconds and were cut off", DRAIN.as_secs());
        }
        phase.send_replace(Phase::AllClosed);
        let _ = timeout(Duration::from_secs(1), all(&mut private)).await;
    }
}

async fn all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

async fn bind(address: SocketAddr, variable: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; set {variable} to a free address"))
}

async fn open(
    server: Arc<Server>,
    listener: Listener,
    socket: TcpListener,
    phase: watch::Receiver<Phase>,
    closes_at: Phase,
) {
    let closed = move || {
        let mut phase = phase.clone();
        async move {
            // A dropped sender means that the service has ended, so this listener closes too.
            let _ = phase.wait_for(|phase| *phase >= closes_at).await;
        }
    };
    let held = server.limits.at(listener).clone();
    http1::serve(held, server.live.clone(), socket, closed, move |peer, line, request| {
        let server = server.clone();
        async move { pipeline::answer(&server, Ingress { listener, peer: peer.ip(), line, nonce: None }, request).await }
    })
    .await;
}
