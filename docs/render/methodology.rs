//! The methodology's tables. Each value carries its JSON Pointer in `/v1/methodology`, so that a script can update it.

use super::{escape, scrolling};
use rds_shared::scoring::methodology::Methodology;
use serde_json::Value;
use std::error::Error;
use std::fmt::Write;

/// Renders a part of the methodology as HTML. `arguments` are the kind of part, its JSON Pointer, and the column titles.
pub fn part(arguments: &str) -> Result<String, Box<dyn Error>> {
    let mut words = arguments.split('|').map(str::trim);
    let first = words.next().unwrap_or_default();
    let (kind, pointer) = first.split_once(' ').unwrap_or((first, ""));
    let columns: Vec<_> = words.collect();
    let document = serde_json::to_value(Methodology::current())?;
    let value = document.pointer(pointer).ok_or_else(|| format!("the methodology has nothing at {pointer}"))?;
    Ok(match kind {
        "value" => format!("<span data-rule=\"{pointer}\">{}</span>", escape(&shown(value))),
        "steps" => steps(value, pointer),
        "pairs" => pairs(value, pointer, &columns),
        "rows" => rows(value, pointer, &columns),
        "categories" => categories(value, pointer),
        _ => return Err(format!("no part of the methodology is a {kind}").into()),
    })
}

fn steps(value: &Value, pointer: &str) -> String {
    let mut out = String::from("<ol class=\"rules\">\n");
    for (number, step) in value.as_array().into_iter().flatten().enumerate() {
        let _ = writeln!(out, "<li data-rule=\"{pointer}/{number}\">{}</li>", escape(&shown(step)));
    }
    out.push_str("</ol>\n");
    out
}

/// Renders an object as two columns.
fn pairs(value: &Value, pointer: &str, columns: &[&str]) -> String {
    let is_number = |value: &Value| !value.is_string();
    let numeric = value.as_object().is_some_and(|fields| fields.values().all(is_number));
    let columns: Vec<_> = columns.iter().enumerate().map(|(number, title)| (*title, numeric && number > 0)).collect();
    let mut out = head("narrow", &columns);
    for (name, value) in value.as_object().into_iter().flatten() {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{name}</code></th><td class=\"number\" data-rule=\"{pointer}/{name}\">{}</td></tr>",
            escape(&shown(value))
        );
    }
    out.push_str(FOOT);
    out
}

/// Renders a list of objects; a column is `field=Title`.
fn rows(value: &Value, pointer: &str, columns: &[&str]) -> String {
    let named: Vec<_> = columns.iter().map(|column| column.split_once('=').unwrap_or((column, column))).collect();
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_number = |field: &str| list.iter().all(|row| row[field].is_number() || row[field].is_null());
    let columns: Vec<_> = named.iter().map(|(field, title)| (*title, is_number(field))).collect();
    let is_narrow = list.iter().all(|row| named.iter().all(|(field, _)| shown(&row[*field]).len() < 24));
    let mut out = head(if is_narrow { "narrow" } else { "" }, &columns);
    for (number, row) in list.iter().enumerate() {
        out.push_str("<tr>");
        for (field, _) in &named {
            let value = &row[*field];
            let class = if is_number(field) { " class=\"number\"" } else { "" };
            let _ = write!(out, "<td{class} data-rule=\"{pointer}/{number}/{field}\">{}</td>", escape(&shown(value)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str(FOOT);
    out
}

/// Renders the weights of each asset category, in descending order.
fn categories(value: &Value, pointer: &str) -> String {
    let mut out = head("", &[("Category", false), ("Dimensions and their weights", false)]);
    for (category, rules) in value.as_object().into_iter().flatten() {
        let mut weights: Vec<_> = rules["weights"].as_object().into_iter().flatten().collect();
        weights.sort_by(|one, other| other.1.as_f64().unwrap_or(0.0).total_cmp(&one.1.as_f64().unwrap_or(0.0)));
        let mut cell = String::new();
        for (dimension, weight) in weights {
            let _ = write!(
                cell,
                "<span class=\"weight\">{dimension} <b data-rule=\"{pointer}/{category}/weights/{dimension}\">{}</b></span> ",
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

/// The end of a table that [`head`] began.
pub(super) const FOOT: &str = "</tbody></table></div>\n";

/// The head of a table: its class, and for each column the title and whether it contains numbers.
pub(super) fn head(class: &str, columns: &[(&str, bool)]) -> String {
    let cell = |(title, numeric): &(&str, bool)| {
        let class = if *numeric { " class=\"number\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}</th>", escape(title))
    };
    let cells: String = columns.iter().map(cell).collect();
    let name = columns.iter().map(|(title, _)| *title).collect::<Vec<_>>().join(", ");
    let scrolling = scrolling(&format!("Table: {name}"));
    format!("<div class=\"scroll {class}\" {scrolling}><table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n")
}

/// A value as shown on the page; `methodology.js` formats it the same way.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".into(),
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.into(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect::<Vec<_>>().join("; ")
        }
        Value::Number(number) => grouped(&number.to_string()),
    }
}

/// A number with a narrow space between thousands, from five digits on.
fn grouped(number: &str) -> String {
    if number.len() < 5 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut out = String::new();
    for (position, digit) in number.chars().enumerate() {
        if position > 0 && (number.len() - position).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}
