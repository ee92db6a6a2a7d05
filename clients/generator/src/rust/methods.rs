//! A module per resource: a struct that borrows the client, with a method per operation.

use super::examples;
use super::operations;
use super::plan::{Plan, row};
use super::text::{doc, field};
use crate::model::{Answer, Operation, Resource};
use crate::names::{snake, upper_camel};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What the resource is about.
pub fn about(it: &Resource) -> String {
    let paths: BTreeSet<&str> = it.operations.iter().map(|it| it.path.as_str()).collect();
    let first = paths.first().copied().unwrap_or_default();
    let more = paths.len().saturating_sub(1);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("Operations of `{first}`{rest}.")
}

/// The whole module.
pub fn file(resource: &Resource, plan: &Plan) -> String {
    let class = upper_camel(&resource.name);
    let mut body = String::new();
    for it in &resource.operations {
        body.push('\n');
        body += &method(resource, it, plan);
    }
    let mut out = String::from(
        "use super::operations;\n#[allow(unused_imports, reason = \"not every resource has parameters\")]\n",
    );
    out += "use super::types::*;\nuse crate::{Call, Client};\n";
    for (word, import) in [("List<", "List"), ("Listen", "Listen"), ("Request<", "Request")] {
        if body.contains(word) {
            _ = writeln!(out, "use crate::{import};");
        }
    }
    if body.contains("impl Display") {
        out += "use std::fmt::Display;\n";
    }
    _ = write!(
        out,
        "\n/// {}\n#[derive(Clone, Copy, Debug)]\npub struct {class}<'a> {{\n    client: &'a Client,\n}}\n",
        about(resource)
    );
    _ = write!(
        out,
        "\nimpl<'a> {class}<'a> {{\n    pub(crate) fn new(client: &'a Client) -> Self {{\n        {class} {{ client }}\n    }}\n"
    );
    out + &body + "}\n"
}

/// The name of a method.
pub fn method_name(it: &Operation) -> String {
    field(&snake(&it.name))
}

fn method(resource: &Resource, it: &Operation, plan: &Plan) -> String {
    let mut takes = vec!["&self".to_owned()];
    takes.extend(it.path_parameters.iter().map(|it| format!("{}: impl Display", field(&it.name))));
    let mut call = format!("Call::new(self.client, &operations::{})", operations::name(it));
    for one in &it.path_parameters {
        _ = write!(call, "\n            .path({:?}, {})", one.name, field(&one.name));
    }
    if it.body.is_some() {
        takes.push(format!("body: {}Body", it.id));
        call += "\n            .body(&body)";
    }
    if !it.query_parameters.is_empty() {
        takes.push(format!("params: {}Params", it.id));
        call += "\n            .parameters(&params)";
    }
    let (returns, end) = match (&it.answer, &it.paging) {
        (Answer::Stream, _) => ("Listen".to_owned(), "listen"),
        (_, Some(_)) => (format!("List<{}, {}Answer>", row(it), it.id), "list"),
        _ => (format!("Request<{}Answer>", it.id), "request"),
    };
    let example = examples::of_method(&snake(&resource.name), it, plan);
    let about = format!("{}\n\n`{} {}`", it.doc, it.verb, it.path);
    let mut out = doc(&about, "    ");
    out += "    ///\n";
    for line in example.lines() {
        out += format!("    /// {line}").trim_end();
        out.push('\n');
    }
    let name = method_name(it);
    let one_line = format!("    pub fn {name}({}) -> {returns} {{\n", takes.join(", "));
    if one_line.len() <= 121 {
        out += &one_line;
    } else {
        let takes: String = takes.iter().map(|it| format!("        {it},\n")).collect();
        _ = write!(out, "    pub fn {name}(\n{takes}    ) -> {returns} {{\n");
    }
    _ = write!(out, "        {call}\n            .{end}()\n    }}\n");
    out
}
