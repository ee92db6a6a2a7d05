//! The timer of a stream. Every frame postpones its deadline, so postponing must be cheap.

use rds_engine::clock::Stopwatch;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Wakes no later than required, possibly earlier; the caller checks what is due.
#[derive(Debug)]
pub struct Alarm {
    age: Stopwatch,
    rings_at: u64,
    sleep: Pin<Box<Sleep>>,
}

impl Default for Alarm {
    fn default() -> Self {
        Alarm { age: Stopwatch::start(), rings_at: 0, sleep: Box::pin(sleep(Duration::ZERO)) }
    }
}

impl Alarm {
    /// Returns after `wait` at the latest. The timer is reset only if it has fired, or would fire too late.
    pub async fn within(&mut self, wait: Duration) {
        let now = self.age.micros();
        let at = now.saturating_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
        if self.rings_at <= now || at < self.rings_at {
            self.rings_at = at;
            self.sleep.set(sleep(wait));
        }
        self.sleep.as_mut().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_alarm_never_rings_late_however_often_it_is_set() {
        let (mut alarm, watch) = (Alarm::default(), Stopwatch::start());
        let long = tokio::time::timeout(Duration::from_millis(20), alarm.within(Duration::from_secs(60))).await;
        assert!(long.is_err(), "not yet");
        alarm.within(Duration::from_millis(20)).await;
        assert!(watch.micros() >= 40_000, "set to ring earlier");
        // When postponed, it still fires at the first deadline and is reset then.
        let put_off = tokio::time::timeout(Duration::from_millis(10), alarm.within(Duration::from_millis(30))).await;
        assert!(put_off.is_err());
        alarm.within(Duration::from_secs(60)).await;
        assert!(watch.micros() < 30_000_000);
        assert!(tokio::time::timeout(Duration::from_millis(20), alarm.within(Duration::from_secs(60))).await.is_err());
    }
}
