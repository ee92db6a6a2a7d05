//! The content of the documents: crates, licences, hashes and tools.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::*;

static TEXTS: LazyLock<[String; 3]> = LazyLock::new(texts);
static WRITTEN: LazyLock<[Value; 3]> =
    LazyLock::new(|| TEXTS.each_ref().map(|text| serde_json::from_str(text).unwrap()));

fn texts() -> [String; 3] {
    documents(&compilers(), &Contained::default()).unwrap().map(|(_, document)| document.to_json().unwrap())
}

fn compilers() -> Compilers {
    Compilers::installed("rustc 1.90.0 (of a test)").unwrap()
}

fn origin() -> &'static Value {
    &WRITTEN[0]
}

fn edge() -> &'static Value {
    &WRITTEN[1]
}

fn pages() -> &'static Value {
    &WRITTEN[2]
}

/// Components with this scope.
fn components<'a>(document: &'a Value, scope: &str) -> Vec<&'a Value> {
    document["components"].as_array().unwrap().iter().filter(|component| component["scope"] == scope).collect()
}

fn names<'a>(components: &[&'a Value]) -> BTreeSet<&'a str> {
    components.iter().map(|component| component["name"].as_str().unwrap()).collect()
}

/// The packages that `cargo tree` lists for a package, as `name version`.
fn tree(package: &str, target: &str, edges: &str) -> BTreeSet<String> {
    let mut cargo = workspace::cargo();
    cargo.args(["tree", "--locked", "--prefix", "none", "--format", "{p}", "--package", package]);
    let listed = command::output(cargo.args(["--target", target, "--edges", edges])).unwrap();
    listed.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
}

fn crates(document: &Value) -> BTreeSet<String> {
    let all = document["components"].as_array().unwrap().iter().chain([&document["metadata"]["component"]]);
    let crates = all.filter(|component| component["type"] != "file");
    crates.map(|it| format!("{} v{}", it["name"].as_str().unwrap(), it["version"].as_str().unwrap())).collect()
}

#[test]
fn every_compiled_crate_is_listed_and_no_development_dependency() {
    let (wasm, host) = (Target::Wasm.triple(), compilers().host);
    let verifier = tree("rds-verifier", wasm, "normal,build");
    for (document, package, target) in [(origin(), "rds-origin", &*host), (edge(), "rds-edge", wasm)] {
        let (listed, built) = (crates(document), tree(package, target, "normal,build"));
        let compiled: BTreeSet<_> = built.union(&verifier).cloned().collect();
        assert!(compiled.is_subset(&listed), "{package}: {:?}", compiled.difference(&listed));
        let beside: BTreeSet<_> = listed.difference(&compiled).map(|it| it.split(' ').next().unwrap()).collect();
        let scripts = BTreeSet::from(["rust-std", "wasm-bindgen-cli-support"]);
        assert!(beside.is_subset(&scripts), "{package}: {beside:?}");
        let development = &tree(package, target, "all") - &compiled;
        assert!(development.iter().any(|it| it.starts_with("proptest ")), "{package}");
        assert!(development.is_disjoint(&listed), "{package}");
    }
}

#[test]
fn build_dependencies_are_excluded_from_the_product() {
    let (contained, build_only) = (names(&components(origin(), "required")), names(&components(origin(), "excluded")));
    for name in ["axum", "sqlx", "ring", "rds-shared", "rust-std"] {
        assert!(contained.contains(name), "{name}");
    }
    for name in ["zstd-sys", "pulldown-cmark", "serde_derive", "cc"] {
        assert!(build_only.contains(name) && !contained.contains(name), "{name}");
    }
    let in_the_bundle = names(&components(edge(), "required"));
    assert!(in_the_bundle.contains("worker") && in_the_bundle.contains("edge/entry.mjs"));
    assert!(!in_the_bundle.contains("tokio-rustls"), "the bundle contains no TLS implementation");
}

#[test]
fn every_component_has_a_licence_and_every_published_one_a_package_url_and_a_hash() {
    for document in &*WRITTEN {
        let tools = document["formulation"][0]["components"].as_array().unwrap();
        for component in document["components"].as_array().unwrap().iter().chain(tools) {
            let name = component["name"].as_str().unwrap();
            let licence = component["licenses"][0]["expression"].as_str().unwrap();
            assert!(!licence.is_empty() && !licence.contains('/'), "{name}: {licence}");
            let hash = component["hashes"][0]["content"].as_str().unwrap_or_default();
            assert!(hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
            let digits = match component["purl"].as_str() {
                Some(purl) if purl.starts_with("pkg:npm/") => 128,
                Some(purl) => {
                    assert!(purl.starts_with("pkg:cargo/") && !purl.contains('+'), "{purl}");
                    64
                }
                None if component["type"] == "file" => 64,
                None => {
                    assert!(name.starts_with("rds-") || name.starts_with("rust"), "{name} has no package URL");
                    0
                }
            };
            assert_eq!(hash.len(), digits, "{name}");
        }
    }
}

#[test]
fn the_tools_of_the_bundle_have_the_locked_versions() {
    let tools = edge()["formulation"][0]["components"].as_array().unwrap();
    let contained = components(edge(), "required");
    let versions: BTreeSet<_> = tools.iter().chain(contained).filter_map(|it| it["purl"].as_str()).collect();
    assert!(tools.iter().any(|tool| tool["name"] == "rds-bindgen"));
    let bindgen = format!("pkg:cargo/wasm-bindgen-cli-support@{}", workspace::locked_version("wasm-bindgen").unwrap());
    assert!(versions.contains(&*bindgen), "{bindgen}: {versions:?}");
    for program in ["pkg:npm/binaryen@", "pkg:npm/%40esbuild/linux-x64@", "pkg:npm/%40esbuild/linux-arm64@"] {
        assert!(versions.iter().any(|purl| purl.starts_with(program)), "{program}: {versions:?}");
    }
}

#[test]
fn the_pages_contain_their_files_and_the_verifier() {
    let contained = components(pages(), "required");
    let files: BTreeSet<_> = page_files().unwrap().into_iter().collect();
    for asset in ["docs/assets/site.css", "docs/pages/verify.html", "docs/guides/decisions.md", "openapi/openapi.json"]
    {
        assert!(files.contains(Path::new(asset)), "{asset}");
    }
    let listed: BTreeSet<_> =
        contained.iter().filter(|it| it["type"] == "file").map(|it| Path::new(it["name"].as_str().unwrap())).collect();
    assert_eq!(listed, files.iter().map(PathBuf::as_path).collect());
    // Neither the tools that render the pages nor the code that decompresses them at run time is part of the pages.
    let names = names(&contained);
    assert!(names.contains("rds-verifier") && names.contains("k256") && names.contains("wasm-bindgen"));
    assert!(!names.contains("pulldown-cmark") && !names.contains("zstd-sys"));
    assert!(!crates(pages()).iter().any(|name| name.starts_with("ruzstd ") || name.starts_with("tokio ")));
}

#[test]
fn references_are_unique_and_every_component_is_reachable() {
    for document in &*WRITTEN {
        let product = document["metadata"]["component"]["bom-ref"].as_str().unwrap();
        let tools = document["formulation"][0]["components"].as_array().unwrap();
        let components = document["components"].as_array().unwrap();
        let all: Vec<_> =
            components.iter().chain(tools).map(|it| it["bom-ref"].as_str().unwrap()).chain([product]).collect();
        let unique: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(all.len(), unique.len(), "a reference belongs to two components");
        let dependencies = document["dependencies"].as_array().unwrap();
        let of = |reference: &str| {
            let found = dependencies.iter().find(|it| it["ref"] == reference).unwrap_or_else(|| panic!("{reference}"));
            found["dependsOn"].as_array().unwrap().iter().map(|it| it.as_str().unwrap())
        };
        let (mut reached, mut next) = (BTreeSet::new(), vec![product]);
        while let Some(reference) = next.pop() {
            if reached.insert(reference) {
                next.extend(of(reference));
            }
        }
        assert_eq!(reached.len(), components.len() + 1, "{:?}", unique.difference(&reached));
    }
}

#[test]
fn the_documents_are_reproducible_and_contain_no_local_paths() {
    assert!(texts() == *TEXTS);
    for text in &*TEXTS {
        assert!(!text.contains(workspace::root().to_str().unwrap()));
    }
    let serials: BTreeSet<_> = WRITTEN.iter().map(|document| document["serialNumber"].as_str().unwrap()).collect();
    assert_eq!(serials.len(), 3);
}
