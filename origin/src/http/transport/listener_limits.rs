//! The connections and request bodies that the three listeners hold, and their limits.

use crate::config::Config;
use crate::http::transport::connections::{Connections, Open};
use crate::http::transport::held_bytes::HeldBytes;
use crate::listener::Listener;
use crate::metrics::head;
use crate::metrics::process::max_open_files;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum connections of the edge and of the relay listener, if the process may open enough files.
const MAX_CONNECTIONS: usize = 16_384;
/// Maximum connections of the admin listener.
const MAX_ADMIN_CONNECTIONS: usize = 512;
/// Files reserved for other uses than listeners: the log, webhook deliveries, outbound requests.
const OTHER_FILES: usize = 256;

/// Connection limits of one listener, by kind of peer ([`connections`](crate::http::transport::connections)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections of known peers.
    pub known: usize,
    /// Part of `known`: connections on which no request was authenticated yet.
    pub unproved: usize,
    /// Connections of all strangers together.
    pub strangers: usize,
    /// Connections of one stranger.
    pub one_stranger: usize,
    /// Bytes of incomplete request heads on unproved connections.
    pub head_bytes: usize,
}

impl Bounds {
    /// Limits for `connections` in total, of which strangers get one `part`-th.
    pub fn of(connections: usize, part: usize) -> Self {
        // Even a small listener accepts a burst from one stranger: some clients open all their connections before the first request.
        let strangers = (connections / part).max(128.min(connections / 2));
        let known = connections - strangers;
        Bounds {
            known,
            unproved: (known / 4).max(1),
            strangers,
            one_stranger: (strangers / 4).max(64.min(strangers)),
            head_bytes: 8 << 20,
        }
    }

    /// Connections of all peers together.
    pub fn connections(&self) -> usize {
        self.known + self.strangers
    }
}

/// Counters of one listener's connections.
#[derive(Debug, Default)]
pub struct Meters {
    /// Connections closed to make room.
    pub ended: AtomicU64,
    /// New connections refused because there was no room.
    pub refused: AtomicU64,
    /// New connections refused because their address is not in the allow list.
    pub not_allowed: AtomicU64,
}

/// Connections and request bodies held by the listeners of this process.
#[derive(Debug)]
pub struct ListenerLimits {
    connections: [Arc<Connections>; Listener::ALL.len()],
    /// Unverified bodies on the edge listener, from strangers.
    pub strange_bodies: HeldBytes,
    /// Unverified bodies on the edge listener, from known peers.
    pub unproved_bodies: HeldBytes,
    /// Bodies of requests with a verified edge assertion.
    pub edge_bodies: HeldBytes,
    /// Bodies on the admin listener.
    pub operators_bodies: HeldBytes,
}

impl ListenerLimits {
    /// The limits of the three listeners, which have no connections yet.
    pub fn new(config: &Config) -> Self {
        let [edge, relay, admin] = shares(max_open_files(), config.database.connections as usize);
        // Anonymous streams count as strangers' connections as long as they last, so strangers get a larger part.
        let at_relay = if config.anonymous_stream { 2 } else { 8 };
        let new = |listener: Listener, connections, part, allow| {
            Connections::new(listener.name(), Bounds::of(connections, part), allow)
        };
        ListenerLimits {
            connections: [
                new(Listener::Edge, edge, 8, config.edge_allow.clone()),
                new(Listener::Relay, relay, at_relay, Vec::new()),
                new(Listener::Admin, admin, 2, Vec::new()),
            ],
            strange_bodies: HeldBytes::up_to(1 << 20),
            unproved_bodies: HeldBytes::up_to(4 << 20),
            edge_bodies: HeldBytes::up_to(64 << 20),
            operators_bodies: HeldBytes::up_to(256 << 20),
        }
    }

    /// The connections of one listener.
    pub fn at(&self, listener: Listener) -> &Arc<Connections> {
        &self.connections[listener as usize]
    }

    /// Appends the metrics, as Prometheus text.
    pub fn render(&self, out: &mut String) {
        self.render_connections(out);
        self.render_bodies(out);
    }

    fn render_connections(&self, out: &mut String) {
        let open: [Open; Listener::ALL.len()] = self.connections.each_ref().map(|held| held.open());
        head(out, "rds_connections", "Open connections by listener and by kind of peer.", "gauge");
        for (listener, open) in Listener::ALL.iter().zip(&open) {
            for (peer, count) in [("proved", open.proved), ("unproved", open.unproved), ("stranger", open.strangers)] {
                let _ = writeln!(out, "rds_connections{{listener=\"{}\",peer=\"{peer}\"}} {count}", listener.name());
            }
        }
        let bounds = self.connections.each_ref().map(|held| held.bounds());
        let meters = self.connections.each_ref().map(|held| {
            let meters = &held.meters;
            [&meters.ended, &meters.refused, &meters.not_allowed].map(|count| count.load(Relaxed) as usize)
        });
        let each = |of: fn(&Open) -> usize| open.each_ref().map(of);
        for (name, help, kind, values) in [
            (
                "rds_connections_limit",
                "Maximum open connections of the listener.",
                "gauge",
                bounds.map(|bounds| bounds.connections()),
            ),
            (
                "rds_connections_ended_total",
                "Waiting connections closed to make room for new ones.",
                "counter",
                meters.map(|[ended, ..]| ended),
            ),
            (
                "rds_connections_refused_total",
                "New connections refused because the listener was full.",
                "counter",
                meters.map(|[_, refused, _]| refused),
            ),
            (
                "rds_connections_not_allowed_total",
                "New connections from addresses that are not in the allow list.",
                "counter",
                meters.map(|[.., not_allowed]| not_allowed),
            ),
            (
                "rds_known_peers",
                "Addresses that sent an authenticated request within ten minutes.",
                "gauge",
                each(|open| open.known_peers),
            ),
            (
                "rds_unproved_head_bytes",
                "Bytes of incomplete request heads on connections without an authenticated request.",
                "gauge",
                each(|open| open.head_bytes),
            ),
        ] {
            head(out, name, help, kind);
            for (listener, value) in Listener::ALL.iter().zip(values) {
                let _ = writeln!(out, "{name}{{listener=\"{}\"}} {value}", listener.name());
            }
        }
    }

    fn render_bodies(&self, out: &mut String) {
        let kinds = [
            ("stranger", &self.strange_bodies),
            ("unproved", &self.unproved_bodies),
            ("edge", &self.edge_bodies),
            ("operator", &self.operators_bodies),
        ];
        type Read = fn(&HeldBytes) -> u64;
        let metrics: [(&str, &str, &str, Read); 3] = [
            ("rds_body_bytes", "Bytes of request bodies in memory, by sender.", "gauge", HeldBytes::now),
            ("rds_body_bytes_most", "Maximum of rds_body_bytes since the process began.", "gauge", HeldBytes::maximum),
            (
                "rds_bodies_refused_total",
                "Request bodies refused because the memory for their kind of sender was used up.",
                "counter",
                HeldBytes::refused,
            ),
        ];
        for (name, help, kind, value) in metrics {
            head(out, name, help, kind);
            for (whose, bytes) in kinds {
                let _ = writeln!(out, "{name}{{from=\"{whose}\"}} {}", value(bytes));
            }
        }
    }
}

/// Connection limits of the three listeners if the process may open `files`, of which `database` are for the database. Without these
/// limits, strangers on one listener could use up the files of the other listeners and of the database.
fn shares(files: Option<usize>, database: usize) -> [usize; Listener::ALL.len()] {
    let room = files.map_or(usize::MAX / 2, |files| files.saturating_sub(OTHER_FILES + database));
    let admin = (room / 16).clamp(16, MAX_ADMIN_CONNECTIONS);
    let public = (room.saturating_sub(admin) / 2).clamp(64, MAX_CONNECTIONS);
    [public, public, admin]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_listeners_together_leave_files_for_everything_else() {
        assert_eq!(shares(None, 16), [16_384, 16_384, 512]);
        assert_eq!(shares(Some(1 << 20), 16), [16_384, 16_384, 512]);
        for files in [1_024, 4_096, 20_000] {
            let shares = shares(Some(files), 16);
            assert!(shares.iter().sum::<usize>() + OTHER_FILES + 16 <= files, "{files}: {shares:?}");
        }
        assert_eq!(shares(Some(1_024), 16), [352, 352, 47]);
    }

    #[test]
    fn known_peers_get_most_connections_of_a_listener_and_one_stranger_few() {
        let large = Bounds::of(16_384, 8);
        assert_eq!((large.known, large.strangers, large.one_stranger), (14_336, 2_048, 512));
        let small = Bounds::of(352, 8);
        assert_eq!((small.known, small.strangers, small.one_stranger), (224, 128, 64));
        for connections in [2, 16, 47, 352, 16_384] {
            let bounds = Bounds::of(connections, 8);
            assert_eq!(bounds.connections(), connections);
            assert!(bounds.known > 0 && bounds.unproved > 0 && bounds.one_stranger > 0, "{bounds:?}");
            assert!(bounds.one_stranger <= bounds.strangers && bounds.unproved <= bounds.known, "{bounds:?}");
        }
    }
}
