//! Renders the documentation into `OUT_DIR`, where `src/lib.rs` includes it.

#[path = "render/mod.rs"]
mod render;

use std::error::Error;
use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let contract = here.join("../openapi/openapi.json");
    for input in ["build.rs", "render", "guides", "pages", "assets", "snippets"].map(|name| here.join(name)) {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    println!("cargo::rerun-if-changed={}", contract.display());
    // Watch the parent of the verifier's build folder, because that folder may be missing. Cargo runs this script in every build if a watched
    // path is missing.
    println!("cargo::rerun-if-changed={}", here.join("../shared/verifier").display());
    let contract = fs::read_to_string(&contract)?;
    let documents = render::site(&here, &contract)?;
    let mut table = String::from("/// Every document.\npub static DOCUMENTS: &[Document] = &[\n");
    let mut all = Vec::new();
    for document in &documents {
        let begins = all.len();
        all.extend_from_slice(&document.body);
        writeln!(table, "    {},", entry(document, begins..all.len()))?;
    }
    table.push_str("];\n");
    let begins = all.len();
    all.extend_from_slice(contract.as_bytes());
    writeln!(
        table,
        "/// Position of the OpenAPI document in the unpacked library.\nconst CONTRACT: Range<usize> = {begins}..{};",
        all.len()
    )?;
    writeln!(table, "/// Size of the unpacked library in bytes.\nconst UNPACKED: usize = {};", all.len())?;
    fs::write(out.join("packed"), zstd::bulk::compress(&all, LEVEL)?)?;
    fs::write(out.join("documents.rs"), table)?;
    Ok(())
}

/// The zstd compression level: the highest that does not need more memory for decompression.
const LEVEL: i32 = 19;

/// The table entry of a document.
fn entry(document: &render::Document, place: Range<usize>) -> String {
    format!(
        "Document {{ name: {:?}, media_type: {:?}, etag: {:?}, place: {:?}, cache_control: {:?}, policy: {:?} }}",
        document.name,
        document.media_type,
        format!("\"{}\"", document.fingerprint()),
        place,
        document.cache_control(),
        document.policy()
    )
}
