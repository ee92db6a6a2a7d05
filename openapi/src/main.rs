//! `cargo xtask openapi` runs this: writes the document, or checks the one that is committed.

use anyhow::{Context, Result, bail};
use clap::Parser;
use rds_openapi::compatibility::{self, Allowed};
use rds_openapi::document::document;
use rds_openapi::examples::Examples;
use rds_openapi::text;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes `openapi/openapi.json` from the route table and the types, or checks it.
///
/// Either way it refuses what would break a client of the document as it was committed last, unless `openapi/breaks.json` says why.
#[derive(Parser)]
struct Options {
    /// Write nothing; fail when the committed document is not what the code makes.
    #[arg(long)]
    check: bool,
    /// Compare with this earlier document instead of the last commit's.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = document(&Examples::read(&home.join("examples"))?);
    let earlier = match &options.against {
        Some(file) => Some(fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?),
        None => committed(home),
    };
    match earlier {
        Some(text) => {
            let earlier: Value = serde_json::from_str(&text).context("the earlier document is not JSON")?;
            refuse_breaks(&earlier, &made, &Allowed::read(&home.join("breaks.json"))?)?;
        }
        None => println!("There is no earlier document to compare with."),
    }
    let path = home.join("openapi.json");
    let text = text::write(&made);
    if !options.check {
        fs::write(&path, &text)?;
        println!("{}: {} bytes", path.display(), text.len());
        return Ok(());
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    if let Some((line, was, is)) = first_difference(&found, &text) {
        bail!(
            "openapi/openapi.json is not what the code makes. Line {line}:\n  - {was}\n  + {is}\nRun `cargo xtask openapi` and commit it."
        );
    }
    Ok(())
}

/// The document of the last commit; none where git or the commit knows of none.
fn committed(home: &Path) -> Option<String> {
    let shown = Command::new("git").current_dir(home).args(["show", "HEAD:./openapi.json"]).output().ok()?;
    shown.status.success().then(|| String::from_utf8(shown.stdout).ok()).flatten()
}

/// The first line that differs, with both texts.
fn first_difference<'a>(was: &'a str, is: &'a str) -> Option<(usize, &'a str, &'a str)> {
    if was == is {
        return None;
    }
    let lines =
        was.lines().map(Some).chain(std::iter::repeat(None)).zip(is.lines().map(Some).chain(std::iter::once(None)));
    let differing = lines.enumerate().find(|(_, (was, is))| was != is);
    let (place, (was, is)) = differing.unwrap_or_default();
    Some((place + 1, was.unwrap_or("(the end)"), is.unwrap_or("(the end)")))
}

fn refuse_breaks(earlier: &Value, made: &Value, allowed: &Allowed) -> Result<()> {
    let breaks = compatibility::breaks(earlier, made);
    let (meant, refused): (Vec<_>, Vec<_>) = breaks.into_iter().partition(|it| allowed.reason(it).is_some());
    for it in &meant {
        println!("meant: {it} ({})", allowed.reason(it).unwrap_or_default());
    }
    if refused.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = refused.iter().map(|it| format!("  {it}")).collect();
    bail!(
        "{} changes would break a client of the earlier document:\n{}\nWhat is meant goes into openapi/breaks.json, with its reason.",
        refused.len(),
        lines.join("\n")
    )
}
