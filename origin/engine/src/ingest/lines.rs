//! The lines of NDJSON: read for a batch, or checked one by one without a database.

use super::MAX_BATCH_BYTES;
use super::check;
use super::check::observed_at::too_far_ahead;
use super::faults::shortened;
use super::observation::{self, Complaint, Observation};
use rds_shared::wire::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

/// What is wrong with bytes that are not UTF-8.
const NOT_UTF_8: &str = "is not UTF-8";

/// A line's observation; `None` for a blank line. The error names the field.
pub(super) fn parsed(line: &[u8]) -> Result<Option<Observation>, Complaint> {
    match std::str::from_utf8(line) {
        Ok(line) if line.trim().is_empty() => Ok(None),
        Ok(line) => observation::read(line).map(Some),
        Err(_) => Err((None, NOT_UTF_8.to_owned())),
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Line number, counted from 1.
    pub line: u64,
    /// The line's kind; null if the line does not name a known one.
    pub kind: Option<&'static str>,
    /// The field; null if the finding concerns the whole line.
    pub field: Option<String>,
    /// What is wrong, as the predicate of a sentence whose subject is the field.
    pub reason: String,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Number of lines that are not blank.
    pub lines: u64,
    /// Number of lines with a finding.
    pub invalid_lines: u64,
    /// Number of findings.
    pub findings: u64,
    /// Number of valid lines by kind.
    pub valid: BTreeMap<&'static str, u64>,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the lines are more than one batch may have, [`MAX_BATCH_BYTES`].
    pub is_too_large: bool,
}

impl Checked {
    /// Whether ingest would accept every line, as far as it can be told without the database, and all of them as one batch.
    pub fn is_valid(&self) -> bool {
        self.findings == 0 && !self.is_too_large
    }
}

/// Checks every line as ingest does, without a database, and reports each finding. What other rows decide is not checked.
pub fn check_lines(reader: impl BufRead, now: Timestamp, report: &mut impl FnMut(&Finding)) -> io::Result<Checked> {
    let (mut reader, mut text, mut checked, mut number) = (reader, Vec::new(), Checked::default(), 0);
    loop {
        text.clear();
        // A line can be as long as a batch; the rest of a longer line is skipped.
        let read = (&mut reader).take(MAX_BATCH_BYTES + 1).read_until(b'\n', &mut text)? as u64;
        if read == 0 {
            checked.is_too_large = checked.bytes > MAX_BATCH_BYTES;
            return Ok(checked);
        }
        number += 1;
        checked.bytes += read;
        let (kind, complaints) = if read > MAX_BATCH_BYTES {
            checked.bytes += skip_line(&mut reader, &text)?;
            (None, vec![(None, format!("is longer than a batch may be, {MAX_BATCH_BYTES} bytes"))])
        } else {
            match parsed(&text) {
                Ok(None) => continue,
                Ok(Some(observation)) => (Some(observation.kind()), complaints(observation, now)),
                Err(complaint) => (kind_of(&text), vec![complaint]),
            }
        };
        checked.lines += 1;
        checked.findings += complaints.len() as u64;
        if complaints.is_empty() {
            *checked.valid.entry(kind.unwrap_or_default()).or_default() += 1;
            continue;
        }
        checked.invalid_lines += 1;
        for (field, reason) in complaints {
            report(&Finding { line: number, kind, field: field.map(shortened), reason: shortened(reason) });
        }
    }
}

fn complaints(mut observation: Observation, now: Timestamp) -> Vec<Complaint> {
    let (mut complaints, observed_at) = check::observation(&mut observation);
    let ahead = observed_at.and_then(|at| too_far_ahead(at, now));
    complaints.extend(ahead.map(|reason| (Some("observed_at".to_owned()), reason)));
    complaints
}

/// The known kind that a faulty line names.
fn kind_of(line: &[u8]) -> Option<&'static str> {
    let named = observation::kind_of(std::str::from_utf8(line).ok()?)?;
    observation::KINDS.into_iter().find(|kind| *kind == named)
}

/// Skips to the end of the line of which `begun` was read; returns the number of skipped bytes.
fn skip_line(reader: &mut impl BufRead, begun: &[u8]) -> io::Result<u64> {
    let (mut skipped, mut is_done) = (0, begun.last() == Some(&b'\n'));
    while !is_done {
        let buffer = reader.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        is_done = end.is_some() || buffer.is_empty();
        reader.consume(length);
        skipped += length as u64;
    }
    Ok(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn a_line_longer_than_a_batch_is_one_finding_and_the_next_line_is_checked() {
        let next = b"\n{\"kind\":\"weather\"}\n";
        let long = io::repeat(b'x').take(2 * MAX_BATCH_BYTES).chain(&next[..]);
        let mut findings = Vec::new();
        let now = Timestamp::from_seconds(1_800_000_000);
        let checked = check_lines(BufReader::new(long), now, &mut |finding| findings.push(finding.clone())).unwrap();
        assert_eq!((checked.lines, checked.invalid_lines, checked.is_too_large), (2, 2, true));
        assert_eq!(checked.bytes, 2 * MAX_BATCH_BYTES + next.len() as u64);
        let named: Vec<_> = findings.iter().map(|finding| (finding.line, finding.field.as_deref())).collect();
        assert_eq!(named, [(1, None), (2, Some("kind"))]);
        assert!(findings[0].reason.contains("67108864 bytes"), "{findings:?}");
    }
}
