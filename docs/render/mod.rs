//! Renders the documentation from the OpenAPI document, the guides, and the service's constants.

mod content_security_policy;
mod contract;
mod evidence;
mod examples;
mod facts;
mod index;
pub mod ingest;
mod layout;
mod markdown;
mod methodology;
mod reference;
mod schema;
mod twin;
mod written;

use contract::Contract;
use layout::{Page, Site};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

/// A rendered document.
pub struct Document {
    /// Path below `/v1/docs/`.
    pub name: String,
    pub media_type: &'static str,
    pub body: Vec<u8>,
    /// Title and summary; empty for files that are no text for readers.
    pub title: String,
    pub about: String,
}

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// Name of the page that is shown for a missing one.
const NOT_FOUND: &str = "not-found";

impl Document {
    /// A document without title and summary.
    fn file(name: String, media_type: &'static str, body: Vec<u8>) -> Self {
        Document { name, media_type, body, title: String::new(), about: String::new() }
    }

    /// Hash of the content, for the ETag and for the URLs by which pages load files.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.body)
    }

    /// Clients revalidate pages and schemas each time. Pages load files by URLs that contain a fingerprint, so clients may cache files for an hour.
    pub fn cache_control(&self) -> &'static str {
        match self.media_type {
            HTML | MARKDOWN | "text/plain; charset=utf-8" | ingest::MEDIA_TYPE => "public, max-age=0, must-revalidate",
            _ => "public, max-age=3600",
        }
    }

    /// The content-security policy.
    pub fn policy(&self) -> &'static str {
        content_security_policy::of(&self.name)
    }
}

/// The SHA-256 in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first 24 digits of the hash.
fn fingerprint(bytes: &[u8]) -> String {
    hash(bytes).chars().take(24).collect()
}

/// Every document of the site. `here` is this crate's folder, `contract` the OpenAPI document, `shown` the explorer's table of operations.
pub fn site(here: &Path, contract: &str, shown: &str) -> Result<Vec<Document>, Box<dyn Error>> {
    let contract = Contract::read(contract, shown)?;
    let mut documents = assets(&here.join("assets"))?;
    documents.extend(verifier(&here.join("../shared/verifier/build"))?);
    documents.extend(ingest::files(here)?);
    let files: BTreeMap<String, String> =
        documents.iter().map(|file| (file.name.clone(), file.fingerprint())).collect();
    let guides = markdown::guides(here, &contract)?;
    let mut pages: Vec<Page> = guides.iter().map(|guide| guide.page()).collect();
    pages.extend(layout::written(&here.join("pages"))?);
    pages.push(reference::overview(&contract));
    pages.extend(contract.families().iter().map(|family| reference::family(&contract, family)));
    let site = Site::new(&files, &contract, &pages);
    // The first pages are those of the guides.
    let twins =
        guides.iter().zip(&pages).map(|(guide, page)| if guide.has_html() { twin::of(page) } else { guide.source() });
    documents.extend(twins);
    // The page about a missing page is no page of its own.
    let others =
        || pages.iter().filter(|page| page.name != NOT_FOUND && guides.iter().all(|guide| guide.name != page.name));
    documents.extend(others().map(twin::of));
    documents.push(index::llms(&contract, &guides, others()));
    for page in &pages {
        documents.push(Document::file(page.name.clone(), HTML, site.html(page)?.into_bytes()));
    }
    Ok(documents)
}

/// Reads the files that pages load. A file's extension determines its media type.
fn assets(folder: &Path) -> Result<Vec<Document>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a file's name is not UTF-8")?.to_owned();
        let media_type = match path.extension().and_then(|extension| extension.to_str()) {
            Some("css") => "text/css; charset=utf-8",
            Some("js" | "mjs") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("wasm") => "application/wasm",
            _ => return Err(format!("{name}: files with this extension are not served").into()),
        };
        files.push(Document::file(name, media_type, fs::read(&path)?));
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// The verifier's files. If the verifier has not been built, there are none, and the page `verify` says so.
fn verifier(folder: &Path) -> Result<Vec<Document>, Box<dyn Error>> {
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    const FILES: [(&str, &str); 3] =
        [("rds_verifier.js", SCRIPT), ("read-again.js", SCRIPT), ("rds_verifier_bg.wasm", "application/wasm")];
    if !FILES.iter().all(|(name, _)| folder.join(name).is_file()) {
        return Ok(Vec::new());
    }
    let file = |(name, media_type): (&str, &'static str)| {
        Ok(Document::file(name.to_owned(), media_type, fs::read(folder.join(name))?))
    };
    FILES.into_iter().map(file).collect()
}

/// Escapes text for HTML elements and quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// The attributes of a scrollable box: reachable with the keyboard, and labelled for screen readers.
fn scrolling(name: &str) -> String {
    format!("tabindex=\"0\" role=\"group\" aria-label=\"{}\"", escape(name))
}

/// A text with line-break opportunities after each slash, underscore and dot.
fn breakable(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        out.push_str(&escape(&c.to_string()));
        if matches!(c, '/' | '_' | '.') && !out.is_empty() {
            out.push_str("<wbr>");
        }
    }
    out
}

/// A text as part of a URL: lower-case words joined by hyphens.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}
