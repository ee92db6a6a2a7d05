//! Renders the documentation into `OUT_DIR`, where `src/lib.rs` includes it.

#[path = "render/mod.rs"]
mod render;

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let contract = here.join("../openapi/openapi.json");
    for input in ["build.rs", "render", "guides", "pages", "assets", "snippets"].map(|name| here.join(name)) {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    println!("cargo::rerun-if-changed={}", contract.display());
    // The folder around the verifier's build: a path that is not there would make cargo build this each time.
    println!("cargo::rerun-if-changed={}", here.join("../shared/verifier").display());
    let documents = render::site(&here, &fs::read_to_string(&contract)?)?;
    let mut table = String::from("/// Every document.\npub static DOCUMENTS: &[Document] = &[\n");
    for (number, document) in documents.iter().enumerate() {
        let file = out.join(format!("document-{number}"));
        fs::write(&file, &document.body)?;
        writeln!(table, "    {},", entry(document, &file))?;
    }
    table.push_str("];\n");
    fs::write(out.join("documents.rs"), table)?;
    Ok(())
}

/// A document as an entry of the table.
fn entry(document: &render::Document, file: &Path) -> String {
    format!(
        "Document {{ name: {:?}, media_type: {:?}, etag: {:?}, body: include_bytes!({:?}), cache_control: {:?}, policy: {:?} }}",
        document.name,
        document.media_type,
        format!("\"{}\"", document.fingerprint()),
        file,
        document.cache_control(),
        document.policy()
    )
}
