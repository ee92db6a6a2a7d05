//! Requests and responses recorded from the running service: one file per operation, in `examples/`.
//!
//! `e2e/openapi/record.mjs` writes the files and shortens long lists.

use anyhow::{Context, Result};
use rds_shared::route::RouteId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One recorded request and its response.
#[derive(Debug, Clone, Default)]
pub struct Example {
    /// Path parameters.
    pub path: Map<String, Value>,
    /// Query parameters.
    pub query: Map<String, Value>,
    /// The request body.
    pub body: Option<Value>,
    /// The response body.
    pub response: Option<Value>,
}

/// Every example, by the name of its operation, push event, stream frame or error.
#[derive(Debug, Clone, Default)]
pub struct Examples(BTreeMap<String, Example>);

impl Examples {
    /// Reads the files of a folder. Fails on a file that is not JSON.
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

    /// The recorded body of a push event or stream frame.
    pub fn pushed(&self, name: &str) -> Option<&Value> {
        self.0.get(name)?.response.as_ref()
    }

    /// A recorded error response with this code.
    pub fn of_error(&self, code: &str) -> Option<&Value> {
        self.0.get(&format!("error.{code}"))?.response.as_ref()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
