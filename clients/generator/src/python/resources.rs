//! `operations.py`, and the two files with a class per resource.

use super::methods::method;
use super::text::{docstring, quoted, unreserved};
use super::{Flavour, constant};
use crate::model::{Model, Operation, Paging, PagingStyle, Repeat, Resource};
use crate::names::{snake, upper_camel};
use std::collections::BTreeSet;

/// `operations.py`, which both clients use.
pub fn operations(model: &Model) -> String {
    let mut out = String::from(
        "\nfrom __future__ import annotations\n\n\
         from ..core.operation import CursorPaging, NumberPaging, OffsetPaging, Operation\n\n",
    );
    out += &format!("VERSION = {}\n", quoted(&model.version));
    out += &docstring("The version of the interface, which is that of the library.", "");
    out.push('\n');
    for it in model.operations() {
        out += &described(it);
    }
    out
}

/// The operation as the core reads it.
fn described(it: &Operation) -> String {
    let repeat = match it.repeat {
        Repeat::Safe => "safe",
        Repeat::WithKey => "with-key",
        Repeat::Unsafe => "unsafe",
    };
    let mut given = vec![quoted(&it.id), quoted(&it.verb), quoted(&it.path), quoted(repeat)];
    if it.has_etag {
        given.push("has_etag=True".into());
    }
    if let Some(paging) = &it.paging {
        given.push(format!("paging={}", of_paging(paging)));
    }
    format!("{} = Operation({})\n", constant(it), given.join(", "))
}

fn of_paging(it: &Paging) -> String {
    let path = |path: &[String]| format!("({},)", path.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "));
    let rows = path(&it.rows);
    match &it.style {
        PagingStyle::Number { page, size, greatest } => {
            let greatest = greatest.map(|it| format!(", greatest={it}")).unwrap_or_default();
            format!("NumberPaging({rows}, page={}, size={}{greatest})", quoted(page), quoted(size))
        }
        PagingStyle::Offset { offset, total } => {
            format!("OffsetPaging({rows}, offset={}, total={})", quoted(offset), path(total))
        }
        PagingStyle::Cursor { since, cursor } => {
            format!("CursorPaging({rows}, since={}, cursor={})", quoted(since), path(cursor))
        }
    }
}

/// `resources.py` or `async_resources.py`.
pub fn file(model: &Model, flavour: Flavour) -> String {
    let (caller, base) = (flavour.class("Caller"), flavour.class("Resources"));
    let mut body = String::new();
    for resource in &model.resources {
        body += &class(model, resource, flavour);
    }
    body += &format!("\n\nclass {base}:\n");
    body += &docstring(&format!("Every resource of the API; `{}` is one.", flavour.class("Client")), "    ");
    body += &format!("\n    def __init__(self, caller: {caller}) -> None:\n");
    for it in &model.resources {
        body += &format!("        self.{} = {}(caller)\n", attribute(it), class_name(it, flavour));
        body += &docstring(&about(it), "        ");
    }
    // Only what is used is imported: an import without a use is a finding of the linter.
    let literal = if uses(&body, "Literal") { "Literal, " } else { "" };
    let sequence = if uses(&body, "Sequence") { "    from collections.abc import Sequence\n\n" } else { "" };
    let module = if flavour == Flavour::Async { "asynchronous" } else { "blocking" };
    let mut core = [caller, flavour.class("EventStream"), flavour.class("Pages")];
    core.sort();
    format!(
        "\nfrom __future__ import annotations\n\n\
         from typing import TYPE_CHECKING, {literal}cast\n\n\
         from . import operations\n\n\
         if TYPE_CHECKING:\n\
         {sequence}    from ..core.{module} import {}\n    \
             from ..core.operation import RequestOptions, StreamOptions\n    \
             from . import types\n{body}",
        core.join(", ")
    )
}

fn uses(text: &str, name: &str) -> bool {
    text.contains(&format!("{name}["))
}

fn class_name(it: &Resource, flavour: Flavour) -> String {
    flavour.class(&format!("{}Resource", upper_camel(&it.name)))
}

/// The name of the client's attribute.
pub fn attribute(it: &Resource) -> String {
    unreserved(snake(&it.name))
}

fn about(it: &Resource) -> String {
    let paths: BTreeSet<&str> = it.operations.iter().map(|it| it.path.as_str()).collect();
    let first = paths.first().copied().unwrap_or_default();
    let more = paths.len().saturating_sub(1);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("Operations of `{first}`{rest}.")
}

fn class(model: &Model, it: &Resource, flavour: Flavour) -> String {
    let mut out = format!("\n\nclass {}:\n", class_name(it, flavour));
    out += &docstring(&about(it), "    ");
    out += &format!("\n    def __init__(self, caller: {}) -> None:\n", flavour.class("Caller"));
    out += "        \"\"\"Made by the client.\"\"\"\n        self._caller = caller\n";
    for operation in &it.operations {
        out.push('\n');
        out += &method(model, it, operation, flavour);
    }
    out
}
