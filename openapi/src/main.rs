//! `cargo xtask openapi` runs this program: it writes the documents, checks the committed ones, or records a release.

use anyhow::{Context, Result};
use clap::Parser;
use rds_openapi::{committed, ingest};
use std::fs;
use std::path::{Path, PathBuf};

/// Write `openapi/openapi.json` from the route table and the types, and `openapi/ingest.json` from the facts, or check both.
///
/// Both fail on a change that would break a client of the last release (`openapi/released.json`), unless `openapi/breaks.json` gives a reason for it.
#[derive(Parser)]
struct Options {
    /// Write nothing; fail if a committed document differs from the generated one.
    #[arg(long, conflicts_with = "release")]
    check: bool,
    /// Record this document as the last release, which later documents are compared with, and delete `openapi/breaks.json`.
    #[arg(long)]
    release: bool,
    /// Compare with this earlier document instead of the last release.
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    against: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (made, lines) = (committed::made(home)?, ingest::document()?);
    if options.check {
        committed::refuse_drift(home, committed::DOCUMENT, &made)?;
        committed::refuse_drift(home, ingest::DOCUMENT, &lines)?;
    }
    if options.release {
        committed::release(home, &made)?;
        println!(
            "Version {} is recorded as the last release; later documents are compared with it.",
            made["info"]["version"].as_str().unwrap_or("?")
        );
    } else {
        let earlier = committed::earlier(&options.against.unwrap_or_else(|| home.join(committed::RELEASED)))?;
        for (it, reason) in committed::refuse_breaks(home, &earlier, &made)? {
            println!("intended break: {it} ({reason})");
        }
    }
    if !options.check {
        for (name, made) in [(committed::DOCUMENT, &made), (ingest::DOCUMENT, &lines)] {
            let (path, text) = (home.join(name), committed::text_of(made));
            fs::write(&path, &text).with_context(|| format!("{} cannot be written", path.display()))?;
            println!("{}: {} bytes", path.display(), text.len());
        }
    }
    Ok(())
}
