//! The log of a run that is held back: it names the vaults whose tier would change, ten at most, so no line
//! grows with the market.

use crate::service::fail_safe::{demote, id, world};
use serde_json::Value;
use std::cell::RefCell;
use std::io;
use std::sync::Once;

thread_local! {
    /// Log output of this thread; each test has its own thread.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Writes to the thread's log output.
struct Log;

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Enables warnings for the whole program: tracing decides once per call site whether it is enabled.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let form = tracing_subscriber::fmt().json().flatten_event(true).with_max_level(tracing::Level::WARN);
        tracing::subscriber::set_global_default(form.with_writer(|| Log).finish()).unwrap();
    });
}

/// The log line about a run that was held back because one batch had incidents of this many vaults.
async fn logged(vaults: usize) -> Value {
    listen();
    let test = world().await;
    demote(&test, 1, vaults).await;
    let text = LOGGED.with_borrow(|logged| String::from_utf8(logged.clone()).unwrap());
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found: Vec<_> = lines.filter(|line| line["message"].as_str().unwrap().contains("held back")).collect();
    assert_eq!(found.len(), 1, "{text}");
    found[0].clone()
}

#[tokio::test]
async fn the_log_names_the_vaults_that_a_run_is_held_back_for() {
    let line = logged(5).await;
    assert_eq!(line["reason"], "mass_move");
    let mut ids: Vec<_> = (0..5).map(id).collect();
    ids.sort();
    assert_eq!(line["vaults"], ids.join(", "), "whom it would move, and nobody else");
}

#[tokio::test]
async fn a_few_are_named_and_the_rest_are_counted() {
    let line = logged(20).await;
    let told = line["vaults"].as_str().unwrap();
    assert!(told.ends_with(" and 10 more") && told.matches("harbor-").count() == 10, "{told}");
}
