//! `resources.ts`: a class per resource with a method per operation, and the class that holds them.

use super::text::{doc, literal, quoted};
use super::types::{used_names, written};
use crate::model::{Answer, Model, Operation, Paging, PagingStyle, Parameter, Repeat, Resource, Shape};
use crate::names::{lower_camel, spaced, upper_camel};
use serde_json::Value;

/// The whole file.
pub fn file(model: &Model) -> String {
    let mut body = String::new();
    for it in model.operations() {
        body += &described(it);
    }
    body.push('\n');
    for resource in &model.resources {
        body += &class(resource);
    }
    body += &doc("Every resource of the API; `Client` is one.", "");
    body += "export abstract class Resources {\n";
    for it in &model.resources {
        body += &doc(&about(it), "  ");
        body += &format!("  readonly {}: {};\n", lower_camel(&it.name), class_name(it));
    }
    body += "\n  protected constructor(caller: Caller) {\n";
    for it in &model.resources {
        body += &format!("    this.{} = new {}(caller);\n", lower_camel(&it.name), class_name(it));
    }
    body += "  }\n}\n";
    let used = used_names(model, &body).iter().map(|it| format!("  {it},\n")).collect::<String>();
    format!(
        "import type {{ Caller, Operation, RequestOptions, StreamOptions }} from '../core/operation.js';\n\
         import type {{ Pages }} from '../core/pages.js';\n\
         import type {{ EventStream }} from '../core/stream.js';\n\
         import type {{\n{used}}} from './types.js';\n\n{body}"
    )
}

fn class_name(it: &Resource) -> String {
    format!("{}Resource", upper_camel(&it.name))
}

fn about(it: &Resource) -> String {
    let paths: std::collections::BTreeSet<&str> = it.operations.iter().map(|it| it.path.as_str()).collect();
    let first = paths.first().copied().unwrap_or_default();
    let more = paths.len().saturating_sub(1);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("Operations of `{first}`{rest}.")
}

fn class(it: &Resource) -> String {
    let mut out = doc(&about(it), "");
    out += &format!("export class {} {{\n  readonly #caller: Caller;\n\n", class_name(it));
    out += &doc("Made by the client.", "  ");
    out += "  constructor(caller: Caller) {\n    this.#caller = caller;\n  }\n";
    for operation in &it.operations {
        out.push('\n');
        out += &method(&lower_camel(&it.name), operation);
    }
    out + "}\n\n"
}

fn constant(it: &Operation) -> String {
    lower_camel(&crate::names::camel(&it.id))
}

/// The operation as the core reads it.
fn described(it: &Operation) -> String {
    let repeat = match it.repeat {
        Repeat::Safe => "safe",
        Repeat::WithKey => "with-key",
        Repeat::Unsafe => "unsafe",
    };
    let mut members = vec![
        format!("id: {}", quoted(&it.id)),
        format!("verb: {}", quoted(&it.verb)),
        format!("path: {}", quoted(&it.path)),
        format!("repeat: {}", quoted(repeat)),
    ];
    if it.has_etag {
        members.push("hasEtag: true".into());
    }
    if let Some(paging) = &it.paging {
        members.push(format!("paging: {}", of_paging(paging)));
    }
    format!("const {}: Operation = {{ {} }};\n", constant(it), members.join(", "))
}

fn of_paging(it: &Paging) -> String {
    let list = |path: &[String]| path.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", ");
    let style = match &it.style {
        PagingStyle::Number { page, size, greatest } => {
            let most = greatest.map(|it| format!(", most: {it}")).unwrap_or_default();
            format!("style: 'number', page: {}, size: {}{most}", quoted(page), quoted(size))
        }
        PagingStyle::Offset { offset, total } => {
            format!("style: 'offset', offset: {}, total: [{}]", quoted(offset), list(total))
        }
        PagingStyle::Cursor { since, cursor } => {
            format!("style: 'cursor', since: {}, cursor: [{}]", quoted(since), list(cursor))
        }
    };
    format!("{{ {style}, rows: [{}] }}", list(&it.rows))
}

fn method(resource: &str, it: &Operation) -> String {
    let name = lower_camel(&it.name);
    let options = if matches!(it.answer, Answer::Stream) { "StreamOptions" } else { "RequestOptions" };
    let mut takes: Vec<String> =
        it.path_parameters.iter().map(|it| format!("{}: {}", local(it), written(&it.shape, "  "))).collect();
    if it.body.is_some() {
        takes.push(format!("body: {}Body", it.id));
    }
    if !it.query_parameters.is_empty() {
        let default = if it.query_parameters.iter().any(|it| it.required) { "" } else { " = {}" };
        takes.push(format!("parameters: {}Parameters{default}", it.id));
    }
    takes.push(format!("options: {options} = {{}}"));
    let path: Vec<String> = it
        .path_parameters
        .iter()
        .map(|it| if local(it) == it.name { local(it) } else { format!("{}: {}", it.name, local(it)) })
        .collect();
    let path = if path.is_empty() { "{}".into() } else { format!("{{ {} }}", path.join(", ")) };
    let query = if it.query_parameters.is_empty() { "{}" } else { "parameters" };
    let body = if it.body.is_some() { ", body" } else { "" };
    let (kind, returns) = match (&it.answer, &it.paging) {
        (Answer::Stream, _) => ("stream", "EventStream".into()),
        (_, Some(paging)) => ("pages", format!("Pages<{}, {}Answer>", written(&paging.row, "  "), it.id)),
        _ => ("call", format!("Promise<{}Answer>", it.id)),
    };
    let mut out = doc(&method_doc(resource, &name, it), "  ");
    out += &format!("  {name}({}): {returns} {{\n", takes.join(", "));
    out += &format!("    return this.#caller.{kind}({}, {path}, {query}, options{body});\n  }}\n", constant(it));
    out
}

/// The name of a path parameter's variable.
fn local(it: &Parameter) -> String {
    let words: Vec<String> = spaced(&it.name).into_iter().collect();
    if words.len() > 1 { lower_camel(&words) } else { it.name.clone() }
}

fn method_doc(resource: &str, name: &str, it: &Operation) -> String {
    let mut given: Vec<String> = it.path_parameters.iter().map(|it| literal(&example(it))).collect();
    if let Some(body) = &it.body {
        given.push(body.example.as_ref().map_or_else(|| "{}".into(), literal));
    }
    let shown = it.query_parameters.iter().filter(|it| it.required || it.example.is_some());
    let shown: Vec<String> =
        shown.map(|it| format!("{}: {}", super::text::member(&it.name), literal(&example(it)))).collect();
    if !shown.is_empty() {
        given.push(format!("{{ {} }}", shown.join(", ")));
    }
    let call = format!("client.{resource}.{name}({})", given.join(", "));
    let example = match (&it.answer, &it.paging) {
        (Answer::Stream, _) => {
            format!("for await (const frame of {call}) {{\n  console.log(frame.kind);\n  break;\n}}")
        }
        (_, Some(_)) => format!("for await (const row of {call}) {{\n  console.log(row);\n  break;\n}}"),
        _ => format!("const answer = await {call};\nconsole.log(answer);"),
    };
    let parameters: String =
        it.path_parameters.iter().map(|it| format!("\n@param {} {}", local(it), it.doc.replace('\n', " "))).collect();
    format!("{}\n\n`{} {}`\n{parameters}\n@example\n{example}", it.doc, it.verb, it.path)
}

/// A value for the example: the document's, or the first that the shape allows.
fn example(it: &Parameter) -> Value {
    it.example.clone().unwrap_or_else(|| of_shape(&it.shape, &it.name))
}

fn of_shape(shape: &Shape, name: &str) -> Value {
    match shape {
        Shape::Integer | Shape::Number => 1.into(),
        Shape::Boolean => true.into(),
        Shape::Enum(values) => values.first().map_or(Value::Null, |it| it.value.clone().into()),
        Shape::List(item) => vec![of_shape(item, name)].into(),
        Shape::Text(Some(format)) if format == "date-time" => "2026-11-01T00:00:00Z".into(),
        _ => name.into(),
    }
}
