//! Checks that each peer must pass before it is timed.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};

use crate::http::{self, Answer, Connection};

/// Body fields that grow with the age of a cached response.
const AGES: [&[u8]; 3] = [b"\"freshness_seconds\":", b"\"age_seconds\":", b"\"age_hours\":"];
/// Number of concurrent callers.
const CALLERS: u32 = 64;
/// All callers together send this many requests for each request that the limit admits.
const REQUESTS_PER_ADMITTED: u32 = 2;
/// Minimum seconds left in the current minute when the requests start, because all of them must fall into one window of the limit.
const MIN_SECONDS_LEFT: u64 = 20;

/// Checks that the bodies are equal except for ages.
pub fn same_body(ours: &Answer, theirs: &Answer) -> Result<()> {
    ensure!(theirs.status == 200, "the peer answers {}: {}", theirs.status, theirs.head);
    ensure!(without_ages(&ours.body) == without_ages(&theirs.body), "the peer's body differs: {}", theirs.head);
    Ok(())
}

/// Checks that the header names are equal.
pub fn same_header_names(ours: &Answer, theirs: &Answer) -> Result<()> {
    let (ours, theirs) = (header_names(ours), header_names(theirs));
    ensure!(ours == theirs, "the headers differ:\n{ours:?}\n{theirs:?}");
    Ok(())
}

/// Checks that the answer's ETag gets a 304 without a body. `request` builds a request with an additional header line.
pub fn confirms(address: SocketAddr, answer: &Answer, request: impl Fn(&str) -> Vec<u8>) -> Result<()> {
    let etag = answer.etag.as_ref().context("no ETag")?;
    let confirmed = http::ask(address, &request(&format!("if-none-match: {etag}\r\n")))?;
    ensure!(confirmed.status == 304 && confirmed.body.is_empty(), "no 304 for the ETag: {}", confirmed.head);
    let changed = http::ask(address, &request("if-none-match: W/\"other\"\r\n"))?;
    ensure!(changed.status == 200, "no 200 for another ETag: {}", changed.head);
    Ok(())
}

/// Checks that the server counts every request: after the second of two requests one request fewer is left, or a new window has begun.
pub fn counts(address: SocketAddr, request: &[u8], limit: u32) -> Result<()> {
    let told = || -> Result<[i64; 3]> {
        let answer = http::ask(address, request)?;
        let number = |name: &str| -> Result<i64> { Ok(header(&answer, name)?.parse()?) };
        Ok([number("x-ratelimit-limit")?, number("x-ratelimit-remaining")?, number("x-ratelimit-reset")?])
    };
    let [said, before, window] = told()?;
    let [_, after, next] = told()?;
    let limit = i64::from(limit);
    ensure!(said == limit, "a limit of {said}");
    ensure!(after == before - 1 || next > window && after == limit - 1, "{before} left, then {after}");
    Ok(())
}

/// Result of sending more concurrent requests than the limit within one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Requests answered with 200.
    pub admitted: u32,
    /// Requests whose connection the server cut, so that it is unknown whether they were admitted.
    pub cut: u32,
}

impl Crowd {
    /// Whether the limit may have been exact, given that each cut request was admitted or not.
    pub fn is_exact(self, limit: u32) -> bool {
        self.admitted <= limit && self.admitted + self.cut >= limit
    }
}

/// Sends more concurrent requests than the limit within one minute.
pub fn crowd(address: SocketAddr, limit: u32, request: impl Fn() -> Vec<u8> + Sync) -> Result<Crowd> {
    while 60 - now() % 60 < MIN_SECONDS_LEFT {
        xtask::signals::check()?;
        std::thread::sleep(Duration::from_millis(200));
    }
    let (window, barrier) = (now() / 60, Barrier::new(CALLERS as usize));
    let caller = || -> Result<Crowd> {
        let mut connection = Connection::open(address)?;
        barrier.wait();
        let mut seen = Crowd::default();
        for _ in 0..(limit * REQUESTS_PER_ADMITTED).div_ceil(CALLERS) {
            let answer = connection.send(&request()).and_then(|()| connection.receive());
            match answer.map(|answer| answer.status) {
                Ok(200) => seen.admitted += 1,
                Ok(429) => {}
                Ok(other) => bail!("unexpected status {other} at the limit"),
                Err(error) if http::was_cut(&error) => {
                    seen.cut += 1;
                    connection = Connection::open(address)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(seen)
    };
    let counts: Vec<Result<Crowd>> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(caller)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap_or_else(|_| bail!("a caller panicked"))).collect()
    });
    let mut total = Crowd::default();
    for seen in counts {
        let seen = seen?;
        total = Crowd { admitted: total.admitted + seen.admitted, cut: total.cut + seen.cut };
    }
    ensure!(now() / 60 == window, "the requests did not end within the minute");
    Ok(total)
}

fn header<'a>(answer: &'a Answer, name: &str) -> Result<&'a str> {
    let found = answer.headers().find(|(known, _)| *known == name);
    Ok(found.with_context(|| format!("no {name}: {}", answer.head))?.1)
}

fn header_names(answer: &Answer) -> Vec<&str> {
    let mut names: Vec<_> = answer.headers().map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

fn without_ages(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((first, behind)) = rest.split_first() {
        match AGES.iter().find(|name| rest.starts_with(name)) {
            Some(name) => {
                out.extend_from_slice(name);
                let value = rest.get(name.len()..).unwrap_or_default();
                let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
                rest = value.get(digits..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    out
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_request_counts_as_possibly_admitted() {
        let crowd = |admitted, cut| Crowd { admitted, cut }.is_exact(320);
        assert!(crowd(320, 0) && crowd(319, 1) && crowd(320, 1));
        assert!(!crowd(319, 0) && !crowd(321, 0) && !crowd(321, 5));
    }

    #[test]
    fn only_ages_are_ignored() {
        let blank = |text: &str| String::from_utf8(without_ages(text.as_bytes())).unwrap();
        assert_eq!(blank(r#"{"age_seconds":17,"tvl":1}"#), r#"{"age_seconds":,"tvl":1}"#);
        assert_eq!(blank(r#"{"freshness_seconds":null}"#), r#"{"freshness_seconds":null}"#);
        assert_ne!(blank(r#"{"tvl":1}"#), blank(r#"{"tvl":2}"#));
    }
}
