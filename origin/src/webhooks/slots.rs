//! Places for attempts under way, so that endpoints which hang cannot take them from those that answer.
//!
//! Most attempts end within a moment. One that does not gives its place up and goes on in another room, as does from the start an
//! attempt at an endpoint whose latest one failed. While that room fills, no subscription has more than one attempt under way.

use crate::store::webhook_deliveries::Room;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Attempts under way in this process that began lately.
const PROMPT: usize = 512;
/// Attempts under way that take their time.
const SLOW: usize = 1_024;
/// An attempt that has not ended by then takes its time.
const MOMENT: Duration = Duration::from_secs(1);

/// The places of one process.
#[derive(Debug, Clone)]
pub struct Slots {
    prompt: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    moment: Duration,
}

impl Default for Slots {
    fn default() -> Self {
        Slots { prompt: Arc::new(Semaphore::new(PROMPT)), slow: Arc::new(Semaphore::new(SLOW)), moment: MOMENT }
    }
}

impl Slots {
    /// What there is room for, of up to `most` deliveries.
    pub fn room(&self, most: u32) -> Room {
        let places = |semaphore: &Semaphore| u32::try_from(semaphore.available_permits()).unwrap_or(u32::MAX);
        let whole = Room::whole(most.min(places(&self.prompt)));
        let slow = places(&self.slow);
        Room {
            each: if slow < SLOW as u32 / 2 { 1 } else { whole.each },
            // Any of those that are taken up may be one.
            each_failing: if slow < whole.deliveries { 0 } else { whole.each_failing },
            ..whole
        }
    }

    /// Takes a place for an attempt there was [`room`](Self::room) for.
    pub fn take(&self, is_failing: bool) -> Place {
        let room = if is_failing { &self.slow } else { &self.prompt };
        let permit = room.clone().try_acquire_owned().ok();
        Place { permit, slow: (!is_failing).then(|| self.slow.clone()), moment: self.moment }
    }
}

/// Somebody's place.
#[derive(Debug)]
pub struct Place {
    permit: Option<OwnedSemaphorePermit>,
    /// Where the attempt goes on that turns out to take its time.
    slow: Option<Arc<Semaphore>>,
    moment: Duration,
}

impl Place {
    /// Holds the place until `attempt` has ended, or for a moment, and then one in the other room.
    pub async fn hold<T>(mut self, attempt: impl Future<Output = T>) -> T {
        let mut attempt = pin!(attempt);
        let Some(slow) = self.slow.take() else { return attempt.await };
        if let Ok(ended) = timeout(self.moment, &mut attempt).await {
            return ended;
        }
        // Without room there the place is kept: there are never more attempts than places.
        self.permit = slow.try_acquire_owned().ok().or(self.permit);
        attempt.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::task::{JoinSet, yield_now};

    /// Waits until so many attempts that have only begun are under way.
    async fn until_prompt(slots: &Slots, attempts: usize) {
        while PROMPT - slots.prompt.available_permits() != attempts {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn who_takes_long_leaves_the_place_to_others_until_that_room_is_full_too() {
        let slots = Slots { moment: Duration::ZERO, ..Slots::default() };
        let mut hanging = JoinSet::new();
        let mut hang = |n, is_failing| {
            assert!(slots.room(64).deliveries > 0);
            (0..n).for_each(|_| {
                hanging.spawn(slots.take(is_failing).hold(pending::<()>()));
            });
        };
        hang(PROMPT, false);
        assert_eq!(slots.room(64).deliveries, 0, "they have only begun");
        until_prompt(&slots, 0).await;
        assert_eq!(slots.room(64), Room::whole(64), "they turned out to take their time");
        hang(1, true);
        let narrow = Room { each: 1, ..Room::whole(64) };
        assert_eq!(slots.room(64), narrow, "half of the other room is taken: nobody has more than one");
        hang(PROMPT - 1, false);
        until_prompt(&slots, 0).await;
        assert_eq!(slots.room(64), Room { each_failing: 0, ..narrow }, "the other room is full");
        hang(PROMPT, false);
        assert_eq!(slots.room(64).deliveries, 0, "and now this one is");
        hanging.shutdown().await;
        assert_eq!(slots.room(64), Room::whole(64), "who has gone leaves its place");
    }
}
