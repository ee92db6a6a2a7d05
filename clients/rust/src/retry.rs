//! When a request is sent again, and after how long.

use crate::transport::BoxFuture;
use http::HeaderMap;
use std::time::{Duration, SystemTime};

/// Time and chance. Tests replace them.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> SystemTime;
    /// Waits.
    fn sleep(&self, time: Duration) -> BoxFuture<()>;
    /// A number from 0 to 1.
    fn random(&self) -> f64;
}

/// The system's time and chance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> f64 {
        // Without a source of chance many clients may return in the same instant, and nothing else is wrong.
        let drawn = getrandom::u32().unwrap_or(u32::MAX / 2);
        f64::from(drawn) / f64::from(u32::MAX)
    }
}

/// The first wait without a `Retry-After`, at most; it doubles with each try.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait without a `Retry-After`.
const LONGEST: Duration = Duration::from_secs(8);
/// Added to `Retry-After` by chance, so that many clients do not return in the same instant.
const SPREAD: Duration = Duration::from_millis(250);

/// The wait before try number `tries + 1`. Never shorter than `retry_after`.
pub(crate) fn delay(tries: u32, retry_after: Option<Duration>, clock: &dyn Clock) -> Duration {
    match retry_after {
        Some(asked) => asked.saturating_add(SPREAD.mul_f64(clock.random())),
        None => doubled(FIRST, LONGEST, tries.saturating_sub(1)).mul_f64(clock.random()),
    }
}

/// `first`, doubled so many times, but at most `longest`.
pub(crate) fn doubled(first: Duration, longest: Duration, times: u32) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times)).min(longest)
}

/// `Retry-After`: seconds, or an HTTP date, which is compared with the answer's own `Date`.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let date = headers.get("date").and_then(|it| it.to_str().ok());
    let sent = date.and_then(|it| httpdate::parse_http_date(it).ok()).unwrap_or(now);
    Some(until.duration_since(sent).unwrap_or_default())
}

/// Whether the status says that a later try may succeed.
pub(crate) fn is_temporary(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}
