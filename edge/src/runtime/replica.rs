//! Where an isolate gets the replica's rows from: the Durable Object, and the data centre's cache.

use super::ambient::now;
use crate::cache::store;
use crate::config::Config;
use crate::guard::objects::client::Objects;
use crate::pipeline::Isolate;
use crate::ports::Unreachable;
use crate::replica::message::{Holder, IsolateAsk, ReplicaMessage};
use crate::replica::refresh::{ReplicaAnswer, ReplicaSource, refresh};
use core::pin::Pin;
use core::time::Duration;
use rds_shared::access::link::{ReplicaAsk, SegmentsAsk};
use rds_shared::pace::Pause;
use rds_shared::replica::{FORMAT, SegmentName};
use rds_shared::wire::{Timestamp, hex};
use worker::{Delay, console_error};

/// How long the data centre's cache keeps a state: as long as answers from it may be served stale.
const KEPT_SECONDS: u32 = 86_400;

/// The source of one isolate.
struct Source<'a> {
    objects: &'a Objects,
    config: &'a Config,
    /// The Durable Object that this isolate asks.
    number: u32,
}

/// Asks for an update, and ends the question that `isolate` began at `begun`. `random` chooses the Durable Object and the isolate's name at the
/// first question.
pub async fn ask(objects: &Objects, config: &Config, isolate: &Isolate, begun: Timestamp, random: [u8; 16]) {
    let number = {
        let mut replica = isolate.replica.borrow_mut();
        let [a, b, c, d, name @ ..] = random;
        if replica.name.is_empty() {
            replica.name = hex(&name);
        }
        let drawn = u32::from_be_bytes([a, b, c, d]).checked_rem(config.replica_objects).unwrap_or(0);
        *replica.object.get_or_insert(drawn)
    };
    refresh(&Source { objects, config, number }, isolate, &config.verification_keys, begun).await;
}

impl Source<'_> {
    fn limit(&self) -> Duration {
        self.config.guard_timeout.saturating_add(self.config.origin_timeout)
    }
}

impl Pause for Source<'_> {
    /// Waits for a timer, so that the event loop gets to other requests first.
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(Delay::from(Duration::ZERO))
    }
}

impl ReplicaSource for Source<'_> {
    fn now(&self) -> Timestamp {
        now()
    }

    async fn ask(&self, ask: &ReplicaAsk, holder: Holder) -> Result<ReplicaAnswer, Unreachable> {
        let message = ReplicaMessage::Ask(IsolateAsk { ask: ask.clone(), holder });
        let (reply, update) = self.objects.replica(self.number, &message, self.config.guard_timeout).await?;
        Ok(ReplicaAnswer { update, age: Duration::from_millis(reply.age) })
    }

    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, Unreachable> {
        let message = ReplicaMessage::Segments(SegmentsAsk { format: FORMAT, names: names.to_vec() });
        self.objects.replica(self.number, &message, self.limit()).await.map(|(_, body)| body)
    }

    async fn load(&self, part: u32) -> Option<Vec<u8>> {
        store::load_bytes(store::replica_url(&self.config.cache_host, FORMAT, part)).await
    }

    async fn store(&self, part: u32, bytes: Vec<u8>) {
        let url = store::replica_url(&self.config.cache_host, FORMAT, part);
        if let Err(error) = store::store_bytes(url, bytes, KEPT_SECONDS).await {
            console_error!("the replica could not be kept in the data centre's cache: {error}");
        }
    }

    fn log(&self, line: &str) {
        console_error!("{line}");
    }
}
