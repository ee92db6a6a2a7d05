//! The methodology's tables. Each value knows its place in `/v1/methodology`, so that a script can put in what is served now.

use super::escape;
use rds_shared::scoring::methodology::Methodology;
use serde_json::Value;
use std::error::Error;
use std::fmt::Write;

/// A part of the methodology as HTML: what kind of part, its place in the document, and what its columns are called.
pub fn part(arguments: &str) -> Result<String, Box<dyn Error>> {
    let mut words = arguments.split('|').map(str::trim);
    let first = words.next().unwrap_or_default();
    let (kind, place) = first.split_once(' ').unwrap_or((first, ""));
    let columns: Vec<_> = words.collect();
    let document = serde_json::to_value(Methodology::current())?;
    let value = document.pointer(place).ok_or_else(|| format!("the methodology has nothing at {place}"))?;
    Ok(match kind {
        "value" => format!("<span data-rule=\"{place}\">{}</span>", escape(&shown(value))),
        "steps" => steps(value, place),
        "pairs" => pairs(value, place, &columns),
        "rows" => rows(value, place, &columns),
        "categories" => categories(value, place),
        _ => return Err(format!("no part of the methodology is a {kind}").into()),
    })
}

fn steps(value: &Value, place: &str) -> String {
    let mut out = String::from("<ol class=\"steps\">\n");
    for (number, step) in value.as_array().into_iter().flatten().enumerate() {
        let _ = writeln!(out, "<li data-rule=\"{place}/{number}\">{}</li>", escape(&shown(step)));
    }
    out.push_str("</ol>\n");
    out
}

/// An object as two columns.
fn pairs(value: &Value, place: &str, columns: &[&str]) -> String {
    let mut out = head(columns);
    for (name, value) in value.as_object().into_iter().flatten() {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{name}</code></th><td class=\"number\" data-rule=\"{place}/{name}\">{}</td></tr>",
            escape(&shown(value))
        );
    }
    out.push_str(FOOT);
    out
}

/// A list of objects: a column is `field=Title`.
fn rows(value: &Value, place: &str, columns: &[&str]) -> String {
    let named: Vec<_> = columns.iter().map(|column| column.split_once('=').unwrap_or((column, column))).collect();
    let mut out = head(&named.iter().map(|(_, title)| *title).collect::<Vec<_>>());
    for (number, row) in value.as_array().into_iter().flatten().enumerate() {
        out.push_str("<tr>");
        for (field, _) in &named {
            let value = &row[*field];
            let class = if value.is_string() { "" } else { " class=\"number\"" };
            let _ = write!(out, "<td{class} data-rule=\"{place}/{number}/{field}\">{}</td>", escape(&shown(value)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str(FOOT);
    out
}

/// What each category of assets weighs, heaviest first.
fn categories(value: &Value, place: &str) -> String {
    let mut out = head(&["Category", "Dimensions and their weights"]);
    for (category, rules) in value.as_object().into_iter().flatten() {
        let mut weights: Vec<_> = rules["weights"].as_object().into_iter().flatten().collect();
        weights.sort_by(|one, other| other.1.as_f64().unwrap_or(0.0).total_cmp(&one.1.as_f64().unwrap_or(0.0)));
        let mut cell = String::new();
        for (dimension, weight) in weights {
            let _ = write!(
                cell,
                "<span class=\"weight\">{dimension} <b data-rule=\"{place}/{category}/weights/{dimension}\">{}</b></span> ",
                escape(&shown(weight))
            );
        }
        if cell.is_empty() {
            cell.push_str("never scored");
        }
        let _ = writeln!(out, "<tr><th scope=\"row\"><code>{category}</code></th><td>{cell}</td></tr>");
    }
    out.push_str(FOOT);
    out
}

const FOOT: &str = "</tbody></table></div>\n";

fn head(columns: &[&str]) -> String {
    let cells: String = columns.iter().map(|title| format!("<th scope=\"col\">{}</th>", escape(title))).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n")
}

/// A value as the page shows it; `methodology.js` writes it the same way.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".into(),
        Value::Bool(holds) => if *holds { "yes" } else { "no" }.into(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}
