//! The subset of CycloneDX 1.6 that these documents use, in its JSON form.

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

/// The program that wrote the document. The tools that build the product are in `formulation`.
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

/// The type of a component.
#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Application,
    /// A library, or a crate.
    Library,
    File,
}

/// Whether a component is in the product.
#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In the product.
    Required,
    /// Used only on other platforms.
    Optional,
    /// Used only during the build.
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
    /// Name in its ecosystem.
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
    /// A component that is not in a registry.
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

    /// Adds the package URL; `ecosystem` is its type.
    pub fn published(mut self, ecosystem: &str) -> Self {
        let name = self.name.replace('@', "%40");
        let version = self.version.as_deref().unwrap_or_default().replace('+', "%2B");
        let purl = format!("pkg:{ecosystem}/{name}@{version}");
        self.bom_ref.clone_from(&purl);
        self.purl = Some(purl);
        self
    }

    /// Adds the licence, an SPDX expression. Old manifests write `/` for `OR`.
    pub fn licence(mut self, expression: &str) -> Self {
        self.licenses = vec![Licence { expression: expression.replace('/', " OR ") }];
        self
    }

    /// Adds a hash of the component's content, in hexadecimal.
    pub fn hash(mut self, alg: &'static str, content: String) -> Self {
        self.hashes.push(Hash { alg, content });
        self
    }
}

impl Document {
    /// The document for the crate `product` of a graph, built with `tools`.
    pub fn new(graph: Graph, product: &str, tools: Vec<Component>) -> Result<Self> {
        let product = graph.reference(product)?;
        let Graph { mut components, edges } = graph;
        let mut product = components.remove(&product).context("the product is not a component of the graph")?;
        product.r#type = Kind::Application;
        let dependencies = edges
            .into_iter()
            .map(|(r#ref, depends_on)| Dependency { r#ref, depends_on: depends_on.into_iter().collect() })
            .collect();
        // The native and the wasm compiler can be the same; list it once.
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

    /// The document's JSON text.
    pub fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Number of components in the product, and number of components that only the build of the product needs.
    pub fn counts(&self) -> [usize; 2] {
        let build_only = self.components.iter().filter(|component| component.scope == Scope::Excluded).count();
        [self.components.len() - build_only, build_only]
    }

    /// Number of tools that build the product.
    pub fn tools(&self) -> usize {
        self.formulation.iter().map(|formula| formula.components.len()).sum()
    }
}

/// The time in `SOURCE_DATE_EPOCH`, if set. The current time is not used, because two runs would then differ.
fn timestamp() -> Result<Option<String>> {
    let Ok(seconds) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(None) };
    let instant = seconds.parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let instant = instant.with_context(|| format!("SOURCE_DATE_EPOCH must be Unix seconds, but is `{seconds}`"))?;
    Ok(Some(instant.to_string()))
}

/// A UUID (version 8) derived from the content.
fn serial_number(content: &str) -> String {
    let mut digest = Sha256::digest(content);
    digest[6] = digest[6] & 0x0f | 0x80;
    digest[8] = digest[8] & 0x3f | 0x80;
    let text = hex(&digest[..16]);
    format!("urn:uuid:{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}
