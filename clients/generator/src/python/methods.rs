//! The method of an operation, in the form of either client.

use super::resources::attribute;
use super::text::{argument, docstring, literal, quoted, unreserved};
use super::types::{answer_name, body_name, row, written};
use super::{Flavour, constant};
use crate::model::{Answer, Model, Operation, Parameter, Resource, Shape};
use crate::names::snake;
use serde_json::Value;

/// The names of a method's arguments, without `self`, in their order.
pub fn arguments(it: &Operation) -> Vec<String> {
    let named = |all: &[Parameter]| all.iter().map(|it| argument(&it.name)).collect::<Vec<_>>();
    let body = it.body.iter().map(|_| "body".to_owned());
    let mut all: Vec<String> = named(&it.path_parameters).into_iter().chain(body).collect();
    all.extend(named(&it.query_parameters));
    all.push("options".into());
    all
}

/// The whole method.
pub fn method(model: &Model, resource: &Resource, it: &Operation, flavour: Flavour) -> String {
    let name = unreserved(snake(&it.name));
    let answer = format!("types.{}", answer_name(it));
    let (kind, returns) = match (&it.answer, &it.paging) {
        (Answer::Stream, _) => ("stream", flavour.class("EventStream")),
        (_, Some(_)) => ("pages", format!("{}[{}, {answer}]", flavour.class("Pages"), row(model, it, "types."))),
        _ => ("call", answer.clone()),
    };
    let waits = kind == "call";
    let word = if waits { flavour.word("async ") } else { "" };
    let mut out = format!("    {word}def {name}(\n        self,\n");
    for line in signature(it) {
        out += &format!("        {line},\n");
    }
    out += &format!("    ) -> {returns}:\n");
    out += &docstring(&documented(resource, &name, it, flavour), "        ");
    let pairs = |all: &[Parameter]| {
        let pairs = all.iter().map(|it| format!("{}: {}", quoted(&it.name), argument(&it.name)));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
    };
    let body = if it.body.is_some() { ", body" } else { "" };
    let call = format!(
        "self._caller.{kind}(operations.{}, {}, {}, options{body})",
        constant(it),
        pairs(&it.path_parameters),
        pairs(&it.query_parameters)
    );
    let call = if waits { format!("cast({}, {}{call})", quoted(&answer), flavour.word("await ")) } else { call };
    out + &format!("        return {call}\n")
}

fn signature(it: &Operation) -> Vec<String> {
    let mut lines: Vec<String> =
        it.path_parameters.iter().map(|it| format!("{}: {}", argument(&it.name), typed(&it.shape))).collect();
    if it.body.is_some() {
        lines.push(format!("body: types.{}", body_name(it)));
    }
    lines.push("*".into());
    for it in &it.query_parameters {
        let absent = if it.required { "" } else { " | None = None" };
        lines.push(format!("{}: {}{absent}", argument(&it.name), typed(&it.shape)));
    }
    let options = if matches!(it.answer, Answer::Stream) { "StreamOptions" } else { "RequestOptions" };
    lines.push(format!("options: {options} | None = None"));
    lines
}

/// A parameter's type. Any sequence is accepted for a list, and a text that is its values separated by commas.
fn typed(shape: &Shape) -> String {
    match shape {
        Shape::List(item) => format!("Sequence[{}]", written(item, "", "types.")),
        other => written(other, "", "types."),
    }
}

fn documented(resource: &Resource, name: &str, it: &Operation, flavour: Flavour) -> String {
    let mut out = format!("{}\n\n`{} {}`\n", it.doc, it.verb, it.path);
    out += "\nArgs:\n";
    let described = |name: &str, doc: &str| format!("    {name}: {}\n", doc.replace('\n', "\n        "));
    for it in &it.path_parameters {
        out += &described(&argument(&it.name), &it.doc);
    }
    if let Some(body) = &it.body {
        out += &described("body", &body.doc);
    }
    for it in &it.query_parameters {
        out += &described(&argument(&it.name), &it.doc);
    }
    out += &described("options", "Time, retries, headers and what else concerns this request only.");
    out + "\nExample:\n    " + &example(resource, name, it, flavour).replace('\n', "\n    ")
}

fn example(resource: &Resource, name: &str, it: &Operation, flavour: Flavour) -> String {
    let mut given: Vec<String> = it.path_parameters.iter().map(|it| literal(&value(it))).collect();
    if let Some(body) = &it.body {
        given.push(body.example.as_ref().map_or_else(|| "{}".into(), literal));
    }
    let shown = it.query_parameters.iter().filter(|it| it.required || it.example.is_some());
    given.extend(shown.map(|it| format!("{}={}", argument(&it.name), literal(&value(it)))));
    let call = format!("client.{}.{name}({})", attribute(resource), given.join(", "));
    let loops = flavour.word("async ");
    match (&it.answer, &it.paging) {
        (Answer::Stream, _) => format!("{loops}for frame in {call}:\n    print(frame.kind)\n    break"),
        (_, Some(_)) => format!("{loops}for row in {call}:\n    print(row)\n    break"),
        _ => format!("answer = {}{call}\nprint(answer)", flavour.word("await ")),
    }
}

/// A value for the example: the document's, or the first that the shape allows.
fn value(it: &Parameter) -> Value {
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
