//! The part of CycloneDX 1.6 that our documents need, as it is written to JSON.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::crates::Graph;
use crate::workspace::hex;

/// A bill of materials.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    bom_format: &'static str,
    spec_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial_number: Option<String>,
    version: u32,
    metadata: Metadata,
    components: Vec<Component>,
    dependencies: Vec<Dependency>,
    formulation: [Formula; 1],
}

#[derive(Serialize)]
struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    lifecycles: [Lifecycle; 1],
    tools: Tools,
    component: Component,
}

#[derive(Serialize)]
struct Lifecycle {
    phase: &'static str,
}

/// What wrote the document; what built the product stands in the formulation.
#[derive(Serialize)]
struct Tools {
    components: [Component; 1],
}

#[derive(Serialize)]
struct Formula {
    components: Vec<Component>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    r#ref: String,
    depends_on: Vec<String>,
}

/// What a component is.
#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A program.
    Application,
    /// A library, or a crate.
    Library,
    /// A file.
    File,
}

/// Whether a component is in the product.
#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In the product.
    Required,
    /// For another platform than this machine's.
    Optional,
    /// Runs during the build only.
    Excluded,
}

#[derive(Clone, Serialize)]
struct Hash {
    alg: &'static str,
    content: String,
}

#[derive(Clone, Serialize)]
struct Licence {
    expression: String,
}

/// A component, in the field order of the specification.
#[derive(Clone, Serialize)]
pub struct Component {
    r#type: Kind,
    /// Unique within the document.
    #[serde(rename = "bom-ref")]
    pub bom_ref: String,
    /// Its name in its ecosystem.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'static str>,
    pub scope: Scope,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Hash>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    licenses: Vec<Licence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpe: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purl: Option<String>,
}

impl Component {
    /// One that no registry knows.
    pub fn new<'a>(kind: Kind, name: &str, version: impl Into<Option<&'a str>>) -> Self {
        let version = version.into().map(str::to_owned);
        Self {
            r#type: kind,
            bom_ref: version.as_ref().map_or_else(|| name.to_owned(), |version| format!("{name}@{version}")),
            name: name.to_owned(),
            version,
            description: None,
            scope: Scope::Required,
            hashes: Vec::new(),
            licenses: Vec::new(),
            cpe: None,
            purl: None,
        }
    }

    /// With its address in a registry: `ecosystem` is a package URL's type.
    pub fn published(mut self, ecosystem: &str) -> Self {
        let name = self.name.replace('@', "%40");
        let version = self.version.as_deref().unwrap_or_default().replace('+', "%2B");
        let purl = format!("pkg:{ecosystem}/{name}@{version}");
        self.bom_ref.clone_from(&purl);
        self.purl = Some(purl);
        self
    }

    /// With its licence, an SPDX expression. Old manifests write `/` for `OR`.
    pub fn licence(mut self, expression: &str) -> Self {
        self.licenses = vec![Licence { expression: expression.replace('/', " OR ") }];
        self
    }

    /// With a hash of its contents in hexadecimal.
    pub fn hash(mut self, alg: &'static str, content: String) -> Self {
        self.hashes.push(Hash { alg, content });
        self
    }
}

impl Document {
    /// The document about the crate `product` of a graph, made by `tools`.
    pub fn new(graph: Graph, product: &str, tools: Vec<Component>) -> Result<Self> {
        let product = graph.reference(product)?;
        let Graph { mut components, edges } = graph;
        let mut product = components.remove(&product).context("the product is no component")?;
        product.r#type = Kind::Application;
        let dependencies = edges
            .into_iter()
            .map(|(r#ref, depends_on)| Dependency { r#ref, depends_on: depends_on.into_iter().collect() })
            .collect();
        // The native and the wasm compiler may be the same.
        let tools: BTreeMap<_, _> = tools.into_iter().map(|tool| (tool.bom_ref.clone(), tool)).collect();
        let writer = Component::new(Kind::Application, "cargo xtask sbom", env!("CARGO_PKG_VERSION"));
        let mut document = Self {
            bom_format: "CycloneDX",
            spec_version: "1.6",
            serial_number: None,
            version: 1,
            metadata: Metadata {
                timestamp: timestamp()?,
                lifecycles: [Lifecycle { phase: "pre-build" }],
                tools: Tools { components: [writer] },
                component: product,
            },
            components: components.into_values().collect(),
            dependencies,
            formulation: [Formula { components: tools.into_values().collect() }],
        };
        document.serial_number = Some(serial_number(&document.to_json()?));
        Ok(document)
    }

    /// As it is written to a file.
    pub fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Components that are in the product, and those that only its build needs.
    pub fn counts(&self) -> [usize; 2] {
        let build_only = self.components.iter().filter(|component| component.scope == Scope::Excluded).count();
        [self.components.len() - build_only, build_only]
    }

    /// Number of tools.
    pub fn tools(&self) -> usize {
        self.formulation.iter().map(|formula| formula.components.len()).sum()
    }
}

/// The time of `SOURCE_DATE_EPOCH`, if set. The present time would make two runs differ.
fn timestamp() -> Result<Option<String>> {
    let Ok(seconds) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(None) };
    let instant = seconds.parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let instant = instant.with_context(|| format!("SOURCE_DATE_EPOCH is `{seconds}`, not a time in seconds"))?;
    Ok(Some(instant.to_string()))
}

/// A UUID (version 8) that follows from the content.
fn serial_number(content: &str) -> String {
    let mut digest = Sha256::digest(content);
    digest[6] = digest[6] & 0x0f | 0x80;
    digest[8] = digest[8] & 0x3f | 0x80;
    let text = hex(&digest[..16]);
    format!("urn:uuid:{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}
