//! The model, read from the OpenAPI document.

use crate::model::{Delivery, ErrorCode, Model, Named, Resource, Shape};
use crate::names::Sections;
use crate::operations::{operation, tag};
use crate::shapes::{doc, shape};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Reads the whole document. Fails if two operations would get the same name, or if an error code has no status.
pub fn model(document: &Value) -> Result<Model> {
    let schemas = members(document, "/components/schemas")?;
    let types = schemas.iter().map(|(name, it)| Named { name: name.clone(), doc: doc(it), shape: shape(it) });
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut model = Model {
        title: text("/info/title"),
        version: text("/info/version"),
        types: types.collect(),
        resources: Vec::new(),
        errors: errors(document)?,
        deliveries: deliveries(document)?,
    };
    model.resources = resources(document, &model)?;
    Ok(model)
}

fn resources(document: &Value, model: &Model) -> Result<Vec<Resource>> {
    let paths = members(document, "/paths")?;
    let all = || paths.iter().flat_map(|(path, item)| item.as_object().into_iter().flatten().map(move |it| (path, it)));
    let sections = Sections::new(all().map(|(path, (_, it))| (tag(it), path.as_str())));
    let mut resources: BTreeMap<Vec<String>, Resource> = BTreeMap::new();
    for (path, (verb, it)) in all() {
        let Some((name, operation)) = operation(document, model, &sections, (path, verb), it) else { continue };
        let resource = resources.entry(name.clone()).or_insert(Resource { name, operations: Vec::new() });
        resource.operations.push(operation);
    }
    for resource in resources.values() {
        let names: BTreeSet<_> = resource.operations.iter().map(|it| &it.name).collect();
        if names.len() != resource.operations.len() {
            bail!("two operations of {:?} have the same name", resource.name);
        }
    }
    Ok(resources.into_values().collect())
}

/// The codes with their statuses, which the ids of the error responses state: `400.INVALID_PARAMETER.INVALID_BODY`.
fn errors(document: &Value) -> Result<Vec<ErrorCode>> {
    let responses = members(document, "/components/responses")?;
    let codes = document.pointer("/components/schemas/ErrorCode/enum").and_then(Value::as_array);
    let mut errors = Vec::new();
    for code in codes.context("the document has no error codes")?.iter().filter_map(Value::as_str) {
        let naming = responses.iter().find(|(id, _)| id.split('.').any(|it| it == code));
        let line = format!("- `{code}`: ");
        let told = naming.and_then(|(_, it)| {
            let text = doc(it);
            text.lines().find_map(|it| it.strip_prefix(line.as_str())).map(str::to_owned)
        });
        let status = naming.and_then(|(id, _)| id.split('.').next()?.parse().ok());
        // A code that no operation of the document answers with: a method that a path does not have.
        let status = status.unwrap_or(if code == "METHOD_NOT_ALLOWED" { 405 } else { 0 });
        if status == 0 {
            bail!("no response of the document names the error code {code}");
        }
        let doc = told.unwrap_or_else(|| "The path does not take this method.".into());
        errors.push(ErrorCode { code: code.into(), status, doc });
    }
    Ok(errors)
}

fn deliveries(document: &Value) -> Result<Vec<Delivery>> {
    let webhooks = members(document, "/webhooks")?;
    let each = webhooks.iter().map(|(event_type, it)| {
        let post = &it["post"];
        let body = post.pointer("/requestBody/content/application~1json/schema").map_or(Shape::Any, shape);
        let data = match &body {
            Shape::Object(fields) => fields.iter().find(|it| it.name == "data").map(|it| it.shape.clone()),
            _ => None,
        };
        let doc = post.get("summary").and_then(Value::as_str).unwrap_or_default();
        Delivery { event_type: event_type.clone(), doc: doc.into(), data: data.unwrap_or(Shape::Any) }
    });
    Ok(each.collect())
}

fn members<'a>(document: &'a Value, pointer: &str) -> Result<&'a Map<String, Value>> {
    document.pointer(pointer).and_then(Value::as_object).with_context(|| format!("the document has no {pointer}"))
}
