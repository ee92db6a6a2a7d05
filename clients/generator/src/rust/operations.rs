//! `operations.rs`: every operation as a constant, for the generic calls and for programs that are made from the list.

use crate::model::{Answer, Model, Operation, Paging, PagingStyle, Parameter, Repeat, Shape};
use crate::names::{camel, snake};
use std::fmt::Write as _;

/// The whole file.
pub fn file(model: &Model) -> String {
    let mut out =
        String::from("use crate::operation::{Access, Answers, Kind, Operation, Paging, Parameter, Repeat, Style};\n");
    let mut names = Vec::new();
    for resource in &model.resources {
        for it in &resource.operations {
            out.push('\n');
            out += &constant(&resource.name, it);
            names.push(name(it));
        }
    }
    out += "\n/// Every operation, sorted by resource.\n///\n/// ```\n/// use risk_data_client::operations;\n";
    out += "/// let list = operations::ALL.iter().find(|it| it.id == \"VaultList\");\n";
    out += "/// assert_eq!(list.map(|it| (it.resource, it.method)), Some((\"vaults\", \"list\")));\n/// ```\n";
    out += "pub const ALL: &[&Operation] = &[\n";
    for it in names {
        _ = writeln!(out, "    &{it},");
    }
    out + "];\n"
}

/// The name of an operation's constant.
pub fn name(it: &Operation) -> String {
    camel(&it.id).join("_").to_uppercase()
}

fn constant(resource: &[String], it: &Operation) -> String {
    let repeat = match it.repeat {
        Repeat::Safe => "Repeat::Safe",
        Repeat::WithKey => "Repeat::WithKey",
        Repeat::Unsafe => "Repeat::Unsafe",
    };
    let answers = match (&it.answer, &it.paging) {
        (Answer::Stream, _) => "Answers::Stream".into(),
        (_, Some(paging)) => format!("Answers::Pages({})", of_paging(paging)),
        _ => "Answers::Value".into(),
    };
    let access = match it.access.as_str() {
        "public" => "Access::Public".into(),
        "key" => "Access::Key".into(),
        "index" => "Access::IndexToken".into(),
        plan => format!("Access::Plan({plan:?})"),
    };
    let mut out = format!("/// {}: `{} {}`\n", it.summary.trim_end_matches('.'), it.verb, it.path);
    _ = writeln!(out, "pub const {}: Operation = Operation {{", name(it));
    _ = writeln!(out, "    id: {:?},\n    resource: {:?},\n    method: {:?},", it.id, snake(resource), snake(&it.name));
    _ = writeln!(out, "    verb: {:?},\n    path: {:?},", it.verb, it.path);
    _ = writeln!(out, "    summary: {:?},\n    about: {:?},", it.summary, it.doc);
    _ = writeln!(
        out,
        "    access: {access},\n    repeat: {repeat},\n    has_etag: {},\n    has_body: {},",
        it.has_etag,
        it.body.is_some()
    );
    _ = writeln!(out, "    path_parameters: {},", parameters(&it.path_parameters));
    _ = writeln!(out, "    query_parameters: {},", parameters(&it.query_parameters));
    _ = writeln!(out, "    answers: {answers},\n}};");
    out
}

fn parameters(all: &[Parameter]) -> String {
    if all.is_empty() {
        return "&[]".into();
    }
    let mut out = String::from("&[\n");
    for it in all {
        let (is_list, shape) =
            if let Shape::List(item) = &it.shape { (true, item.as_ref()) } else { (false, &it.shape) };
        let kind = match shape {
            Shape::Integer => "Kind::Integer".into(),
            Shape::Number => "Kind::Number".into(),
            Shape::Boolean => "Kind::Boolean".into(),
            Shape::Enum(values) => {
                let values: Vec<&str> = values.iter().map(|it| it.value.as_str()).collect();
                format!("Kind::OneOf(&{values:?})")
            }
            _ => "Kind::Text".into(),
        };
        _ = writeln!(out, "        Parameter {{");
        _ = writeln!(out, "            name: {:?},\n            about: {:?},", it.name, it.doc);
        _ = writeln!(
            out,
            "            required: {},\n            is_list: {is_list},\n            kind: {kind},",
            it.required
        );
        _ = writeln!(out, "        }},");
    }
    out + "    ]"
}

fn of_paging(it: &Paging) -> String {
    let style = match &it.style {
        PagingStyle::Number { page, size, greatest } => {
            format!("Style::Number {{ page: {page:?}, size: {size:?}, greatest: {greatest:?} }}")
        }
        PagingStyle::Offset { offset, total } => format!("Style::Offset {{ offset: {offset:?}, total: &{total:?} }}"),
        PagingStyle::Cursor { since, cursor } => format!("Style::Cursor {{ since: {since:?}, cursor: &{cursor:?} }}"),
    };
    format!("Paging {{ rows: &{:?}, style: {style} }}", it.rows)
}
