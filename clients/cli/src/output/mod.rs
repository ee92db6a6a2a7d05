//! Printing rows: as a table, JSON, NDJSON or CSV.

pub mod table;

use crate::failure::Failure;
use crate::json::Json;
use clap::{Arg, ArgMatches, ValueEnum, value_parser};
use std::io::{IsTerminal as _, Write as _, stdout};

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for people.
    Table,
    /// The answer as the service sends it; with `--all` an array of rows.
    Json,
    /// A row per line, as JSON.
    Ndjson,
    /// A header and a line per row.
    Csv,
}

impl Format {
    /// A table on a terminal, JSON otherwise.
    pub fn fitting() -> Self {
        if stdout().is_terminal() { Format::Table } else { Format::Json }
    }
}

/// The options of commands that print rows.
pub fn options() -> [Arg; 2] {
    let format = Arg::new("format").long("format").value_name("FORMAT").value_parser(value_parser!(Format));
    let columns = Arg::new("columns").long("columns").value_name("NAME").value_delimiter(',');
    [
        format.help("How rows are printed [default: table on a terminal, else json]"),
        columns.help("Only these columns, in this order"),
    ]
    .map(|it| it.help_heading("Output"))
}

/// Writes to standard output.
pub fn write(bytes: &[u8]) -> Result<(), Failure> {
    Ok(stdout().write_all(bytes)?)
}

/// Writes one line to standard output, at once.
pub fn line(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// A value as indented JSON.
pub fn pretty(value: &Json) -> Result<(), Failure> {
    line(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Text without control characters, which a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect()
}

/// Takes rows page by page and prints them.
pub struct Sink {
    format: Format,
    columns: Option<Vec<String>>,
    /// Rows of a table, which are printed at the end because each column is as wide as its widest cell.
    kept: Vec<Json>,
    printed: u64,
}

impl Sink {
    pub fn new(format: Format, given: &ArgMatches) -> Self {
        let columns = given.get_many::<String>("columns").map(|all| all.cloned().collect());
        Sink { format, columns, kept: Vec::new(), printed: 0 }
    }

    /// Prints these rows.
    pub fn rows(&mut self, rows: Vec<Json>) -> Result<(), Failure> {
        match self.format {
            Format::Table => self.kept.extend(rows),
            Format::Csv => self.csv(&rows)?,
            Format::Json | Format::Ndjson => {
                for row in rows {
                    let row = self.chosen(row);
                    let text = serde_json::to_string(&row).unwrap_or_default();
                    let start = match (self.format, self.printed) {
                        (Format::Ndjson, _) => "",
                        (_, 0) => "[\n",
                        _ => ",\n",
                    };
                    let end = if self.format == Format::Ndjson { "\n" } else { "" };
                    write(format!("{start}{text}{end}").as_bytes())?;
                    self.printed += 1;
                }
            }
        }
        Ok(())
    }

    /// Prints what is left.
    pub fn finish(self) -> Result<(), Failure> {
        match self.format {
            Format::Table => table::print(&self.kept, self.columns.as_deref()),
            Format::Json if self.printed == 0 => write(b"[]\n"),
            Format::Json => write(b"\n]\n"),
            Format::Ndjson | Format::Csv => Ok(()),
        }
    }

    fn csv(&mut self, rows: &[Json]) -> Result<(), Failure> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let is_first = self.printed == 0;
        let columns = self.columns.get_or_insert_with(|| table::names(rows));
        if is_first && !columns.is_empty() {
            writer.write_record(columns.iter())?;
        }
        for row in rows {
            writer.write_record(columns.iter().map(|it| row.get(it).map(Json::cell).unwrap_or_default()))?;
            self.printed += 1;
        }
        write(&writer.into_inner().map_err(|error| Failure::Usage(error.to_string()))?)
    }

    fn chosen(&self, row: Json) -> Json {
        let Some(columns) = &self.columns else { return row };
        let members = columns.iter().map(|it| (it.clone(), row.get(it).cloned().unwrap_or(Json::Null)));
        Json::Object(members.collect())
    }
}
