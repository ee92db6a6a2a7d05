//! Requests and answers that were recorded from the running service: one file an operation, in `examples/`.
//!
//! `e2e/openapi/record.mjs` writes them, with long lists cut short. Nothing in them is made up.

use anyhow::{Context, Result};
use rds_shared::route::RouteId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One request, and what it was answered.
#[derive(Debug, Clone, Default)]
pub struct Example {
    /// Parameters of the path.
    pub path: Map<String, Value>,
    /// Parameters of the query.
    pub query: Map<String, Value>,
    /// The body that was sent.
    pub body: Option<Value>,
    /// The body that came back.
    pub response: Option<Value>,
}

/// Every example, by the name of its operation or of its push event.
#[derive(Debug, Clone, Default)]
pub struct Examples(BTreeMap<String, Example>);

impl Examples {
    /// Reads the files of a folder. Fails on one that is no example.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
            let path = entry?.path();
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            let text = fs::read_to_string(&path)?;
            let value: Value =
                serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
            let members = |name: &str| value.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
            let example = Example {
                path: members("path"),
                query: members("query"),
                body: value.get("body").cloned(),
                response: value.get("response").cloned(),
            };
            all.insert(name.to_owned(), example);
        }
        Ok(Examples(all))
    }

    /// The example of an operation.
    pub fn of(&self, id: RouteId) -> Option<&Example> {
        self.0.get(id.name())
    }

    /// What was received of a push event.
    pub fn pushed(&self, name: &str) -> Option<&Value> {
        self.0.get(name)?.response.as_ref()
    }

    /// An error with this code, as it was once answered.
    pub fn of_error(&self, code: &str) -> Option<&Value> {
        self.0.get(&format!("error.{code}"))?.response.as_ref()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
