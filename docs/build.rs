//! Renders the documentation into `OUT_DIR`: the table that `src/lib.rs` includes, and the folder `assets` with the content of each file.

#[path = "render/mod.rs"]
mod render;

use rds_shared::wire::etag::EtagBuilder;
use std::error::Error;
use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let contract = here.join("../openapi/openapi.json");
    let shown = here.join("../explorer/shown.json");
    for input in ["build.rs", "render", "guides", "pages", "assets", "snippets"].map(|name| here.join(name)) {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    println!("cargo::rerun-if-changed={}", contract.display());
    println!("cargo::rerun-if-changed={}", shown.display());
    println!("cargo::rerun-if-changed={}", here.join(render::ingest::SCHEMAS).display());
    // Watch the parent of the verifier's build folder, because that folder may be missing. Cargo runs this script in every build if a watched
    // path is missing.
    println!("cargo::rerun-if-changed={}", here.join("../shared/verifier").display());
    let contract = fs::read_to_string(&contract)?;
    let documents = render::site(&here, &contract, &fs::read_to_string(&shown)?)?;
    let mut assets = Assets::empty(out.join("assets"))?;
    let mut table = String::from("/// Every document.\npub static DOCUMENTS: &[Document] = &[\n");
    for document in &documents {
        let asset = assets.add(&document.body)?;
        writeln!(table, "    {},", entry(document, &asset))?;
    }
    table.push_str("];\n");
    let asset = assets.add(contract.as_bytes())?;
    writeln!(table, "/// The OpenAPI document, byte for byte as committed.\npub static OPENAPI: Asset = {asset};")?;
    let etag = EtagBuilder::of(contract.as_bytes()).strong();
    writeln!(table, "/// Strong ETag of the OpenAPI document.\npub const OPENAPI_ETAG: &str = {etag:?};")?;
    fs::write(out.join("documents.rs"), table)?;
    if env::var_os("CARGO_FEATURE_BODIES").is_some() {
        fs::write(out.join("places.rs"), assets.places()?)?;
        fs::write(out.join("packed"), zstd::bulk::compress(&assets.all, LEVEL)?)?;
    }
    Ok(())
}

/// The zstd compression level: the highest that does not need more memory for decompression.
const LEVEL: i32 = 19;

/// The folder of assets, and their content one after the other.
struct Assets {
    folder: PathBuf,
    all: Vec<u8>,
    /// Names, and positions in `all`.
    places: Vec<(String, Range<usize>)>,
}

impl Assets {
    /// Empties the folder, which contains the assets of the previous run.
    fn empty(folder: PathBuf) -> io::Result<Self> {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&folder)?,
        }
        Ok(Self { folder, all: Vec::new(), places: Vec::new() })
    }

    /// Writes an asset, and returns it as an expression for the table.
    fn add(&mut self, content: &[u8]) -> io::Result<String> {
        let name = render::hash(content);
        fs::write(self.folder.join(&name), content)?;
        let asset = format!("Asset {{ name: {name:?}, size: {} }}", content.len());
        let begins = self.all.len();
        self.all.extend_from_slice(content);
        self.places.push((name, begins..self.all.len()));
        Ok(asset)
    }

    /// The table of positions.
    fn places(&self) -> Result<String, std::fmt::Error> {
        let mut table = format!("/// Size of all content in bytes.\nconst UNPACKED: usize = {};\n", self.all.len());
        table.push_str(
            "/// Names, and positions in the unpacked library.\nstatic PLACES: &[(&str, Range<usize>)] = &[\n",
        );
        for place in &self.places {
            writeln!(table, "    {place:?},")?;
        }
        table.push_str("];\n");
        Ok(table)
    }
}

/// The table entry of a document.
fn entry(document: &render::Document, asset: &str) -> String {
    format!(
        "Document {{ name: {:?}, title: {:?}, about: {:?}, media_type: {:?}, etag: {:?}, asset: {asset}, cache_control: {:?}, policy: {:?} }}",
        document.name,
        document.title,
        document.about,
        document.media_type,
        format!("\"{}\"", document.fingerprint()),
        document.cache_control(),
        document.policy()
    )
}
