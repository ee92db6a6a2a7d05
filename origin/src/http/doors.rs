//! What the three doors hold of connections and of request bodies, and how much of both they may.

use super::connections::{Connections, Open};
use super::held_bytes::HeldBytes;
use crate::config::Config;
use crate::door::Door;
use crate::metrics::head;
use crate::metrics::process::most_files;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Connections of a public door, where the process may open files enough.
const CONNECTIONS: usize = 16_384;
/// Connections of the operators' door.
const OPERATORS: usize = 512;
/// Files that are for nothing of the doors': the log, webhooks on their way, requests to others.
const OTHER_FILES: usize = 256;

/// How many connections a door holds, of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Of known peers.
    pub known: usize,
    /// Of those, such as have proved nothing themselves.
    pub unproved: usize,
    /// Of strangers.
    pub strangers: usize,
    /// Of one stranger.
    pub one_stranger: usize,
    /// Bytes of request heads that have not come whole, on unproved connections.
    pub head_bytes: usize,
}

impl Bounds {
    /// `connections` in all, of which strangers have one in `part`.
    pub fn of(connections: usize, part: usize) -> Self {
        // A small door still takes a burst of a stranger's: a client that opens all of its connections before the first request.
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

    /// All of them.
    pub fn connections(&self) -> usize {
        self.known + self.strangers
    }
}

/// What a door counts of its connections.
#[derive(Debug, Default)]
pub struct Meters {
    /// Connections that ended to make room.
    pub ended: AtomicU64,
    /// Newcomers that were refused for want of room.
    pub refused: AtomicU64,
    /// Newcomers that the allow list does not name.
    pub not_allowed: AtomicU64,
}

/// What is held at the doors of this process.
#[derive(Debug)]
pub struct Doors {
    connections: [Arc<Connections>; Door::ALL.len()],
    /// Bodies at the edge's door that nothing has proved yet, from strangers.
    pub strange_bodies: HeldBytes,
    /// The same from known peers.
    pub unproved_bodies: HeldBytes,
    /// Bodies at the edge's door that it signed.
    pub edge_bodies: HeldBytes,
    /// Bodies of operators.
    pub operators_bodies: HeldBytes,
}

impl Doors {
    /// Doors without connections.
    pub fn new(config: &Config) -> Self {
        let [edge, relay, admin] = shares(most_files(), config.database.connections as usize);
        // Streams of callers without a key are strangers' connections as long as they last.
        let at_relay = if config.anonymous_stream { 2 } else { 8 };
        let new =
            |door: Door, connections, part, allow| Connections::new(door.name(), Bounds::of(connections, part), allow);
        Doors {
            connections: [
                new(Door::Edge, edge, 8, config.edge_allow.clone()),
                new(Door::Relay, relay, at_relay, Vec::new()),
                new(Door::Admin, admin, 2, Vec::new()),
            ],
            strange_bodies: HeldBytes::up_to(1 << 20),
            unproved_bodies: HeldBytes::up_to(4 << 20),
            edge_bodies: HeldBytes::up_to(64 << 20),
            operators_bodies: HeldBytes::up_to(256 << 20),
        }
    }

    /// The connections of `door`.
    pub fn at(&self, door: Door) -> &Arc<Connections> {
        &self.connections[door as usize]
    }

    /// Appends what is held, as Prometheus text.
    pub fn render(&self, out: &mut String) {
        self.render_connections(out);
        self.render_bodies(out);
    }

    fn render_connections(&self, out: &mut String) {
        let open: [Open; Door::ALL.len()] = self.connections.each_ref().map(|held| held.open());
        head(out, "rds_connections", "Open connections by door and by what their peers have proved.", "gauge");
        for (door, open) in Door::ALL.iter().zip(&open) {
            for (peer, count) in [("proved", open.proved), ("unproved", open.unproved), ("stranger", open.strangers)] {
                let _ = writeln!(out, "rds_connections{{door=\"{}\",peer=\"{peer}\"}} {count}", door.name());
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
                "Connections that the door holds at once.",
                "gauge",
                bounds.map(|bounds| bounds.connections()),
            ),
            (
                "rds_connections_ended_total",
                "Waiting connections that ended to make room for others.",
                "counter",
                meters.map(|[ended, ..]| ended),
            ),
            (
                "rds_connections_refused_total",
                "Newcomers that were hung up on for want of room.",
                "counter",
                meters.map(|[_, refused, _]| refused),
            ),
            (
                "rds_connections_not_allowed_total",
                "Newcomers that the door's allow list does not name.",
                "counter",
                meters.map(|[.., not_allowed]| not_allowed),
            ),
            (
                "rds_known_peers",
                "Addresses from which a request proved itself within ten minutes.",
                "gauge",
                each(|open| open.known_peers),
            ),
            (
                "rds_unproved_head_bytes",
                "Bytes of request heads that have not come whole, on connections that have proved nothing.",
                "gauge",
                each(|open| open.head_bytes),
            ),
        ] {
            head(out, name, help, kind);
            for (door, value) in Door::ALL.iter().zip(values) {
                let _ = writeln!(out, "{name}{{door=\"{}\"}} {value}", door.name());
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
            ("rds_body_bytes", "Bytes of request bodies in memory, by whose they are.", "gauge", HeldBytes::now),
            ("rds_body_bytes_most", "The most of them at once since the process began.", "gauge", HeldBytes::most),
            (
                "rds_bodies_refused_total",
                "Bodies that were given up because their kind had its bytes in memory.",
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

/// Connections of each door where the process may open `files`, `database` of them for the database. Without a share in what the process may
/// open, strangers at one door would take the files of the others and of the database.
fn shares(files: Option<usize>, database: usize) -> [usize; Door::ALL.len()] {
    let room = files.map_or(usize::MAX / 2, |files| files.saturating_sub(OTHER_FILES + database));
    let admin = (room / 16).clamp(16, OPERATORS);
    let public = (room.saturating_sub(admin) / 2).clamp(64, CONNECTIONS);
    [public, public, admin]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_doors_together_leave_files_for_everything_else() {
        assert_eq!(shares(None, 16), [16_384, 16_384, 512]);
        assert_eq!(shares(Some(1 << 20), 16), [16_384, 16_384, 512]);
        for files in [1_024, 4_096, 20_000] {
            let shares = shares(Some(files), 16);
            assert!(shares.iter().sum::<usize>() + OTHER_FILES + 16 <= files, "{files}: {shares:?}");
        }
        assert_eq!(shares(Some(1_024), 16), [352, 352, 47]);
    }

    #[test]
    fn known_peers_have_most_of_a_door_and_one_stranger_little() {
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
