//! `cargo xtask openapi` runs this: writes the document, checks the one that is committed, or makes it the last release's.

use anyhow::{Context, Result};
use clap::Parser;
use rds_openapi::committed;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes `openapi/openapi.json` from the route table and the types, or checks it.
///
/// Either way it refuses what would break a client of the last release (`openapi/released.json`), unless `openapi/breaks.json` says why.
#[derive(Parser)]
struct Options {
    /// Write nothing; fail when the committed document is not what the code makes.
    #[arg(long, conflicts_with = "release")]
    check: bool,
    /// Make this document the one that later ones are compared with. Breaks that were meant are forgotten: they are released.
    #[arg(long)]
    release: bool,
    /// Compare with this earlier document instead of the last release's.
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    against: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = committed::made(home)?;
    if options.check {
        committed::refuse_drift(home, &made)?;
    }
    if options.release {
        committed::release(home, &made)?;
        println!(
            "Version {} is what later documents are compared with.",
            made["info"]["version"].as_str().unwrap_or("?")
        );
    } else {
        let earlier = committed::earlier(&options.against.unwrap_or_else(|| home.join(committed::RELEASED)))?;
        for (it, reason) in committed::refuse_breaks(home, &earlier, &made)? {
            println!("meant: {it} ({reason})");
        }
    }
    if !options.check {
        let (path, text) = (home.join(committed::DOCUMENT), committed::text_of(&made));
        fs::write(&path, &text).with_context(|| format!("{} cannot be written", path.display()))?;
        println!("{}: {} bytes", path.display(), text.len());
    }
    Ok(())
}
