//! `cargo xtask histories FILE`: histories that a fault campaign wrote down, judged by a linearizability checker that is not ours.
//!
//! The checker is `WGLChecker` of `todc-utils`: the method of Wing and Gong with Lowe's memory of what was tried, which porcupine uses too.
//! Each line of the file is one operation:
//!
//! ```json
//! {"object": "north at edge 0", "as": "register", "who": "writer", "write": 7, "began": 10.5, "ended": 12.25}
//! {"object": "north at edge 0", "as": "register", "who": "reader 1", "read": 7, "began": 12.5, "ended": 13.0}
//! {"object": "the journal", "as": "log", "who": "producer 3", "write": 41, "began": 1.0, "ended": null}
//! ```
//!
//! A `register` has the value that was written last; what it had before is not known. A `log` gives each operation a number, later operations
//! higher ones; `write` is that number. An operation takes effect between `began` and `ended`, in milliseconds; `null` means that its caller
//! never learnt its end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Deserialize;
use todc_utils::Specification;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};

/// Operations of an object that are judged together. The checker's memory grows with the square of this number.
const MOST_AT_ONCE: usize = 4_000;

/// The file with the histories.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// File with one operation a line, as a campaign writes it.
    file: PathBuf,
}

/// One operation of a history.
#[derive(Debug, Clone, Deserialize)]
struct Operation {
    object: String,
    #[serde(rename = "as")]
    kind: Kind,
    /// Who made it; operations of one caller may overlap.
    who: String,
    #[serde(flatten)]
    effect: Effect,
    began: f64,
    ended: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Register,
    Log,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Effect {
    Write(u64),
    Read(u64),
}

impl Effect {
    fn value(self) -> u64 {
        match self {
            Effect::Write(value) | Effect::Read(value) => value,
        }
    }
}

/// The value written last, or any value at first: the checker has no other way to begin in the middle.
struct Register;

impl Specification for Register {
    type State = Option<u64>;
    type Operation = Effect;

    fn init() -> Option<u64> {
        None
    }

    fn apply(operation: &Effect, state: &Option<u64>) -> (bool, Option<u64>) {
        match (operation, state) {
            (Effect::Write(value), _) => (true, Some(*value)),
            (Effect::Read(value), None) => (true, Some(*value)),
            (Effect::Read(value), Some(last)) => (value == last, *state),
        }
    }
}

/// Places in the order of numbers: the one after the last place is next, so that only one order is tried.
struct Log;

impl Specification for Log {
    type State = u64;
    type Operation = Effect;

    fn init() -> u64 {
        0
    }

    fn apply(operation: &Effect, last: &u64) -> (bool, u64) {
        match operation {
            Effect::Write(place) if *place == last + 1 => (true, *place),
            _ => (false, *last),
        }
    }
}

/// Judges every object of the file; an error names those whose history no order of its operations explains.
pub fn run(options: &Options) -> Result<()> {
    let mut objects: BTreeMap<String, Vec<Operation>> = BTreeMap::new();
    for operation in read(&options.file)? {
        objects.entry(operation.object.clone()).or_default().push(operation);
    }
    ensure!(!objects.is_empty(), "{} has no operation", options.file.display());
    let mut wrong = Vec::new();
    for (object, operations) in objects {
        let count = operations.len();
        match judged(operations)? {
            None => println!("{object}: {count} operations are linearizable"),
            Some(part) => wrong.push(format!("{object}: {part}")),
        }
    }
    if !wrong.is_empty() {
        bail!("no order of the operations explains these histories:\n{}", wrong.join("\n"));
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<Operation>> {
    let lines = BufReader::new(std::fs::File::open(file).with_context(|| file.display().to_string())?).lines();
    let operation = |(number, line): (usize, std::io::Result<String>)| {
        let operation: Operation =
            serde_json::from_str(&line?).with_context(|| format!("{}:{}", file.display(), number + 1))?;
        ensure!(
            operation.ended.is_none_or(|ended| ended >= operation.began),
            "{}:{}: an operation ended before it began",
            file.display(),
            number + 1
        );
        Ok(operation)
    };
    lines.enumerate().map(operation).collect()
}

/// Judges the operations of one object; the part that cannot be explained, if any.
fn judged(mut operations: Vec<Operation>) -> Result<Option<String>> {
    let kind = operations.first().map_or(Kind::Register, |first| first.kind);
    ensure!(operations.iter().all(|operation| operation.kind == kind), "an object is a register and a log");
    operations.sort_by(|one, other| one.began.total_cmp(&other.began));
    if kind == Kind::Log && !ranked(&mut operations) {
        return Ok(Some("a number was given twice".to_owned()));
    }
    let mut before = 0;
    for part in parts(&operations) {
        let part = &mut part.to_vec();
        if kind == Kind::Log {
            // What does not belong in this part gets a place that does not exist.
            for operation in part.iter_mut() {
                operation.effect = Effect::Write(operation.effect.value().checked_sub(before).unwrap_or(u64::MAX));
            }
            before += part.len() as u64;
        }
        let is_linearizable = match kind {
            Kind::Register => WGLChecker::<Register>::is_linearizable(history(part)),
            Kind::Log => WGLChecker::<Log>::is_linearizable(history(part)),
        };
        if !is_linearizable {
            return Ok(Some(described(part)));
        }
    }
    Ok(None)
}

/// Replaces the numbers of a log by their places in ascending order, from 1; `false` if a number occurs twice.
fn ranked(operations: &mut [Operation]) -> bool {
    let numbers: BTreeSet<u64> = operations.iter().map(|operation| operation.effect.value()).collect();
    let places: BTreeMap<u64, u64> = numbers.into_iter().zip(1..).collect();
    let is_unique = places.len() == operations.len();
    for operation in operations {
        operation.effect = Effect::Write(places.get(&operation.effect.value()).copied().unwrap_or_default());
    }
    is_unique
}

/// The operations in parts of about [`MOST_AT_ONCE`], cut only where none is under way: whatever is wrong within a part is found, and between two
/// parts the order is given. Operations whose end is not known are under way to the end, so nothing is cut after the first.
fn parts(operations: &[Operation]) -> impl Iterator<Item = &[Operation]> {
    let mut rest = operations;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (mut latest, mut cut) = (f64::NEG_INFINITY, rest.len());
        for (place, operation) in rest.iter().enumerate() {
            if place >= MOST_AT_ONCE && operation.began > latest {
                cut = place;
                break;
            }
            latest = latest.max(operation.ended.unwrap_or(f64::INFINITY));
        }
        let (part, others) = rest.split_at(cut);
        rest = others;
        Some(part)
    })
}

/// The history of calls and responses, each operation of a caller of its own: operations of one caller may overlap.
fn history(operations: &[Operation]) -> History<Effect> {
    let mut events: Vec<(f64, bool, usize, Effect)> = Vec::new();
    for (place, operation) in operations.iter().enumerate() {
        events.push((operation.began, false, place, operation.effect));
        events.push((operation.ended.unwrap_or(f64::INFINITY), true, place, operation.effect));
    }
    // At the same instant a call comes before a response, so that both operations count as concurrent.
    events.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let action = |(_, is_end, place, effect)| match is_end {
        false => (place, Action::Call(effect)),
        true => (place, Action::Response(effect)),
    };
    History::from_actions(events.into_iter().map(action).collect())
}

/// The shortest beginning of the part that cannot be explained, shown by its last operations.
fn described(part: &[Operation]) -> String {
    const SHOWN: usize = 6;
    let first = part.first().map_or(0.0, |first| first.began);
    let line = |operation: &Operation| {
        let (what, value) = match operation.effect {
            Effect::Write(_) => ("wrote", operation.effect.value()),
            Effect::Read(_) => ("read", operation.effect.value()),
        };
        let ended = operation.ended.map_or_else(|| "?".to_owned(), |ended| format!("{:.1}", ended - first));
        format!("{} {what} {value} ({:.1} to {ended})", operation.who, operation.began - first)
    };
    let is_fine = |count: usize| {
        let part = &part[..count];
        match part.first().map(|first| first.kind) {
            Some(Kind::Log) => WGLChecker::<Log>::is_linearizable(history(part)),
            _ => WGLChecker::<Register>::is_linearizable(history(part)),
        }
    };
    // Beginnings are explained or not for good, so the shortest one that is not can be searched by halves.
    let (mut fine, mut wrong) = (0, part.len());
    while wrong - fine > 1 {
        let middle = fine.midpoint(wrong);
        if is_fine(middle) { fine = middle } else { wrong = middle }
    }
    let shown: Vec<String> = part[wrong.saturating_sub(SHOWN)..wrong].iter().map(line).collect();
    format!("{} operations; the last of those that cannot be explained: {}", part.len(), shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(who: &str, kind: Kind, effect: Effect, began: f64, ended: Option<f64>) -> Operation {
        Operation { object: "it".to_owned(), kind, who: who.to_owned(), effect, began, ended }
    }

    fn write(value: u64, began: f64, ended: impl Into<Option<f64>>) -> Operation {
        operation("writer", Kind::Register, Effect::Write(value), began, ended.into())
    }

    fn read_of(value: u64, began: f64, ended: f64) -> Operation {
        operation("reader", Kind::Register, Effect::Read(value), began, Some(ended))
    }

    fn number(value: u64, began: f64, ended: impl Into<Option<f64>>) -> Operation {
        operation("producer", Kind::Log, Effect::Write(value), began, ended.into())
    }

    #[test]
    fn a_read_shows_the_last_write_or_one_that_is_under_way() {
        let writes = [write(1, 0.0, 2.0), write(2, 3.0, 6.0)];
        let with = |read: Operation| judged([writes.as_slice(), &[read]].concat()).unwrap();
        for fine in [read_of(1, 2.5, 2.7), read_of(1, 4.0, 5.0), read_of(2, 4.0, 5.0), read_of(2, 7.0, 8.0)] {
            assert_eq!(with(fine), None);
        }
        assert!(with(read_of(1, 7.0, 8.0)).unwrap().contains("reader read 1"), "an acknowledged write is missing");
        assert!(with(read_of(2, 2.5, 2.7)).is_some(), "a write is read before it began");
    }

    #[test]
    fn what_one_reader_saw_no_later_reader_misses() {
        let history = vec![write(1, 0.0, 1.0), write(2, 2.0, 9.0), read_of(2, 3.0, 4.0), read_of(1, 5.0, 6.0)];
        assert!(judged(history).unwrap().is_some());
    }

    #[test]
    fn numbers_follow_the_order_of_operations_that_do_not_overlap() {
        assert_eq!(judged(vec![number(2, 0.0, 5.0), number(1, 1.0, 4.0), number(3, 6.0, None)]).unwrap(), None);
        assert!(judged(vec![number(2, 0.0, 1.0), number(1, 2.0, 3.0)]).unwrap().is_some());
        assert!(judged(vec![number(1, 0.0, 1.0), number(1, 2.0, 3.0)]).unwrap().is_some(), "given twice");
        assert_eq!(judged(vec![number(7, 0.0, None), number(3, 1.0, 2.0)]).unwrap(), None, "its end is not known");
    }

    #[test]
    fn long_histories_are_cut_where_nothing_is_under_way() {
        let mut all: Vec<Operation> =
            (0..9_000u32).map(|at| number(u64::from(at) + 1, f64::from(at), f64::from(at) + 0.5)).collect();
        assert_eq!(parts(&all).map(<[Operation]>::len).collect::<Vec<_>>(), [4_000, 4_000, 1_000]);
        assert!(parts(&all).flatten().map(|operation| operation.effect).eq(all.iter().map(|it| it.effect)));
        assert_eq!(judged(all.clone()).unwrap(), None);
        all[0].effect = Effect::Write(9_001);
        assert!(judged(all).unwrap().is_some(), "a number is too high for its part");
    }
}
