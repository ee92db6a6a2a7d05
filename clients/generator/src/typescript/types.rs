//! `types.ts`: one type per schema, answer, body and set of parameters.

use super::text::{doc, literal, member, quoted};
use crate::model::{Answer, Field, Model, Operation, Parameter, Shape};
use std::collections::BTreeSet;

/// The whole file.
pub fn file(model: &Model) -> String {
    let mut out = String::new();
    for it in &model.types {
        out += &doc(&it.doc, "");
        out += &declared(&exported(&it.name), &it.shape);
    }
    for it in model.operations() {
        out += &of_operation(it);
    }
    out
}

/// The name under which a type is exported. `Error` would hide the language's own.
pub fn exported(name: &str) -> String {
    if name == "Error" { "ErrorBody".into() } else { name.into() }
}

/// The exported names of types that the code of `text` uses.
pub fn used_names(model: &Model, text: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with(['*', '/']) && !line.starts_with("const ");
    let words: BTreeSet<&str> = text
        .lines()
        .filter(is_code)
        .flat_map(|line| line.split(|it: char| !it.is_alphanumeric() && it != '_'))
        .collect();
    let mut names: Vec<String> = model.types.iter().map(|it| exported(&it.name)).collect();
    for it in model.operations() {
        names.extend(["Parameters", "Body", "Answer"].map(|end| format!("{}{end}", it.id)));
    }
    names.retain(|it| words.contains(it.as_str()));
    names.sort();
    names.dedup();
    names
}

/// A shape as a type.
pub fn written(shape: &Shape, indent: &str) -> String {
    match shape {
        Shape::Ref(name) => exported(name),
        Shape::Object(fields) => format!("{{\n{}{indent}}}", members(fields, &format!("{indent}  "))),
        Shape::Map(value) => format!("{{ [name: string]: {} }}", written(value, indent)),
        Shape::List(item) => format!("Array<{}>", written(item, indent)),
        Shape::Text(_) => "string".into(),
        Shape::Enum(values) => {
            let values: Vec<String> = values.iter().map(|it| quoted(&it.value)).collect();
            // Open: completion offers the known values, and a value of a newer server is no type error.
            format!("{} | (string & {{}})", values.join(" | "))
        }
        Shape::Integer | Shape::Number => "number".into(),
        Shape::Boolean => "boolean".into(),
        Shape::Constant(value) => literal(value),
        Shape::Nullable(inner) => format!("{} | null", written(inner, indent)),
        Shape::Union(forms) => forms.iter().map(|it| written(it, indent)).collect::<Vec<_>>().join(" | "),
        Shape::Any => "unknown".into(),
    }
}

fn declared(name: &str, shape: &Shape) -> String {
    match shape {
        Shape::Object(fields) => format!("export interface {name} {{\n{}}}\n\n", members(fields, "  ")),
        other => format!("export type {name} = {};\n\n", written(other, "")),
    }
}

fn members(fields: &[Field], indent: &str) -> String {
    let mut out = String::new();
    for it in fields {
        let deprecated = if it.deprecated { "\n\n@deprecated" } else { "" };
        out += &doc(format!("{}{deprecated}", it.doc).trim(), indent);
        let mark = if it.required { "" } else { "?" };
        out += &format!("{indent}{}{mark}: {};\n", member(&it.name), written(&it.shape, indent));
    }
    out
}

fn of_operation(it: &Operation) -> String {
    let mut out = String::new();
    if !it.query_parameters.is_empty() {
        out += &doc(&format!("Parameters of {} {}.", it.verb, it.path), "");
        out += &format!("export interface {}Parameters {{\n", it.id);
        for parameter in &it.query_parameters {
            out += &of_parameter(parameter);
        }
        out += "}\n\n";
    }
    if let Some(body) = &it.body {
        out += &doc(&format!("Body of {} {}. {}", it.verb, it.path, body.doc), "");
        out += &declared(&format!("{}Body", it.id), &body.shape);
    }
    if let Answer::Json { shape, .. } = &it.answer {
        out += &doc(&format!("Answer of {} {}.", it.verb, it.path), "");
        out += &declared(&format!("{}Answer", it.id), shape);
    }
    out
}

fn of_parameter(it: &Parameter) -> String {
    let mark = if it.required { "" } else { "?" };
    let shape = match &it.shape {
        Shape::List(item) => format!("ReadonlyArray<{}>", written(item, "  ")),
        other => written(other, "  "),
    };
    // `undefined` is accepted, so that a caller can pass on what may not be set.
    let absent = if it.required { "" } else { " | undefined" };
    format!("{}  {}{mark}: {shape}{absent};\n", doc(&it.doc, "  "), member(&it.name))
}
