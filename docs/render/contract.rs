//! The OpenAPI document as the pages need it: operations by section (their first tag), joined with the route table.

use rds_shared::route::{Access, Method, ROUTES, RateLimitClass, Route};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;

/// The OpenAPI document.
pub struct Contract {
    document: Value,
    operations: Vec<Operation>,
}

#[derive(Clone)]
pub struct Operation {
    /// Operation id, which is also the HTML anchor of the operation's description.
    pub id: String,
    /// The first tag: the section whose page describes the operation.
    pub family: String,
    /// The method, in capitals.
    pub method: String,
    /// The path, with `{name}` for parameters.
    pub path: String,
    /// Summary in one line.
    pub summary: String,
    pub description: String,
    /// Whether the operation is marked as deprecated.
    pub deprecated: bool,
    /// Parameters of the path, the query and the headers.
    pub parameters: Vec<Parameter>,
    pub body: Option<Media>,
    /// Responses by status.
    pub answers: Vec<Answer>,
    /// The operation's row in the route table, if there is one.
    pub route: Option<&'static Route>,
    /// Path of the explorer's page that shows the answer, with `{name}` for parameters.
    pub page: Option<String>,
}

/// A parameter of an operation.
#[derive(Clone)]
pub struct Parameter {
    pub name: String,
    /// `path`, `query` or `header`.
    pub place: String,
    pub required: bool,
    /// The description of the parameter, or else of its schema.
    pub description: String,
    /// JSON Schema of the parameter's values.
    pub schema: Value,
    /// A valid value, as written in a URL.
    pub example: Option<String>,
}

/// A body: media type, schema and example.
#[derive(Clone)]
pub struct Media {
    pub media_type: String,
    /// JSON Schema of the body.
    pub schema: Value,
    /// A recorded body.
    pub example: Option<Value>,
}

/// The response of an operation with one status.
#[derive(Clone)]
pub struct Answer {
    /// Status, such as `200`, or `default`.
    pub status: String,
    pub description: String,
    /// The body, if the response has one.
    pub body: Option<Media>,
}

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

impl Contract {
    /// Reads the document. `shown` is the explorer's table: paths of pages by the id of the operation whose answer they show.
    pub fn read(text: &str, shown: &str) -> Result<Self, Box<dyn Error>> {
        let document: Value = serde_json::from_str(text)?;
        let shown: BTreeMap<String, String> = serde_json::from_str(shown)?;
        let mut contract = Contract { document, operations: Vec::new() };
        let paths = contract.document["paths"].as_object().ok_or("the OpenAPI document has no paths")?;
        let mut operations = Vec::new();
        for (path, item) in paths {
            for method in METHODS {
                if let Some(operation) = item.get(method) {
                    let mut operation = contract.operation(path, method, item, operation)?;
                    operation.page = shown.get(&operation.id).cloned();
                    operations.push(operation);
                }
            }
        }
        // The order of the route table puts the operations that most readers need first.
        operations.sort_by_key(|operation| operation.route.map_or(usize::MAX, |route| route.id as usize));
        contract.operations = operations;
        Ok(contract)
    }

    /// Every operation, in the order of the route table.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The sections, in the document's order.
    pub fn families(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let listed = self.document["tags"].as_array().into_iter().flatten().filter_map(|tag| text(&tag["name"]));
        for name in listed.chain(self.operations.iter().map(|operation| operation.family.clone())) {
            if !names.contains(&name) && self.operations.iter().any(|operation| operation.family == name) {
                names.push(name);
            }
        }
        names
    }

    /// The description of a section's tag.
    pub fn family_text(&self, family: &str) -> String {
        let tags = self.document["tags"].as_array();
        let tag = tags.into_iter().flatten().find(|tag| tag["name"] == family);
        tag.and_then(|tag| text(&tag["description"])).unwrap_or_default()
    }

    /// The operations of a section.
    pub fn of_family<'a>(&'a self, family: &'a str) -> impl Iterator<Item = &'a Operation> {
        self.operations.iter().filter(move |operation| operation.family == family)
    }

    /// The version of the API.
    pub fn version(&self) -> String {
        text(&self.document["info"]["version"]).unwrap_or_default()
    }

    /// Resolves `value` if it is a reference.
    pub fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            Some(pointer) => self.document.pointer(pointer).unwrap_or(value),
            None => value,
        }
    }

    /// The recorded example of this name: the successful response of an operation, or the body of a webhook event.
    pub fn recorded(&self, name: &str) -> Option<&Value> {
        let answer =
            || self.operations.iter().find(|operation| operation.id == name)?.good()?.body.as_ref()?.example.as_ref();
        answer().or_else(|| {
            let content = &self.document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"];
            let first = content["examples"].as_object().and_then(|examples| examples.values().next());
            content.get("example").or_else(|| first.and_then(|example| self.resolve(example).get("value")))
        })
    }

    fn operation(&self, path: &str, method: &str, item: &Value, value: &Value) -> Result<Operation, Box<dyn Error>> {
        let id = text(&value["operationId"]).ok_or_else(|| format!("{method} {path} has no operationId"))?;
        let shared = item["parameters"].as_array().into_iter().flatten();
        let own = value["parameters"].as_array().into_iter().flatten();
        let parameters = shared.chain(own).map(|parameter| self.parameter(self.resolve(parameter))).collect();
        let answers = value["responses"].as_object().into_iter().flatten();
        let answers = answers.map(|(status, answer)| {
            let answer = self.resolve(answer);
            let description = text(&answer["description"]).unwrap_or_default();
            Answer { status: status.clone(), description, body: self.media(answer) }
        });
        let wanted = Method::parse(&method.to_uppercase());
        Ok(Operation {
            family: value["tags"].get(0).and_then(text).unwrap_or_else(|| "Other".into()),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(&value["summary"]).unwrap_or_else(|| id.clone()),
            description: text(&value["description"]).unwrap_or_default(),
            deprecated: value["deprecated"] == true,
            parameters,
            body: value.get("requestBody").and_then(|body| self.media(self.resolve(body))),
            answers: answers.collect(),
            route: ROUTES.iter().find(|route| route.path == path && Some(route.method) == wanted),
            page: None,
            id,
        })
    }

    fn parameter(&self, value: &Value) -> Parameter {
        let schema = self.resolve(&value["schema"]).clone();
        let examples = value["examples"].as_object().and_then(|examples| examples.values().next());
        let example = value.get("example").or_else(|| examples.and_then(|example| self.resolve(example).get("value")));
        let example = example.or_else(|| schema["examples"].get(0)).map(plain);
        Parameter {
            name: text(&value["name"]).unwrap_or_default(),
            place: text(&value["in"]).unwrap_or_default(),
            required: value["required"] == true,
            description: text(&value["description"]).or_else(|| text(&schema["description"])).unwrap_or_default(),
            schema,
            example,
        }
    }

    /// The JSON body, or the first listed body if none is JSON.
    fn media(&self, value: &Value) -> Option<Media> {
        let content = value["content"].as_object()?;
        let (media_type, media) = content.get_key_value("application/json").or_else(|| content.iter().next())?;
        let examples = media["examples"].as_object().and_then(|examples| examples.values().next());
        let example = media.get("example").or_else(|| examples.and_then(|example| self.resolve(example).get("value")));
        Some(Media { media_type: media_type.clone(), schema: media["schema"].clone(), example: example.cloned() })
    }
}

impl Operation {
    /// URL of the operation's description.
    pub fn link(&self) -> String {
        format!("/v1/docs/{}#{}", page_of(&self.family), self.id)
    }

    /// Required credential and plan.
    pub fn access(&self) -> Access {
        self.route.map_or(Access::Public, |route| route.access)
    }

    /// Required credential and plan, as text.
    pub fn access_text(&self) -> &'static str {
        match self.access() {
            Access::Public => "No key required",
            Access::Key => "Any key",
            Access::Data => "Key of plan data or higher",
            Access::Decisioning => "Key of plan decisioning or higher",
            Access::Index => "Index token",
        }
    }

    /// The rate limit that a request counts against, if it is not the general one.
    pub fn budget_text(&self) -> Option<&'static str> {
        match self.route?.rate_limit_class {
            RateLimitClass::Public => None,
            RateLimitClass::GraphRead => Some("Counts against the rate limit of graph reads"),
            RateLimitClass::GraphCheck => Some("Counts against the rate limit of portfolio checks"),
            RateLimitClass::BasketWebhooks => Some("Counts against the rate limit of basket webhooks"),
            RateLimitClass::Status | RateLimitClass::Health => Some("Has its own rate limit"),
            RateLimitClass::Unmetered => Some("Not rate limited"),
        }
    }

    /// Whether the response is an event stream.
    pub fn streams(&self) -> bool {
        self.route.is_some_and(|route| route.streams())
    }

    /// The successful response.
    pub fn good(&self) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.status.starts_with('2'))
    }
}

/// The page that describes a section's operations.
pub fn page_of(family: &str) -> String {
    format!("reference-{}", super::slug(family))
}

/// The value as a string, if it is one.
pub fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A value as written in a URL: list entries are separated by commas.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(entries) => entries.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
