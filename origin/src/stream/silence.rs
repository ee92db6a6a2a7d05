//! When a heartbeat is due.

use rds_shared::push::stream_limits::HEARTBEAT_SECONDS;
use rds_shared::wire::Timestamp;
use std::time::Duration;

/// Longest time without a frame.
const MAX_SILENCE: Duration = Duration::from_secs(HEARTBEAT_SECONDS as u64);

/// Time until a heartbeat is due for a stream that has been silent for `silent`. The service's clock decides, but the maximum silence also
/// holds in real time, because the service's clock may be set back.
pub fn silence_left(now: Timestamp, heartbeat_at: Timestamp, silent: Duration) -> Duration {
    let by_clock = heartbeat_at.as_micros().saturating_sub(now.as_micros()).max(0);
    Duration::from_micros(by_clock.unsigned_abs()).min(MAX_SILENCE.saturating_sub(silent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_due_by_the_earlier_of_two_clocks() {
        let at = Timestamp::from_seconds;
        let after = Duration::from_secs;
        assert_eq!(silence_left(at(100), at(120), after(0)), MAX_SILENCE);
        assert_eq!(silence_left(at(115), at(120), after(15)), after(5));
        assert_eq!(silence_left(at(120), at(120), after(3)), Duration::ZERO, "moved ahead");
        assert_eq!(silence_left(at(900), at(120), after(3)), Duration::ZERO);
        assert_eq!(silence_left(at(100 - 3_600), at(120), after(15)), after(5), "set back by an hour");
        assert_eq!(silence_left(at(100 - 3_600), at(120), after(20)), Duration::ZERO);
        assert_eq!(silence_left(at(100 - 3_600), at(120), after(90)), Duration::ZERO);
    }
}
