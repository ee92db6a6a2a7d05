//! The crates that a build compiles, as cargo's resolver chooses them for one target and the features in use.
//!
//! `cargo tree` follows the resolver; `cargo metadata` joins features across targets and development dependencies, and lists too much.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::document::{Component, Kind, Scope};
use crate::provision::locks;
use crate::{command, workspace};

/// Components by their reference, and what each depends on.
#[derive(Clone, Default)]
pub struct Graph {
    /// Every component.
    pub components: BTreeMap<String, Component>,
    /// References of the direct dependencies.
    pub edges: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// The reference of the crate with this name; it must be one of ours, which have one version each.
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

    /// Adds another graph, whose crate `part` is part of the crate `name`.
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

    /// Keeps the crate `name` and the dependencies of its build script. These are excluded: they render the product and are not part
    /// of it.
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

    /// Adds a component. One that is in the product stays required, even where a build script needs it as well.
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

/// Every crate that building `package` for `target` compiles. Those that only run during the build (build scripts, procedural macros,
/// and what these depend on) are excluded from the product.
pub fn compiled(package: &str, target: &str, lock: &str) -> Result<Graph> {
    let linked = tree(package, target, &["--edges", "normal,no-proc-macro"])?;
    let linked: BTreeSet<_> = linked.into_iter().map(|node| (node.name, node.version)).collect();
    let mut graph = Graph::default();
    let mut above: Vec<String> = Vec::new();
    for node in tree(package, target, &["--edges", "normal,build"])? {
        let mut component = Component::new(Kind::Library, &node.name, node.version.as_str()).licence(&node.licence);
        // Our own crates are in no registry: a package URL would name whatever somebody else publishes under that name.
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

/// Reads `<depth><name> v<version>[ (proc-macro)][ (<path>)]|<licence>[ (*)]`; the last mark says that the dependencies stand above.
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
    let node = read().with_context(|| format!("a line of `cargo tree` that cannot be read: {line}"))?;
    anyhow::ensure!(!node.licence.is_empty(), "{} {} names no licence", node.name, node.version);
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_is_read_with_and_without_its_marks() {
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
