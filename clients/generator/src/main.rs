//! `cargo xtask clients` runs this program: it writes the generated parts of the client libraries, or checks the committed ones.

use anyhow::{Context, Result, bail};
use clap::Parser;
use rds_clients::catalogue::Catalogue;
use rds_clients::released::{RELEASED, breaks};
use rds_clients::{emitters, language, read};
use std::fs;
use std::path::Path;

/// Write the generated parts of the client libraries from `openapi/openapi.json`, or check them.
#[derive(Parser)]
struct Options {
    /// Write nothing; fail if a committed file differs from the generated one.
    #[arg(long)]
    check: bool,
    /// Also record what the libraries offer as that of the last release, with which later ones are compared.
    #[arg(long, conflicts_with = "check")]
    release: bool,
    /// Only this language.
    #[arg(long, value_name = "NAME")]
    language: Option<String>,
    /// Print every method as `resource.method VERB path`, and write nothing.
    #[arg(long)]
    list: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the crate lies in clients/")?;
    let document = clients.join("../openapi").join(rds_openapi::committed::DOCUMENT);
    let text = fs::read_to_string(&document).with_context(|| format!("{} cannot be read", document.display()))?;
    let model = read::model(&serde_json::from_str(&text).context("the OpenAPI document is not JSON")?)?;
    if options.list {
        for resource in &model.resources {
            for it in &resource.operations {
                println!("{}.{} {} {}", resource.name.join("_"), it.name.join("_"), it.verb, it.path);
            }
        }
        return Ok(());
    }
    let offered = Catalogue::of(&model);
    let released = clients.join(RELEASED);
    if options.release {
        fs::write(&released, format!("{offered:#}\n"))
            .with_context(|| format!("{} cannot be written", released.display()))?;
    }
    let text = fs::read_to_string(&released).with_context(|| format!("{} cannot be read", released.display()))?;
    let breaks = breaks(&serde_json::from_str(&text).context("the list of the last release is not JSON")?, &offered);
    if !breaks.is_empty() {
        bail!("users of the last release's libraries would be broken:\n  {}", breaks.join("\n  "));
    }
    let chosen = |name: &str| options.language.as_deref().is_none_or(|only| only == name);
    for it in emitters::all().into_iter().filter(|it| chosen(it.name())) {
        if options.check {
            language::check(clients, it.as_ref(), &model)?;
            println!("{}: up to date", it.name());
        } else {
            println!("{}: {} files", it.name(), language::write(clients, it.as_ref(), &model)?);
        }
    }
    Ok(())
}
