//! Catches panics, so that a panic ends only one request or one run of a job.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs `future` and catches a panic in it. The future is then dropped, so only shared state can be left half changed; locks on
/// shared state recover from poison.
pub async fn caught<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// The panic's message.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_caught_and_its_message_kept_for_the_log() {
        let panic = caught(async { panic!("boom {}", 1) }).await.unwrap_err();
        assert_eq!(panic_text(&*panic), "boom 1");
        assert_eq!(caught(async { 7 }).await.unwrap(), 7);
    }
}
