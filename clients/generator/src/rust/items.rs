//! The modules of types: structs with serde, open enums, aliases.

use super::plan::{Item, Kind, Member, Plan, Type, Use, Variant};
use super::text::doc;
use std::fmt::Write as _;

/// One module.
pub fn file(plan: &Plan, home: &str) -> String {
    let items: Vec<&Item> = plan.items.values().filter(|it| it.home == home).collect();
    let mut body = String::new();
    for it in &items {
        body.push('\n');
        body += &declared(plan, it);
    }
    let mut head = String::from("#[allow(unused_imports, reason = \"not every module needs each\")]\n");
    head += "use super::types::*;\n";
    for (word, import) in [
        ("Json", "serde_json::Value as Json"),
        ("Deserialize", "serde::{Deserialize, Serialize}"),
        ("open_enum!", "crate::open_enum::open_enum"),
        ("lenient::", "crate::lenient"),
        ("BTreeMap<", "std::collections::BTreeMap"),
    ] {
        if body.contains(word) {
            _ = writeln!(head, "use {import};");
        }
    }
    head + &body
}

/// A type as it is written in code.
pub fn written(of: &Type) -> String {
    match of {
        Type::Text => "String".into(),
        Type::Integer => "i64".into(),
        Type::Number => "f64".into(),
        Type::Boolean => "bool".into(),
        Type::Json => "Json".into(),
        Type::List(item) => format!("Vec<{}>", written(item)),
        Type::Map(value) => format!("BTreeMap<String, {}>", written(value)),
        Type::Optional(inner) => format!("Option<{}>", written(inner)),
        Type::Named(name) => name.clone(),
    }
}

fn declared(plan: &Plan, it: &Item) -> String {
    let about = if it.doc.is_empty() { format!("`{}`", it.name) } else { it.doc.clone() };
    match &it.kind {
        Kind::Alias(of) => format!("{}pub type {} = {};\n", doc(&about, ""), it.name, written(of)),
        Kind::Enum(variants) => open_enum(&about, &it.name, variants),
        Kind::Struct { members, use_of } => {
            let boxed = plan.contains_itself(&it.name);
            let mut out = doc(&about, "");
            out += "#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]\n";
            if *use_of == Use::Answer {
                out += "#[non_exhaustive]\n";
            }
            _ = writeln!(out, "pub struct {} {{", it.name);
            for one in members {
                out += &member(plan, one, *use_of, boxed);
            }
            out + "}\n"
        }
    }
}

fn open_enum(about: &str, name: &str, variants: &[Variant]) -> String {
    let mut out = format!("open_enum! {{\n{}    pub enum {name} {{\n", doc(about, "    "));
    for it in variants {
        let about = if it.doc.is_empty() { format!("`{}`", it.value) } else { it.doc.clone() };
        out += &doc(&about, "        ");
        _ = writeln!(out, "        {} = {:?},", it.name, it.value);
    }
    out + "    }\n}\n"
}

fn member(plan: &Plan, it: &Member, use_of: Use, boxed: bool) -> String {
    let mut of = written(&it.of);
    if boxed {
        let inner = if let Type::Optional(inner) = &it.of { inner } else { &it.of };
        if let Type::Named(name) = inner
            && plan.contains_itself(name)
        {
            of = of.replace(name, &format!("Box<{name}>"));
        }
    }
    let mut serde = Vec::new();
    if it.wire != it.name.trim_start_matches("r#") {
        serde.push(format!("rename = {:?}", it.wire));
    }
    match (&it.of, use_of) {
        (Type::Optional(_), _) if !it.required => serde.push("skip_serializing_if = \"Option::is_none\"".into()),
        (Type::Optional(_), _) => {}
        (Type::List(_), Use::Query) => serde.push("default, skip_serializing_if = \"Vec::is_empty\"".into()),
        (Type::Number, Use::Answer) => {
            serde.push("default = \"lenient::no_number\", deserialize_with = \"lenient::number\"".into());
        }
        _ => serde.push("default, deserialize_with = \"lenient::value\"".into()),
    }
    let about = if it.doc.is_empty() { format!("The member `{}`.", it.wire) } else { it.doc.clone() };
    let mut out = doc(&format!("{about}{}", if it.deprecated { "\n\nDeprecated." } else { "" }), "    ");
    if !serde.is_empty() {
        _ = writeln!(out, "    #[serde({})]", serde.join(", "));
    }
    _ = writeln!(out, "    pub {}: {of},", it.name);
    out
}
