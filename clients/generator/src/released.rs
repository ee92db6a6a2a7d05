//! What the libraries of the last release offer, and whether the current ones still do.
//!
//! The OpenAPI document has a check of its own (`openapi/released.json`), which knows nothing of the names that the libraries derive from tags,
//! ids and schemas. `released.json` is the list of operations (`behaviours/generated/operations.json`) of the last release.

use serde_json::{Map, Value};

/// The list of the last release, below `clients/`.
pub const RELEASED: &str = "released.json";

/// Everything that users of the earlier libraries call or name and that the current ones lack.
pub fn breaks(was: &Value, is: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (id, earlier) in members(was, "operations") {
        let Some(now) = is["operations"].get(id) else {
            found.push(format!("{id}: the method is gone"));
            continue;
        };
        for name in ["resource", "method", "path_parameters", "has_body", "answers"] {
            if earlier[name] != now[name] {
                found.push(format!("{id}: {name} was {} and is {}", earlier[name], now[name]));
            }
        }
        for name in gone(&earlier["query_parameters"], &now["query_parameters"]) {
            found.push(format!("{id}: the parameter {name} is gone"));
        }
        if earlier["query_parameters"] == Value::Array(Vec::new())
            && now["query_parameters"] != earlier["query_parameters"]
        {
            // A method without parameters takes its options first.
            found.push(format!("{id}: the method had no parameters"));
        }
    }
    let codes = |all: &Value| {
        all["errors"]
            .as_array()
            .map(|all| Value::Array(all.iter().map(|it| it["code"].clone()).collect()))
            .unwrap_or_default()
    };
    found.extend(gone(&codes(was), &codes(is)).map(|it| format!("the error class of {it} is gone")));
    found.extend(gone(&was["types"], &is["types"]).map(|it| format!("the type {it} is gone")));
    found
}

fn members<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    value.get(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// The elements of `was` that `is` lacks.
fn gone<'a>(was: &'a Value, is: &'a Value) -> impl Iterator<Item = String> + use<'a> {
    let lacks = |it: &&Value| is.as_array().is_none_or(|is| !is.contains(it));
    was.as_array().into_iter().flatten().filter(lacks).map(|it| it.as_str().unwrap_or_default().to_owned())
}
