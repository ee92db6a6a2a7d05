//! `types.py`: one `TypedDict` or alias per schema, body and answer.

use super::text::{comment, docstring, is_identifier, literal, quoted};
use crate::model::{Answer, Field, Model, Operation, Shape};
use crate::names::{spaced, upper_camel};

const HEAD: &str = "
from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired
";

/// The whole file.
pub fn file(model: &Model) -> String {
    let mut out = String::from(HEAD);
    for it in &model.types {
        declare(&mut out, &it.name, &it.doc, &it.shape);
    }
    for it in model.operations() {
        if let Some(body) = &it.body {
            let doc = format!("Body of {} {}. {}", it.verb, it.path, body.doc);
            declare(&mut out, &body_name(it), doc.trim(), &body.shape);
        }
        if let Answer::Json { shape, .. } = &it.answer {
            declare(&mut out, &answer_name(it), &format!("Answer of {} {}.", it.verb, it.path), shape);
        }
    }
    out
}

/// The name of an operation's answer.
pub fn answer_name(it: &Operation) -> String {
    format!("{}Answer", it.id)
}

/// The name of an operation's body.
pub fn body_name(it: &Operation) -> String {
    format!("{}Body", it.id)
}

/// The type of a row of an operation's list.
pub fn row(model: &Model, it: &Operation, prefix: &str) -> String {
    let (Answer::Json { shape, .. }, Some(paging)) = (&it.answer, &it.paging) else { return "object".into() };
    let mut name = answer_name(it);
    let mut found = Some(shape);
    for step in &paging.rows {
        while let Some(Shape::Ref(reference)) = found {
            name.clone_from(reference);
            found = model.named(reference).map(|it| &it.shape);
        }
        let Some(Shape::Object(fields)) = found else { break };
        name = member_name(&name, step);
        found = fields.iter().find(|it| it.name == *step).map(|it| &it.shape);
    }
    written(&paging.row, &item_name(&name), prefix)
}

/// A shape as a type. An object without a name is called `name`; `prefix` stands before the name of every declared type.
pub fn written(shape: &Shape, name: &str, prefix: &str) -> String {
    match shape {
        Shape::Ref(name) => format!("{prefix}{name}"),
        Shape::Object(_) => format!("{prefix}{name}"),
        Shape::Map(value) => format!("dict[str, {}]", written(value, &value_name(name), prefix)),
        Shape::List(item) => format!("list[{}]", written(item, &item_name(name), prefix)),
        Shape::Text(_) => "str".into(),
        // Open: editors offer the known values, and a value of a newer server is no type error.
        Shape::Enum(values) => {
            let values: Vec<String> = values.iter().map(|it| quoted(&it.value)).collect();
            format!("Literal[{}] | str", values.join(", "))
        }
        Shape::Integer => "int".into(),
        Shape::Number => "float".into(),
        Shape::Boolean => "bool".into(),
        Shape::Constant(value) => format!("Literal[{}]", literal(value)),
        Shape::Nullable(inner) => format!("{} | None", written(inner, name, prefix)),
        Shape::Union(forms) => {
            let forms = forms.iter().enumerate().map(|(at, it)| written(it, &form_name(name, at), prefix));
            let mut different: Vec<String> = Vec::new();
            for form in forms {
                if !different.contains(&form) {
                    different.push(form);
                }
            }
            different.join(" | ")
        }
        Shape::Any => "Any".into(),
    }
}

fn member_name(name: &str, field: &str) -> String {
    format!("{name}{}", upper_camel(&spaced(&super::text::argument(field))))
}

fn item_name(name: &str) -> String {
    format!("{name}Item")
}

fn value_name(name: &str) -> String {
    format!("{name}Value")
}

fn form_name(name: &str, at: usize) -> String {
    format!("{name}Form{}", at + 1)
}

/// Declares the type and, before it, the objects inside it that have no name of their own.
fn declare(out: &mut String, name: &str, doc: &str, shape: &Shape) {
    match shape {
        Shape::Object(fields) => {
            for it in fields {
                declare_inner(out, &member_name(name, &it.name), &it.shape);
            }
            *out += &object(name, doc, fields);
        }
        Shape::Enum(values) => {
            let known: String = values.iter().map(|it| format!("    {},\n", quoted(&it.value))).collect();
            *out += &format!("\n\nKnown{name}: TypeAlias = Literal[\n{known}]\n");
            *out += &docstring(&format!("The values of `{name}` that this version of the library knows."), "");
            *out += &format!("\n{name}: TypeAlias = Known{name} | str\n{}", docstring(doc, ""));
        }
        other => {
            declare_inner(out, name, other);
            // In quotes, because it may name types that are declared below.
            *out += &format!("\n\n{name}: TypeAlias = {}\n{}", text_of(&written(other, name, "")), docstring(doc, ""));
        }
    }
}

fn declare_inner(out: &mut String, name: &str, shape: &Shape) {
    match shape {
        Shape::Object(_) => declare(out, name, "", shape),
        Shape::Map(inner) => declare_inner(out, &value_name(name), inner),
        Shape::List(inner) => declare_inner(out, &item_name(name), inner),
        Shape::Nullable(inner) => declare_inner(out, name, inner),
        Shape::Union(forms) => {
            for (at, it) in forms.iter().enumerate() {
                declare_inner(out, &form_name(name, at), it);
            }
        }
        _ => {}
    }
}

fn object(name: &str, doc: &str, fields: &[Field]) -> String {
    let typed = |it: &Field| {
        let inner = written(&it.shape, &member_name(name, &it.name), "");
        if it.required { inner } else { format!("NotRequired[{inner}]") }
    };
    let about = |it: &Field| {
        let deprecated = if it.deprecated { "\n\nDeprecated." } else { "" };
        format!("{}{deprecated}", it.doc).trim().to_owned()
    };
    if fields.iter().all(|it| is_identifier(&it.name)) {
        let mut out = format!("\n\nclass {name}(TypedDict):\n{}", docstring(doc, "    "));
        out += if doc.is_empty() || fields.is_empty() { "" } else { "\n" };
        out += if fields.is_empty() && doc.is_empty() { "    pass\n" } else { "" };
        for it in fields {
            out += &format!("    {}: {}\n{}", it.name, typed(it), docstring(&about(it), "    "));
        }
        return out;
    }
    // A name such as `from` or `24h` cannot be declared in a class.
    let mut out = format!("\n\n{name} = TypedDict(\n    {},\n    {{\n", quoted(name));
    for it in fields {
        out += &comment(&about(it), "        ");
        out += &format!("        {}: {},\n", quoted(&it.name), text_of(&typed(it)));
    }
    out + "    },\n)\n" + &docstring(doc, "")
}

/// A type as a text, which may contain texts itself.
fn text_of(written: &str) -> String {
    format!("'{written}'")
}
