//! Slots for running attempts, so that endpoints which hang do not block those that answer.
//!
//! Most attempts end within a second. One that takes longer moves from a prompt slot to a slow slot; an attempt at an endpoint whose
//! latest attempt failed takes a slow slot from the start. Once more than half of the slow slots are taken, each subscription is
//! limited to one attempt.

use rds_store::webhooks::deliveries::Capacity;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Prompt slots of this process.
const PROMPT_SLOTS: usize = 512;
/// Slow slots of this process.
const SLOW_SLOTS: usize = 1_024;
/// An attempt that takes longer moves to a slow slot.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(1);

/// The slots of one process.
#[derive(Debug, Clone)]
pub struct Slots {
    prompt: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    moment: Duration,
}

impl Default for Slots {
    fn default() -> Self {
        Slots {
            prompt: Arc::new(Semaphore::new(PROMPT_SLOTS)),
            slow: Arc::new(Semaphore::new(SLOW_SLOTS)),
            moment: PROMPT_TIMEOUT,
        }
    }
}

impl Slots {
    /// How many deliveries may be claimed, up to `most`.
    pub fn capacity(&self, most: u32) -> Capacity {
        let free = |semaphore: &Semaphore| u32::try_from(semaphore.available_permits()).unwrap_or(u32::MAX);
        let whole = Capacity::whole(most.min(free(&self.prompt)));
        let slow = free(&self.slow);
        Capacity {
            each: if slow < SLOW_SLOTS as u32 / 2 { 1 } else { whole.each },
            // Every claimed delivery may need a slow slot; failing endpoints get attempts only if there are enough for all.
            each_failing: if slow < whole.deliveries { 0 } else { whole.each_failing },
            ..whole
        }
    }

    /// Takes a slot for an attempt for which there was [`capacity`](Self::capacity).
    pub fn take(&self, is_failing: bool) -> Slot {
        let capacity = if is_failing { &self.slow } else { &self.prompt };
        let permit = capacity.clone().try_acquire_owned().ok();
        Slot { permit, slow: (!is_failing).then(|| self.slow.clone()), moment: self.moment }
    }
}

/// The slot of one attempt.
#[derive(Debug)]
pub struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    /// The slow slots, for an attempt that turns out to be slow; `None` if the attempt has a slow slot from the start.
    slow: Option<Arc<Semaphore>>,
    moment: Duration,
}

impl Slot {
    /// Runs `attempt` in its slot. If it outlasts the prompt timeout, moves it to a slow slot if one is free.
    pub async fn hold<T>(mut self, attempt: impl Future<Output = T>) -> T {
        let mut attempt = pin!(attempt);
        let Some(slow) = self.slow.take() else { return attempt.await };
        if let Ok(ended) = timeout(self.moment, &mut attempt).await {
            return ended;
        }
        // Without a free slow slot the prompt slot is kept: there are never more attempts than slots.
        self.permit = slow.try_acquire_owned().ok().or(self.permit);
        attempt.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::task::{JoinSet, yield_now};

    /// Waits until exactly `attempts` attempts occupy prompt slots.
    async fn until_prompt(slots: &Slots, attempts: usize) {
        while PROMPT_SLOTS - slots.prompt.available_permits() != attempts {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_slow_attempt_frees_its_prompt_slot_until_the_slow_slots_are_full() {
        let slots = Slots { moment: Duration::ZERO, ..Slots::default() };
        let mut hanging = JoinSet::new();
        let mut hang = |n, is_failing| {
            assert!(slots.capacity(64).deliveries > 0);
            (0..n).for_each(|_| {
                hanging.spawn(slots.take(is_failing).hold(pending::<()>()));
            });
        };
        hang(PROMPT_SLOTS, false);
        assert_eq!(slots.capacity(64).deliveries, 0, "all prompt slots are taken");
        until_prompt(&slots, 0).await;
        assert_eq!(slots.capacity(64), Capacity::whole(64), "the attempts have moved to slow slots");
        hang(1, true);
        let narrow = Capacity { each: 1, ..Capacity::whole(64) };
        assert_eq!(slots.capacity(64), narrow, "half of the slow slots are taken: one attempt per subscription");
        hang(PROMPT_SLOTS - 1, false);
        until_prompt(&slots, 0).await;
        assert_eq!(slots.capacity(64), Capacity { each_failing: 0, ..narrow }, "the slow slots are full");
        hang(PROMPT_SLOTS, false);
        assert_eq!(slots.capacity(64).deliveries, 0, "the prompt slots are full too");
        hanging.shutdown().await;
        assert_eq!(slots.capacity(64), Capacity::whole(64), "ended attempts free their slots");
    }
}
