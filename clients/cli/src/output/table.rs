//! Tables for people.

use super::{line, plain};
use crate::failure::Failure;
use crate::json::Json;
use std::io::{IsTerminal as _, stdout};

/// The longest cell; a longer one is cut.
const CELL: usize = 42;
/// The width where the terminal does not tell.
const WIDTH: usize = 120;

/// The names of all members, in the order in which they appear.
pub fn names(rows: &[Json]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let Json::Object(members) = row else { continue };
        for (name, _) in members {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Prints rows. Without a choice of columns: those with plain values, as many as fit.
pub fn print(rows: &[Json], columns: Option<&[String]>) -> Result<(), Failure> {
    if rows.is_empty() {
        return line("no rows");
    }
    let (names, left_out) = match columns {
        Some(columns) => (columns.to_vec(), 0),
        None => fitting(rows),
    };
    let cells = |row: &Json| names.iter().map(|it| row.get(it).map(cell).unwrap_or_default()).collect::<Vec<_>>();
    let body: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let is_number =
        |name: &String| rows.iter().all(|it| matches!(it.get(name), None | Some(Json::Null | Json::Number(_))));
    let columns: Vec<(&String, usize, bool)> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let widest = body.iter().filter_map(|it| it.get(at)).map(|it| it.chars().count()).max().unwrap_or(0);
            (name, widest.max(name.chars().count()), is_number(name))
        })
        .collect();
    line(&joined(names.iter().map(String::as_str), &columns))?;
    for row in &body {
        line(&joined(row.iter().map(String::as_str), &columns))?;
    }
    if left_out > 0 && stdout().is_terminal() {
        eprintln!("{left_out} more columns: choose with --columns, or use --format json");
    }
    Ok(())
}

/// Prints the members of one object, one per line.
pub fn print_object(value: &Json) -> Result<(), Failure> {
    let Json::Object(members) = value else { return line(&plain(&value.cell())) };
    let width = members.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in members {
        line(format!("{name:width$}  {}", plain(&value.cell())).trim_end())?;
    }
    Ok(())
}

fn joined<'a>(cells: impl Iterator<Item = &'a str>, columns: &[(&String, usize, bool)]) -> String {
    let padded = cells.zip(columns).map(
        |(cell, &(_, width, is_number))| {
            if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        },
    );
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn cell(value: &Json) -> String {
    let text = plain(&value.cell());
    match text.char_indices().nth(CELL) {
        Some(_) => format!("{}…", text.chars().take(CELL - 1).collect::<String>()),
        None => text,
    }
}

/// The columns with plain values that fit beside each other, and how many were left out.
fn fitting(rows: &[Json]) -> (Vec<String>, usize) {
    let all = names(rows);
    let is_plain = |name: &&String| {
        let values = || rows.iter().filter_map(|it| it.get(name));
        values().any(|it| !matches!(it, Json::Null))
            && values().all(|it| !matches!(it, Json::List(_) | Json::Object(_)))
    };
    let mut left = width();
    let mut chosen = Vec::new();
    for name in all.iter().filter(is_plain) {
        let widest = rows.iter().filter_map(|it| it.get(name)).map(|it| cell(it).chars().count()).max().unwrap_or(0);
        let width = widest.max(name.chars().count()) + 2;
        if width > left && !chosen.is_empty() {
            break;
        }
        left = left.saturating_sub(width);
        chosen.push(name.clone());
    }
    let left_out = all.len() - chosen.len();
    (chosen, left_out)
}

#[cfg(unix)]
fn width() -> usize {
    let told = rustix::termios::tcgetwinsize(stdout()).ok().map(|it| usize::from(it.ws_col));
    told.filter(|it| *it > 0).unwrap_or(WIDTH)
}

#[cfg(not(unix))]
fn width() -> usize {
    WIDTH
}
