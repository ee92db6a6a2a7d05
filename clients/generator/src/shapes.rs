//! Schemas of the OpenAPI document as shapes.

use crate::model::{EnumValue, Field, Shape};
use serde_json::Value;

/// The shape of a schema.
pub fn shape(schema: &Value) -> Shape {
    if let Some(name) = reference(schema) {
        return Shape::Ref(name.into());
    }
    if let Some(value) = schema.get("const") {
        return Shape::Constant(value.clone());
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(forms) = schema.get(key).and_then(Value::as_array) {
            return union(forms);
        }
    }
    match schema.get("type") {
        Some(Value::String(kind)) => of_type(kind, schema),
        Some(Value::Array(kinds)) => {
            let (null, rest): (Vec<_>, Vec<_>) = kinds.iter().partition(|it| it.as_str() == Some("null"));
            let rest: Vec<Shape> = rest.iter().filter_map(|it| it.as_str()).map(|it| of_type(it, schema)).collect();
            joined(rest, !null.is_empty())
        }
        _ if schema.get("properties").is_some() => of_type("object", schema),
        _ => Shape::Any,
    }
}

/// The documentation of a schema or parameter.
pub fn doc(value: &Value) -> String {
    value.get("description").and_then(Value::as_str).unwrap_or_default().trim().into()
}

/// The name behind a `$ref`.
pub fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)?.rsplit('/').next()
}

fn union(forms: &[Value]) -> Shape {
    let is_null = |form: &&Value| form.get("type").and_then(Value::as_str) == Some("null");
    let (null, rest): (Vec<_>, Vec<_>) = forms.iter().partition(is_null);
    joined(rest.into_iter().map(shape).collect(), !null.is_empty())
}

fn joined(mut forms: Vec<Shape>, or_null: bool) -> Shape {
    forms.dedup();
    let joined = if forms.len() == 1 { forms.pop().unwrap_or(Shape::Any) } else { Shape::Union(forms) };
    if or_null { Shape::Nullable(Box::new(joined)) } else { joined }
}

fn of_type(kind: &str, schema: &Value) -> Shape {
    match kind {
        "string" => match schema.get("enum").and_then(Value::as_array) {
            Some(values) => Shape::Enum(enum_values(values, &doc(schema))),
            None => Shape::Text(schema.get("format").and_then(Value::as_str).map(str::to_owned)),
        },
        "integer" => Shape::Integer,
        "number" => Shape::Number,
        "boolean" => Shape::Boolean,
        "array" => Shape::List(Box::new(schema.get("items").map_or(Shape::Any, shape))),
        "object" => object(schema),
        _ => Shape::Any,
    }
}

fn object(schema: &Value) -> Shape {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return match schema.get("additionalProperties") {
            Some(values) if values.is_object() => Shape::Map(Box::new(shape(values))),
            _ => Shape::Map(Box::new(Shape::Any)),
        };
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    // `required` is in the order of the declaration, the properties may be sorted.
    let optional = properties.keys().map(String::as_str).filter(|name| !required.contains(name));
    let names = required.iter().copied().chain(optional);
    let fields = names.filter_map(|name| Some((name, properties.get(name)?))).map(|(name, property)| Field {
        name: name.into(),
        doc: doc(property),
        required: required.contains(&name),
        deprecated: property.get("deprecated").and_then(Value::as_bool).unwrap_or(false),
        shape: shape(property),
    });
    Shape::Object(fields.collect())
}

/// The values with their documentation, which the document gives as a list in the description: "- `value`: what it means".
fn enum_values(values: &[Value], doc: &str) -> Vec<EnumValue> {
    let documented = |value: &str| {
        let start = format!("- `{value}`: ");
        doc.lines().find_map(|line| line.trim().strip_prefix(start.as_str())).unwrap_or_default().to_owned()
    };
    values.iter().filter_map(Value::as_str).map(|it| EnumValue { value: it.into(), doc: documented(it) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_that_may_be_null_is_not_the_same_as_one_that_may_be_absent() {
        let schema = json!({"type": "object", "required": ["b"], "properties": {
            "a": {"type": "string"}, "b": {"type": ["number", "null"]},
        }});
        let Shape::Object(fields) = shape(&schema) else { panic!("an object") };
        let [b, a] = fields.as_slice() else { panic!("two fields") };
        assert_eq!((b.required, &b.shape), (true, &Shape::Nullable(Box::new(Shape::Number))));
        assert_eq!((a.required, &a.shape), (false, &Shape::Text(None)));
    }

    #[test]
    fn values_of_an_enum_have_their_own_documentation() {
        let schema = json!({"type": "string", "enum": ["x", "y"], "description": "Kinds.\n\n- `x`: The first.\n- `y`"});
        let Shape::Enum(values) = shape(&schema) else { panic!("an enum") };
        assert_eq!(values.iter().map(|it| it.doc.as_str()).collect::<Vec<_>>(), ["The first.", ""]);
    }
}
