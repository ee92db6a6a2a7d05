//! Marks the fields that the route table lists as deprecated.

use rds_shared::route::deprecation::Place;
use rds_shared::route::{ROUTES, Route};
use serde_json::Value;

/// Marks every deprecated response field, and states its replacement.
pub fn mark(document: &mut Value) {
    for route in ROUTES {
        for field in route.deprecated.iter().filter(|field| field.place == Place::Answer) {
            let Some(pointer) = find(document, route, field.field) else { continue };
            if let Some(members) = document.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                let about = members.get("description").and_then(Value::as_str).unwrap_or_default();
                if !about.starts_with("Deprecated") {
                    let about = format!("Deprecated: {}. {about}", field.instead);
                    members.insert("description".into(), about.trim().into());
                }
                members.insert("deprecated".into(), true.into());
            }
        }
    }
}

/// JSON pointer to the schema of a field of a route's response. `field` is a dotted path that starts at the response's row, inside `data`.
pub fn find(document: &Value, route: &Route, field: &str) -> Option<String> {
    let path = route.path.replace('/', "~1");
    let method = route.method.as_str().to_lowercase();
    let answer = format!("/paths/{path}/{method}/responses/200/content/application~1json/schema");
    field.split('.').try_fold(answer, |at, name| below(document, at, name))
}

/// JSON pointer to the member `name` of the object at `pointer`, or of the object inside its `data`, list or first alternative.
fn below(document: &Value, pointer: String, name: &str) -> Option<String> {
    let schema = document.pointer(&pointer)?;
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return below(document, target.trim_start_matches('#').to_owned(), name);
    }
    if schema["properties"].get(name).is_some() {
        return Some(format!("{pointer}/properties/{name}"));
    }
    let inside = ["properties/data", "items", "anyOf/0"].map(|part| format!("{pointer}/{part}"));
    inside.into_iter().filter(|part| document.pointer(part).is_some()).find_map(|part| below(document, part, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::document;
    use crate::examples::Examples;

    #[test]
    fn every_field_that_the_route_table_deprecates_is_marked() {
        let document = document(&Examples::default());
        for route in ROUTES {
            for field in route.deprecated.iter().filter(|field| field.place == Place::Answer) {
                let found = find(&document, route, field.field).and_then(|pointer| document.pointer(&pointer));
                assert_eq!(
                    found.map(|schema| &schema["deprecated"]),
                    Some(&true.into()),
                    "{} {}",
                    route.path,
                    field.field
                );
            }
        }
    }
}
