//! The crates that a build compiles, as selected by cargo's resolver for one target and the enabled features.
//!
//! Uses `cargo tree`, which follows the resolver. `cargo metadata` unifies features across targets and development dependencies, so it
//! lists too much.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::document::{Component, Kind, Scope};
use crate::provision::locks;
use crate::{command, workspace};

/// Components by `bom-ref`, and the dependencies between them.
#[derive(Clone, Default)]
pub struct Graph {
    pub components: BTreeMap<String, Component>,
    /// The direct dependencies of each component, by `bom-ref`.
    pub edges: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// The `bom-ref` of the crate with this name. The crate must belong to the workspace, where each crate has one version.
    pub fn reference(&self, name: &str) -> Result<String> {
        let found = self.components.values().find(|component| component.name == name);
        Ok(found.with_context(|| format!("{name} is not in the graph"))?.bom_ref.clone())
    }

    /// Adds a component that is part of the crate `name`.
    pub fn contains(&mut self, name: &str, part: Component) -> Result<()> {
        let whole = self.reference(name)?;
        self.add(part, Some(&whole));
        Ok(())
    }

    /// Adds another graph and makes its crate `part` a dependency of the crate `name`.
    pub fn includes(&mut self, name: &str, other: &Self, part: &str) -> Result<()> {
        let (whole, part) = (self.reference(name)?, other.reference(part)?);
        for component in other.components.values() {
            self.add(component.clone(), None);
        }
        for (reference, dependencies) in &other.edges {
            self.edges.entry(reference.clone()).or_default().extend(dependencies.iter().cloned());
        }
        self.edges.entry(whole).or_default().insert(part);
        Ok(())
    }

    /// Keeps only the crate `name` and the dependencies of its build script. The dependencies get the scope `excluded`, because they render
    /// the product and are not part of it.
    pub fn keep_build_dependencies_of(&mut self, name: &str, target: &str) -> Result<()> {
        let root = self.reference(name)?;
        let tree = tree(name, target, &["--edges", "build", "--depth", "1"])?;
        let direct: BTreeSet<String> =
            tree.iter().filter(|node| node.depth == 1).map(|node| node.name.clone()).collect();
        let components = &self.components;
        let of_build = |reference: &String| components.get(reference).is_some_and(|it| direct.contains(&it.name));
        self.edges.entry(root.clone()).or_default().retain(of_build);
        let mut kept = BTreeSet::new();
        let mut next = vec![root.clone()];
        while let Some(reference) = next.pop() {
            next.extend(self.edges.get(&reference).into_iter().flatten().filter(|it| !kept.contains(*it)).cloned());
            kept.insert(reference);
        }
        self.components.retain(|reference, _| kept.contains(reference));
        self.edges.retain(|reference, _| kept.contains(reference));
        for component in self.components.values_mut().filter(|component| component.bom_ref != root) {
            component.scope = Scope::Excluded;
        }
        Ok(())
    }

    /// Adds a component. A component of the product stays required even if a build script also uses it.
    fn add(&mut self, component: Component, parent: Option<&str>) {
        let reference = component.bom_ref.clone();
        if let Some(parent) = parent {
            self.edges.entry(parent.to_owned()).or_default().insert(reference.clone());
        }
        self.edges.entry(reference.clone()).or_default();
        let scope = component.scope;
        let known = self.components.entry(reference).or_insert(component);
        if scope == Scope::Required {
            known.scope = scope;
        }
    }
}

/// Every crate compiled when `package` is built for `target`. Crates that run only during the build (build scripts, procedural macros
/// and their dependencies) get the scope `excluded`.
pub fn compiled(package: &str, target: &str, lock: &str) -> Result<Graph> {
    let linked = tree(package, target, &["--edges", "normal,no-proc-macro"])?;
    let linked: BTreeSet<_> = linked.into_iter().map(|node| (node.name, node.version)).collect();
    let mut graph = Graph::default();
    let mut above: Vec<String> = Vec::new();
    for node in tree(package, target, &["--edges", "normal,build"])? {
        let mut component = Component::new(Kind::Library, &node.name, node.version.as_str()).licence(&node.licence);
        // Workspace crates are not in a registry; a package URL could refer to somebody else's package of that name.
        if let Some(checksum) = locks::checksum_of(lock, &node.name, &node.version) {
            component = component.published("cargo").hash("SHA-256", checksum.to_owned());
        }
        if !linked.contains(&(node.name, node.version)) {
            component.scope = Scope::Excluded;
        }
        above.truncate(node.depth);
        let reference = component.bom_ref.clone();
        graph.add(component, above.last().map(String::as_str));
        above.push(reference);
    }
    Ok(graph)
}

/// A line of `cargo tree`.
#[derive(Debug, PartialEq, Eq)]
struct Node {
    depth: usize,
    name: String,
    version: String,
    licence: String,
}

fn tree(package: &str, target: &str, options: &[&str]) -> Result<Vec<Node>> {
    let mut cargo = workspace::cargo();
    cargo.args(["tree", "--quiet", "--locked", "--color=never", "--prefix", "depth", "--format", "{p}|{l}"]);
    cargo.args(["--package", package, "--target", target]).args(options);
    command::output(&mut cargo)?.lines().map(node).collect()
}

/// Parses `<depth><name> v<version>[ (proc-macro)][ (<path>)]|<licence>[ (*)]`; `(*)` marks dependencies that were listed above.
fn node(line: &str) -> Result<Node> {
    let read = || {
        let name = line.find(|character: char| !character.is_ascii_digit())?;
        let (depth, rest) = line.split_at(name);
        let (package, licence) = rest.strip_suffix(" (*)").unwrap_or(rest).rsplit_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let depth = depth.parse().ok()?;
        Some(Node { depth, name: name.to_owned(), version: version.to_owned(), licence: licence.to_owned() })
    };
    let node = read().with_context(|| format!("cannot parse this line of `cargo tree`: {line}"))?;
    anyhow::ensure!(!node.licence.is_empty(), "{} {} has no licence", node.name, node.version);
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_is_parsed_with_and_without_marks() {
        let read = |line| node(line).map(|it| (it.depth, it.name, it.version, it.licence)).unwrap();
        let expected = |depth, name: &str, version: &str, licence: &str| {
            (depth, name.to_owned(), version.to_owned(), licence.to_owned())
        };
        assert_eq!(read("0ours v1.0.0 (/a folder|odd)|MIT"), expected(0, "ours", "1.0.0", "MIT"));
        assert_eq!(
            read("12zstd-sys v2.1.2+zstd.1.5.7|MIT/Apache-2.0 (*)"),
            expected(12, "zstd-sys", "2.1.2+zstd.1.5.7", "MIT/Apache-2.0")
        );
        assert_eq!(read("3serde_derive v1.0.1 (proc-macro)|MIT (*)"), expected(3, "serde_derive", "1.0.1", "MIT"));
        assert!(node("1unlicensed v1.0.0|").unwrap_err().to_string().contains("no licence"));
        assert!(node("[build-dependencies]").is_err());
    }
}
