//! The simulated runtime: one thread, tasks, and timers in simulated microseconds. No step reads a real clock.
//!
//! Events happen in the order of their time; those of one instant, in the order in which they were scheduled.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Tasks that end together: those of one isolate or of one instance of a Durable Object. 0 never ends.
pub type Group = u32;

/// What happens at an instant.
#[derive(Debug)]
pub enum Due {
    /// A task continues.
    Wake(Waker),
    /// A caller of this number sends its next request.
    Arrival(usize),
}

struct Timer {
    /// When, in microseconds, and the number of the timer.
    key: Reverse<(u64, u64)>,
    due: Due,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// The tasks that can continue. Wakers must be `Send`, so the queue has a lock, which a single thread never waits for.
type Ready = Arc<Mutex<VecDeque<usize>>>;

struct TaskWaker {
    place: usize,
    ready: Ready,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).push_back(self.place);
    }
}

type Work = Pin<Box<dyn Future<Output = ()>>>;

struct Slot {
    waker: Waker,
    group: Group,
    work: Option<Work>,
    /// Whether the place belongs to a task, also while the task is being polled.
    is_taken: bool,
}

/// The runtime. Clones of its `Rc` share one world.
#[derive(Default)]
pub struct Runtime {
    now: Cell<u64>,
    drawn: Cell<u64>,
    timers: RefCell<BinaryHeap<Timer>>,
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<usize>>,
    ready: Ready,
    groups: Cell<Group>,
}

impl Runtime {
    /// Microseconds since the beginning of the world.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// A new group of tasks.
    pub fn group(&self) -> Group {
        self.groups.set(self.groups.get() + 1);
        self.groups.get()
    }

    /// Schedules an event.
    pub fn schedule(&self, at: u64, due: Due) {
        let number = self.drawn.get();
        self.drawn.set(number + 1);
        self.timers.borrow_mut().push(Timer { key: Reverse((at.max(self.now.get()), number)), due });
    }

    /// Runs `work` as a task; it begins at this instant, after the current step.
    pub fn spawn(&self, group: Group, work: impl Future<Output = ()> + 'static) {
        let place = self.place(group);
        if let Some(slot) = self.slots.borrow_mut().get_mut(place) {
            slot.work = Some(Box::pin(work));
        }
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).push_back(place);
    }

    /// Runs `work` as a task and polls it at once. Must not be called by a task.
    pub fn start(&self, group: Group, work: impl Future<Output = ()> + 'static) {
        let place = self.place(group);
        self.poll(place, Box::pin(work));
        self.settle();
    }

    fn place(&self, group: Group) -> usize {
        let mut slots = self.slots.borrow_mut();
        if let Some(place) = self.free.borrow_mut().pop() {
            if let Some(slot) = slots.get_mut(place) {
                (slot.group, slot.is_taken) = (group, true);
            }
            return place;
        }
        let place = slots.len();
        let waker = Waker::from(Arc::new(TaskWaker { place, ready: Arc::clone(&self.ready) }));
        slots.push(Slot { waker, group, work: None, is_taken: true });
        place
    }

    fn poll(&self, place: usize, mut work: Work) {
        let waker = self.slots.borrow().get(place).map_or_else(|| Waker::noop().clone(), |slot| slot.waker.clone());
        let outcome = work.as_mut().poll(&mut Context::from_waker(&waker));
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(place) else { return };
        // A task that ended its own group while it ran is dropped here.
        match outcome {
            Poll::Pending if slot.is_taken => slot.work = Some(work),
            _ => {
                slot.is_taken = false;
                self.free.borrow_mut().push(place);
            }
        }
        drop(slots);
    }

    /// Continues every task that can.
    pub fn settle(&self) {
        loop {
            let next = self.ready.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(place) = next else { return };
            let work = self.slots.borrow_mut().get_mut(place).and_then(|slot| slot.work.take());
            if let Some(work) = work {
                self.poll(place, work);
            }
        }
    }

    /// Ends every task of a group, as the end of a process does.
    pub fn end(&self, group: Group) {
        let mut ended = Vec::new();
        for (place, slot) in self.slots.borrow_mut().iter_mut().enumerate() {
            if slot.is_taken && slot.group == group {
                slot.is_taken = false;
                // A task that runs just now is dropped when it stops.
                if let Some(work) = slot.work.take() {
                    ended.push(work);
                    self.free.borrow_mut().push(place);
                }
            }
        }
        drop(ended);
    }

    /// Advances to the next event not later than `until`, and returns it.
    pub fn next(&self, until: u64) -> Option<Due> {
        let mut timers = self.timers.borrow_mut();
        let Reverse((at, _)) = timers.peek()?.key;
        if at > until {
            return None;
        }
        self.now.set(at);
        timers.pop().map(|timer| timer.due)
    }

    /// Waits for `duration`.
    pub fn sleep(self: &Rc<Self>, duration: Duration) -> Sleep {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.sleep_until(self.now().saturating_add(micros))
    }

    /// Waits until an instant, in microseconds.
    pub fn sleep_until(self: &Rc<Self>, at: u64) -> Sleep {
        Sleep { runtime: Rc::clone(self), at, is_set: false }
    }
}

/// See [`Runtime::sleep`].
pub struct Sleep {
    runtime: Rc<Runtime>,
    at: u64,
    is_set: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.runtime.now() >= self.at {
            return Poll::Ready(());
        }
        if !std::mem::replace(&mut self.is_set, true) {
            self.runtime.schedule(self.at, Due::Wake(context.waker().clone()));
        }
        Poll::Pending
    }
}

/// A value that one task waits for and another gives.
pub struct Promise<T>(Rc<RefCell<(Option<T>, Option<Waker>)>>);

impl<T> Clone for Promise<T> {
    fn clone(&self) -> Self {
        Promise(Rc::clone(&self.0))
    }
}

impl<T> Default for Promise<T> {
    fn default() -> Self {
        Promise(Rc::new(RefCell::new((None, None))))
    }
}

impl<T> Promise<T> {
    pub fn keep(&self, value: T) {
        let waker = {
            let mut slot = self.0.borrow_mut();
            slot.0 = Some(value);
            slot.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The value, or `None` if `limit` ends first.
    pub async fn within(&self, runtime: &Rc<Runtime>, limit: Duration) -> Option<T> {
        let mut late = std::pin::pin!(runtime.sleep(limit));
        std::future::poll_fn(|context| {
            let mut slot = self.0.borrow_mut();
            if let Some(value) = slot.0.take() {
                return Poll::Ready(Some(value));
            }
            slot.1 = Some(context.waker().clone());
            drop(slot);
            late.as_mut().poll(context).map(|()| None)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(runtime: &Rc<Runtime>) {
        runtime.settle();
        while let Some(Due::Wake(waker)) = runtime.next(u64::MAX) {
            waker.wake();
            runtime.settle();
        }
    }

    #[test]
    fn tasks_continue_in_the_order_of_their_timers() {
        let (runtime, seen) = (Rc::new(Runtime::default()), Rc::new(RefCell::new(Vec::new())));
        for (name, millis) in [("late", 30), ("early", 10), ("early too", 10)] {
            let (clock, seen) = (Rc::clone(&runtime), Rc::clone(&seen));
            runtime.spawn(0, async move {
                clock.sleep(Duration::from_millis(millis)).await;
                seen.borrow_mut().push((clock.now(), name));
            });
        }
        run(&runtime);
        assert_eq!(*seen.borrow(), [(10_000, "early"), (10_000, "early too"), (30_000, "late")]);
    }

    #[test]
    fn the_tasks_of_an_ended_group_never_continue_and_others_do() {
        let (runtime, seen) = (Rc::new(Runtime::default()), Rc::new(RefCell::new(Vec::new())));
        let (first, second) = (runtime.group(), runtime.group());
        for group in [first, second] {
            let (clock, seen) = (Rc::clone(&runtime), Rc::clone(&seen));
            runtime.spawn(group, async move {
                clock.sleep(Duration::from_millis(5)).await;
                seen.borrow_mut().push(group);
            });
        }
        runtime.settle();
        runtime.end(first);
        run(&runtime);
        assert_eq!(*seen.borrow(), [second]);
    }

    #[test]
    fn a_promise_that_is_not_kept_in_time_gives_nothing() {
        let (runtime, seen) = (Rc::new(Runtime::default()), Rc::new(RefCell::new(Vec::new())));
        let promises = [Promise::default(), Promise::default()];
        for promise in promises.clone() {
            let (clock, seen) = (Rc::clone(&runtime), Rc::clone(&seen));
            runtime.spawn(0, async move {
                let value = promise.within(&clock, Duration::from_millis(20)).await;
                seen.borrow_mut().push((clock.now(), value));
            });
        }
        let (clock, [kept, _]) = (Rc::clone(&runtime), promises);
        runtime.spawn(0, async move {
            clock.sleep(Duration::from_millis(7)).await;
            kept.keep(3);
        });
        run(&runtime);
        assert_eq!(*seen.borrow(), [(7_000, Some(3)), (20_000, None)]);
    }
}
