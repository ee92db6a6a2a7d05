//! Slots for running attempts, so that endpoints which hang do not block those that answer.
//!
//! Most attempts end within a second. One that takes longer moves from a prompt slot to a slow slot; an attempt at an endpoint whose
//! latest attempt failed takes a slow slot from the start. Once more than half of the slow slots are taken, each subscription is
//! limited to one attempt.

use rds_store::webhooks::deliveries::{Capacity, Claimed};
use std::fmt;
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
    /// Reserves up to `most` free prompt slots, for deliveries that are then claimed.
    pub fn reserve(&self, most: u32) -> Reservation {
        let free = |semaphore: &Semaphore| u32::try_from(semaphore.available_permits()).unwrap_or(u32::MAX);
        // Another task may take slots at the same time; then this one gets none, and tries again later.
        let prompt = self.prompt.clone().try_acquire_many_owned(most.min(free(&self.prompt))).ok();
        let whole = Capacity::whole(prompt.as_ref().map_or(0, |permits| permits.num_permits().try_into().unwrap_or(0)));
        let slow = free(&self.slow);
        let capacity = Capacity {
            each: if slow < SLOW_SLOTS as u32 / 2 { 1 } else { whole.each },
            // Every claimed delivery may need a slow slot; failing endpoints get attempts only if there are enough for all.
            each_failing: if slow < whole.deliveries { 0 } else { whole.each_failing },
            ..whole
        };
        Reservation { slots: self.clone(), prompt, capacity }
    }
}

/// Reserved prompt slots. Those that are not taken are free again when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    slots: Slots,
    prompt: Option<OwnedSemaphorePermit>,
    capacity: Capacity,
}

impl Reservation {
    /// How many deliveries may be claimed.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Takes a slot for an attempt for which there is [`capacity`](Self::capacity).
    pub fn take(&mut self, is_failing: bool) -> Slot {
        let Slots { slow, moment, .. } = &self.slots;
        let permit = match is_failing {
            true => slow.clone().try_acquire_owned().ok(),
            false => self.prompt.as_mut().and_then(|permits| permits.split(1)),
        };
        Slot { permit, slow: (!is_failing).then(|| slow.clone()), moment: *moment }
    }
}

/// Starts attempts of deliveries that were leased elsewhere than in the claim. It exists while this process delivers.
pub struct Intake {
    pub slots: Slots,
    start: Box<dyn Fn(Slot, Claimed) + Send + Sync>,
}

impl Intake {
    pub fn new(slots: Slots, start: impl Fn(Slot, Claimed) + Send + Sync + 'static) -> Self {
        Intake { slots, start: Box::new(start) }
    }

    /// Starts the attempt of a delivery that this process has leased.
    pub fn start(&self, slot: Slot, claimed: Claimed) {
        (self.start)(slot, claimed);
    }
}

impl fmt::Debug for Intake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intake").field("slots", &self.slots).finish_non_exhaustive()
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
            (0..n).for_each(|_| {
                let mut reserved = slots.reserve(64);
                assert!(reserved.capacity().deliveries > 0);
                hanging.spawn(reserved.take(is_failing).hold(pending::<()>()));
            });
        };
        hang(PROMPT_SLOTS, false);
        assert_eq!(slots.reserve(64).capacity().deliveries, 0, "all prompt slots are taken");
        until_prompt(&slots, 0).await;
        assert_eq!(slots.reserve(64).capacity(), Capacity::whole(64), "the attempts have moved to slow slots");
        hang(1, true);
        let narrow = Capacity { each: 1, ..Capacity::whole(64) };
        assert_eq!(
            slots.reserve(64).capacity(),
            narrow,
            "half of the slow slots are taken: one attempt per subscription"
        );
        hang(PROMPT_SLOTS - 1, false);
        until_prompt(&slots, 0).await;
        assert_eq!(slots.reserve(64).capacity(), Capacity { each_failing: 0, ..narrow }, "the slow slots are full");
        hang(PROMPT_SLOTS, false);
        assert_eq!(slots.reserve(64).capacity().deliveries, 0, "the prompt slots are full too");
        hanging.shutdown().await;
        let held = slots.reserve(PROMPT_SLOTS as u32);
        assert_eq!(slots.reserve(64).capacity().deliveries, 0, "all prompt slots are reserved");
        drop(held);
        assert_eq!(slots.reserve(64).capacity(), Capacity::whole(64), "ended attempts free their slots");
    }
}
