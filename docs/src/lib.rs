//! The documentation served below `/v1/docs`: pages rendered when this crate is built, and the few files they load.
//!
//! `build.rs` generates the pages from `openapi/openapi.json`, the guides in `guides/` and the constants of `shared`.
//!
//! The crate is a table of names, headers and ETags. The content of each file is an [`Asset`]: the build script writes it to the folder `assets`
//! of its output, from where the Worker's deployment takes it. The feature `bodies` also compiles all content in, for programs that have no
//! such folder.
//!
//! # Invariants
//!
//! - Pages are rendered at build time; nothing is read or rendered at run time. Every page is readable without scripts and loads nothing from
//!   other hosts.
//! - The page that verifies decisions never sends the pasted text. It trusts the service only for the signer registry, which can be pasted too.
//! - Only the worker that reads scores again may send requests to other hosts, and sends them to those that the user names.
#![no_std]

#[cfg(feature = "bodies")]
mod library;
#[cfg(feature = "bodies")]
pub use library::Library;

/// The content of a file, stored under a name that is its hash. Content that changes gets another name, so a table always matches its files.
#[derive(Debug)]
pub struct Asset {
    /// The SHA-256 of the content in hexadecimal.
    pub name: &'static str,
    /// Size of the content in bytes.
    pub size: usize,
}

/// A page, or a file that pages load.
#[derive(Debug)]
pub struct Document {
    /// Path below `/v1/docs/`; empty for the first page.
    pub name: &'static str,
    /// Title and summary of a page as Markdown; empty for other files.
    pub title: &'static str,
    pub about: &'static str,
    pub media_type: &'static str,
    /// Strong ETag.
    pub etag: &'static str,
    pub asset: Asset,
    /// `Cache-Control`: clients revalidate pages each time, but may cache files, because pages load files by URLs that contain a fingerprint.
    cache_control: &'static str,
    /// `Content-Security-Policy`.
    policy: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// The document with this name.
pub fn find(name: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.name == name)
}

/// The document with this name, or for a page and a client that prefers Markdown to HTML, the page's Markdown twin.
pub fn find_for(name: &str, prefers_markdown: bool) -> Option<&'static Document> {
    let document = find(name)?;
    if !prefers_markdown || !document.media_type.starts_with("text/html") {
        return Some(document);
    }
    let is_twin = |twin: &&Document| match twin.name.strip_suffix(".md") {
        Some("index") => name.is_empty(),
        page => page == Some(name),
    };
    DOCUMENTS.iter().find(is_twin).or(Some(document))
}

impl Document {
    /// The response headers besides `Content-Type`, also sent with a 304.
    pub fn headers(&self) -> [(&'static str, &'static str); 7] {
        [
            ("etag", self.etag),
            ("cache-control", self.cache_control),
            ("content-security-policy", self.policy),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        ]
    }
}
