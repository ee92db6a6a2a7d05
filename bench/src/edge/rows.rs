//! Whether an edge answers from rows of its own.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Subject, tail};
use crate::http::{self, Answer};

/// Start of `Cache-Status` in an answer from rows.
const FROM_ROWS: &str = "rds-replica";
/// Time for an edge to get the rows.
const PATIENCE: Duration = Duration::from_secs(15);

/// Waits until the edge answers a new list from its rows; false if it does not do so in time.
pub fn wait(edge: SocketAddr, key: &str) -> Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        xtask::signals::check()?;
        let answer = http::ask(edge, &http::get(&tail::target(), &Subject::lines(key)))?;
        if cache_status(&answer).starts_with(FROM_ROWS) {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(false)
}

/// The answer's `Cache-Status`; empty without one.
pub fn cache_status(answer: &Answer) -> &str {
    answer.headers().find(|(known, _)| *known == "cache-status").map_or("", |(_, value)| value)
}
