//! Generates the JavaScript of a wasm module with wasm-bindgen's library.
//!
//! It replaces the program `wasm-bindgen` of the package `wasm-bindgen-cli`, and its output is the same. It accepts only the options that
//! `cargo xtask` passes. The package also contains a test runner with an HTTP server, an HTTP client and TLS; compiling it takes five
//! times as long.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.into_string());
    let outcome = arguments.collect::<Result<Vec<_>, _>>().map_err(|_| anyhow!("an argument is not UTF-8"));
    match outcome.and_then(|arguments| generate(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the arguments `MODULE --target web|module --out-dir DIR [options]` and writes the output. An option's value follows after a space
/// or `=`.
fn generate(arguments: &[String]) -> Result<()> {
    let mut bindgen = Bindgen::new();
    // Defaults of the program `wasm-bindgen` that differ from the library's.
    bindgen.typescript(true).omit_default_module_path(false);
    let (mut module, mut folder, mut target) = (None, None, None);
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let (option, joined) =
            argument.split_once('=').map_or((argument, None), |(option, value)| (option, Some(value)));
        let mut value = || joined.or_else(|| rest.next()).with_context(|| format!("{option} needs a value"));
        match option {
            "--target" => target = Some(value()?),
            "--out-dir" => folder = Some(PathBuf::from(value()?)),
            "--out-name" => {
                bindgen.out_name(value()?);
            }
            _ if option.starts_with('-') && joined.is_some() => bail!("unknown option {option}, or it takes no value"),
            "--no-typescript" => {
                bindgen.typescript(false);
            }
            "--experimental-reset-state-function" => {
                bindgen.reset_state_function(true);
            }
            "--force-enable-abort-handler" => {
                bindgen.force_enable_abort_handler(true);
            }
            _ if option.starts_with('-') => bail!("unknown option {option}"),
            _ if module.is_some() => bail!("more than one module"),
            _ => module = Some(PathBuf::from(argument)),
        }
    }
    match target.context("--target is missing")? {
        "web" => bindgen.web(true)?,
        "module" => bindgen.module(true)?,
        other => bail!("unknown target {other}"),
    };
    bindgen.input_path(module.context("the module is missing")?);
    bindgen.generate(folder.context("--out-dir is missing")?)
}
