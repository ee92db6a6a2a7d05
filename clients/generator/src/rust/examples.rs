//! The examples in the methods' documentation, from the examples of the document.

use super::items::written;
use super::methods::method_name;
use super::plan::{Kind, Member, Plan, Type};
use super::text::field;
use crate::model::{Answer, Operation, Parameter, Shape};
use serde_json::Value;

/// The example of a method. The hidden lines run it against the recorded answers.
pub fn of_method(resource: &str, it: &Operation, plan: &Plan) -> String {
    let mut given: Vec<String> = it.path_parameters.iter().map(|it| scalar(&example(it))).collect();
    let mut imports: Vec<String> = Vec::new();
    let mut before = String::new();
    if let Some(body) = &it.body {
        let value = body.example.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let name = format!("{}Body", it.id);
        before += &format!("let body = {};\n", literal(plan, &Type::Named(name.clone()), &value, &mut imports));
        given.push("body".into());
    }
    if !it.query_parameters.is_empty() {
        let shown = it.query_parameters.iter().filter(|it| it.required || it.example.is_some());
        let shown: serde_json::Map<String, Value> = shown.map(|it| (it.name.clone(), example(it))).collect();
        let name = format!("{}Params", it.id);
        before +=
            &format!("let params = {};\n", literal(plan, &Type::Named(name), &Value::Object(shown), &mut imports));
        given.push("params".into());
    }
    let call = format!("client.{resource}().{}({})", method_name(it), given.join(", "));
    let code = match (&it.answer, &it.paging) {
        (Answer::Stream, _) => format!(
            "let mut stream = {call}.open();\nif let Some(frame) = stream.try_next().await? {{\n    println!(\"{{frame:?}}\");\n}}"
        ),
        (_, Some(_)) => {
            format!(
                "let mut rows = {call}.rows();\nif let Some(row) = rows.try_next().await? {{\n    println!(\"{{row:?}}\");\n}}"
            )
        }
        _ => format!("let answer = {call}.await?;\nprintln!(\"{{answer:?}}\");"),
    };
    imports.sort();
    imports.dedup();
    let names = match imports.as_slice() {
        [] => String::new(),
        [only] => format!("use risk_data_client::types::{only};\n"),
        many => format!("use risk_data_client::types::{{{}}};\n", many.join(", ")),
    };
    format!("```\n{names}# rds_recorded::run(async |client| {{\n{before}{code}\n# Ok(()) }})\n```")
}

/// A value as an expression of this type.
fn literal(plan: &Plan, of: &Type, value: &Value, imports: &mut Vec<String>) -> String {
    match of {
        Type::Optional(inner) => format!("Some({})", literal(plan, inner, value, imports)),
        Type::List(item) => {
            let items = value.as_array().into_iter().flatten().map(|it| literal(plan, item, it, imports));
            format!("vec![{}]", items.collect::<Vec<_>>().join(", "))
        }
        Type::Named(name) => match plan.kind(name) {
            Some(Kind::Struct { members, .. }) => {
                imports.push(name.clone());
                let given = members.iter().filter(|it| value.get(&it.wire).is_some()).map(|it| (it, &value[&it.wire]));
                let mut given: Vec<String> = given.map(|(it, one)| assigned(plan, it, one, imports)).collect();
                if given.is_empty() {
                    return format!("{name}::default()");
                }
                if given.len() < members.len() {
                    given.push(format!("..{name}::default()"));
                }
                let given: String = given
                    .iter()
                    .map(|it| format!("    {}", it.replace('\n', "\n    ")))
                    .collect::<Vec<_>>()
                    .join(",\n");
                let comma = if given.contains("..") { "" } else { "," };
                format!("{name} {{\n{given}{comma}\n}}")
            }
            Some(Kind::Alias(other)) => literal(plan, other, value, imports),
            _ => format!("{}.into()", scalar(value)),
        },
        Type::Text => format!("{}.into()", scalar(value)),
        Type::Number if value.is_i64() => format!("{value}.0"),
        Type::Json => format!("serde_json::json!({value})"),
        Type::Map(_) => format!("/* {} */ Default::default()", written(of)),
        Type::Integer | Type::Number | Type::Boolean => value.to_string(),
    }
}

fn assigned(plan: &Plan, it: &Member, value: &Value, imports: &mut Vec<String>) -> String {
    format!("{}: {}", it.name, literal(plan, &it.of, value, imports))
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// A value for the example: the document's, or the first that the shape allows.
pub fn example(it: &Parameter) -> Value {
    it.example.clone().unwrap_or_else(|| of_shape(&it.shape, &field(&it.name)))
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
