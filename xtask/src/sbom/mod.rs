//! `cargo xtask sbom`: bills of materials of the origin, the Worker bundle and the pages, as CycloneDX documents.
//!
//! The data comes from the lock files and cargo's resolver; nothing is built. The same commit and compilers give the same bytes.
//! Not listed are C and assembly sources inside a crate (covered by the crate), and dependencies of the build tools (pinned in
//! `xtask/locks`).

mod crates;
mod document;
mod tools;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::provision::cache::Cache;
use crate::provision::wasm_toolchain::{self, Target};
use crate::{command, workspace};
use crates::Graph;
use document::Document;
pub use document::{Component, Kind};

/// Where to write the documents.
#[derive(Args, Debug)]
pub struct Options {
    /// Output folder; `target/sbom` by default.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Sources of the pages: files served unchanged, and sources of rendered pages.
const PAGES: [&str; 5] = ["docs/assets", "docs/guides", "docs/pages", "docs/snippets", "openapi/openapi.json"];
/// Licence of this project's own code.
const OWN_LICENCE: &str = "Apache-2.0";

/// Writes the three documents and prints their component counts.
pub fn run(options: &Options) -> Result<()> {
    let wasm = wasm_toolchain::find(&Cache::open()?, Target::Wasm)?;
    let compilers = Compilers::installed(&wasm.version)?;
    let folder = options.out.clone().unwrap_or_else(|| workspace::target().join("sbom"));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    println!("{:<40}{:>12}{:>12}{:>12}", "file", "contained", "build only", "tools");
    for (name, document) in documents(&compilers, &Contained::default())? {
        let file = folder.join(name);
        let [contained, build_only] = document.counts();
        std::fs::write(&file, document.to_json()?).with_context(|| format!("cannot write {}", file.display()))?;
        println!("{:<40}{contained:>12}{build_only:>12}{:>12}", file.display(), document.tools());
    }
    Ok(())
}

/// What images contain besides our own programs.
#[derive(Default)]
pub struct Contained {
    pub origin: Vec<Component>,
    pub edge: Vec<Component>,
}

/// The documents of a release as texts with their file names: the three of [`run`], and those of the two images.
pub fn texts(images: &Contained) -> Result<Vec<(String, String)>> {
    let wasm = wasm_toolchain::find(&Cache::open()?, Target::Wasm)?;
    let compilers = Compilers::installed(&wasm.version)?;
    let mut texts = Vec::new();
    for (name, document) in documents(&compilers, &Contained::default())? {
        texts.push((name.to_owned(), document.to_json()?));
    }
    let [origin, edge, _] = documents(&compilers, images)?;
    for (name, document) in [origin, edge] {
        texts.push((name.replace(".cdx.", "-image.cdx."), document.to_json()?));
    }
    Ok(texts)
}

/// The compilers, whose standard libraries are part of the products.
struct Compilers {
    /// The default target of this machine's compiler.
    host: String,
    /// Version of the compiler for that target.
    native: String,
    /// Version of the compiler for wasm.
    wasm: String,
}

impl Compilers {
    /// `wasm` is the output of `rustc --version` of the wasm toolchain.
    fn installed(wasm: &str) -> Result<Self> {
        let about = command::output(std::process::Command::new("rustc").arg("-vV"))?;
        let field = |name: &str| {
            let value = about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.map(str::to_owned).with_context(|| format!("`rustc -vV` prints no {name}"))
        };
        let wasm = wasm.split_whitespace().nth(1).with_context(|| format!("no version in `{wasm}`"))?;
        Ok(Self { host: field("host")?, native: field("release")?, wasm: wasm.to_owned() })
    }
}

/// The documents with their file names. Two of them also list what an image contains.
fn documents(compilers: &Compilers, images: &Contained) -> Result<[(&'static str, Document); 3]> {
    let lock = std::fs::read_to_string(workspace::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let wasm = Target::Wasm.triple();
    let verifier = verifier(compilers, &lock)?;

    let mut origin = crates::compiled("rds-origin", &compilers.host, &lock)?;
    origin.contains("rds-origin", std_library(&compilers.native))?;
    origin.includes("rds-docs", &verifier, "rds-verifier")?;
    for part in &images.origin {
        origin.contains("rds-origin", part.clone())?;
    }

    let mut edge = crates::compiled("rds-edge", wasm, &lock)?;
    edge.contains("rds-edge", std_library(&compilers.wasm))?;
    edge.contains("rds-edge", file(Path::new("edge/entry.mjs"))?)?;
    edge.contains("rds-edge", tools::bindings()?)?;
    edge.includes("rds-docs", &verifier, "rds-verifier")?;
    for part in &images.edge {
        edge.contains("rds-edge", part.clone())?;
    }

    let mut pages = crates::compiled("rds-docs", &compilers.host, &lock)?;
    pages.keep_build_dependencies_of("rds-docs", &compilers.host)?;
    pages.includes("rds-docs", &verifier, "rds-verifier")?;
    for path in page_files()? {
        pages.contains("rds-docs", file(&path)?)?;
    }

    let rustc = |version: &str| Component::new(Kind::Application, "rustc", version).licence("MIT OR Apache-2.0");
    // Each of the three products compiles the pages for the build machine and contains the verifier.
    let common = [vec![rustc(&compilers.native), rustc(&compilers.wasm)], tools::of_verifier()?].concat();
    let worker = [common.clone(), tools::of_worker()?].concat();
    Ok([
        ("origin.cdx.json", Document::new(origin, "rds-origin", common.clone())?),
        ("edge.cdx.json", Document::new(edge, "rds-edge", worker)?),
        ("pages.cdx.json", Document::new(pages, "rds-docs", common)?),
    ])
}

/// The verifier's module and its script. Origin and Worker contain them too, because they serve the pages. (An origin compiled before
/// `cargo xtask wasm` was run has pages without the verifier.)
fn verifier(compilers: &Compilers, lock: &str) -> Result<Graph> {
    let mut verifier = crates::compiled("rds-verifier", Target::Wasm.triple(), lock)?;
    verifier.contains("rds-verifier", std_library(&compilers.wasm))?;
    verifier.contains("rds-verifier", tools::bindings()?)?;
    Ok(verifier)
}

/// Rust's standard library. It is not in a registry; vulnerability databases identify it by its CPE.
fn std_library(version: &str) -> Component {
    let mut std = Component::new(Kind::Library, "rust-std", version).licence("MIT OR Apache-2.0");
    std.cpe = Some(format!("cpe:2.3:a:rust-lang:rust:{version}:*:*:*:*:*:*:*"));
    std
}

/// Files below [`PAGES`], relative to the clone.
fn page_files() -> Result<BTreeSet<PathBuf>> {
    let root = workspace::root();
    let mut files = Vec::new();
    for path in PAGES {
        workspace::collect(&root.join(path), &mut files)?;
    }
    files.iter().map(|file| Ok(file.strip_prefix(&root)?.to_owned())).collect()
}

/// A file of this project. `path` is relative to the clone.
fn file(path: &Path) -> Result<Component> {
    let bytes =
        std::fs::read(workspace::root().join(path)).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.to_str().context("a file's name is not UTF-8")?;
    let digest = workspace::hex(&Sha256::digest(bytes));
    Ok(Component::new(Kind::File, name, None).licence(OWN_LICENCE).hash("SHA-256", digest))
}

#[cfg(test)]
mod tests;
