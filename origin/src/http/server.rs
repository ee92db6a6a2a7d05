//! The state of the listeners: the service, and the parts that only requests use.

use crate::app::App;
use crate::config::Config;
use crate::http::exchange::response_cache::MicroCache;
use crate::http::listeners::admin_token::AdminToken;
use crate::http::listeners::assertion::Nonces;
use crate::http::listeners::relay_lookups::KeyLookups;
use crate::http::listeners::relay_meter::RelayLimiter;
use crate::http::transport::listener_limits::ListenerLimits;
use crate::http::transport::live::LiveStreams;
use crate::metrics::openmetrics;
use rds_shared::access::{AssertionKey, Refused, TrustedProxies};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The service behind its three listeners.
#[derive(Debug)]
pub struct Server {
    pub app: Arc<App>,
    /// Micro-cache of list pages.
    pub pages: MicroCache,
    /// Connections and request bodies held by the listeners.
    pub limits: ListenerLimits,
    /// Streams that have delivered everything there is.
    pub live: Arc<LiveStreams>,
    /// Keys that verify edge assertions.
    pub assertion_keys: Vec<AssertionKey>,
    /// Nonces of used edge assertions.
    pub nonces: Nonces,
    pub relay: RelayState,
    /// The token of the admin listener.
    pub admin_token: AdminToken,
    /// Maximum time for a request on the edge and relay listeners.
    pub read_deadline: Duration,
}

/// The state of the relay listener.
#[derive(Debug, Default)]
pub struct RelayState {
    pub limiter: RelayLimiter,
    pub lookups: KeyLookups,
    /// Recently rejected keys; they stay rejected while the database is unavailable.
    pub refused: Mutex<Refused>,
    /// Proxies whose forwarded client addresses are trusted.
    pub proxies: TrustedProxies,
}

impl Server {
    pub fn new(config: &Config, app: Arc<App>) -> Arc<Self> {
        let live = LiveStreams::new(app.stream_sources.clone());
        Arc::new(Server {
            app,
            live,
            pages: MicroCache::default(),
            limits: ListenerLimits::new(config),
            assertion_keys: config.assertion_keys.clone(),
            nonces: Nonces::default(),
            relay: RelayState { proxies: config.trusted_proxies.clone(), ..RelayState::default() },
            admin_token: AdminToken::new(&config.admin_token),
            read_deadline: config.read_deadline,
        })
    }

    /// The metrics of the service and of its listeners, as Prometheus text, or as OpenMetrics with exemplars.
    pub fn scrape(&self, is_open_metrics: bool) -> String {
        let mut page = self.app.scrape(is_open_metrics);
        self.limits.render(&mut page);
        self.live.render(&mut page);
        if is_open_metrics { openmetrics::of(&page) } else { page }
    }
}
