//! Three sockets, and how they close: trust is a matter of the door.

use super::pipeline::{self, Through};
use super::wire;
use crate::app::App;
use crate::config::Config;
use crate::door::Door;
use anyhow::Context;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long requests under way may take to finish once the service is told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// Bound sockets that nobody answers yet.
#[derive(Debug)]
pub struct Listeners {
    edge: TcpListener,
    relay: TcpListener,
    admin: TcpListener,
}

/// Where the doors are; port 0 in the configuration becomes a real one here.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// The edge's door.
    pub edge: SocketAddr,
    /// The relay's door.
    pub relay: SocketAddr,
    /// The operators' door.
    pub admin: SocketAddr,
}

/// Which doors take new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    AllOpen,
    OnlyAdmin,
    AllClosed,
}

impl Listeners {
    /// Binds all three; the failure names the variable behind the address.
    pub async fn bind(config: &Config) -> anyhow::Result<Self> {
        Ok(Listeners {
            edge: bind(config.edge_addr, "RDS_EDGE_ADDR").await?,
            relay: bind(config.relay_addr, "RDS_RELAY_ADDR").await?,
            admin: bind(config.admin_addr, "RDS_ADMIN_ADDR").await?,
        })
    }

    /// Where they are.
    pub fn addresses(&self) -> anyhow::Result<Addresses> {
        Ok(Addresses {
            edge: self.edge.local_addr()?,
            relay: self.relay.local_addr()?,
            admin: self.admin.local_addr()?,
        })
    }

    /// Answers until `stop`, then closes: readiness falls, the two public doors take nobody new and finish what they have (ten
    /// seconds at most), and last the admin door, which shows the draining until then.
    pub async fn serve(self, app: Arc<App>, stop: impl Future<Output = ()>) {
        let (phase, watched) = watch::channel(Phase::AllOpen);
        // Dropped with this future, and every connection with them.
        let (mut public, mut private) = (JoinSet::new(), JoinSet::new());
        public.spawn(open(app.clone(), Door::Edge, self.edge, watched.clone(), Phase::OnlyAdmin));
        public.spawn(open(app.clone(), Door::Relay, self.relay, watched.clone(), Phase::OnlyAdmin));
        private.spawn(open(app.clone(), Door::Admin, self.admin, watched, Phase::AllClosed));
        stop.await;
        app.begin_draining();
        tracing::info!("draining: no new connections at the public doors");
        phase.send_replace(Phase::OnlyAdmin);
        if timeout(DRAIN, all(&mut public)).await.is_err() {
            tracing::warn!("requests were still under way after {} seconds and were cut off", DRAIN.as_secs());
        }
        phase.send_replace(Phase::AllClosed);
        let _ = timeout(Duration::from_secs(1), all(&mut private)).await;
    }
}

async fn all(doors: &mut JoinSet<()>) {
    while doors.join_next().await.is_some() {}
}

async fn bind(address: SocketAddr, variable: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; set {variable} to a free address"))
}

async fn open(app: Arc<App>, door: Door, listener: TcpListener, phase: watch::Receiver<Phase>, closes_at: Phase) {
    let closed = move || {
        let mut phase = phase.clone();
        async move {
            // A sender that is gone means that the service is: close as well.
            let _ = phase.wait_for(|phase| *phase >= closes_at).await;
        }
    };
    let held = app.doors.at(door).clone();
    wire::serve(held, listener, closed, move |peer, line, request| {
        let app = app.clone();
        async move { pipeline::answer(&app, Through { door, peer: peer.ip(), line, nonce: None }, request).await }
    })
    .await;
}
