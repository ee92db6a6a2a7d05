//! What an emitter provides, and writing or checking its files.

use crate::model::Model;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A language that a library is generated for.
pub trait Language {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// The folder below `clients/` that contains generated files only.
    fn folder(&self) -> &'static str;
    /// The files of that folder.
    fn files(&self, model: &Model) -> Vec<File>;
}

/// A generated file.
pub struct File {
    /// Its name in the language's folder.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Writes the files of a language, and deletes files in its folder that are no longer generated.
pub fn write(clients: &Path, language: &dyn Language, model: &Model) -> Result<usize> {
    let folder = clients.join(language.folder());
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let files = language.files(model);
    for stale in present(&folder)?.difference(&files.iter().map(|it| it.name.clone()).collect()) {
        fs::remove_file(folder.join(stale)).with_context(|| format!("{stale} cannot be deleted"))?;
    }
    for file in &files {
        let path = folder.join(&file.name);
        fs::write(&path, &file.text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(files.len())
}

/// Fails if a file of the language is not what would be generated.
pub fn check(clients: &Path, language: &dyn Language, model: &Model) -> Result<()> {
    let folder = clients.join(language.folder());
    let files = language.files(model);
    let made: BTreeSet<String> = files.iter().map(|it| it.name.clone()).collect();
    let found = present(&folder)?;
    let mut stale: Vec<&String> = found.symmetric_difference(&made).collect();
    let differs = |name: &str, text: &str| fs::read_to_string(folder.join(name)).is_ok_and(|found| found != text);
    stale.extend(files.iter().filter(|it| differs(&it.name, &it.text)).map(|it| &it.name));
    if stale.is_empty() {
        return Ok(());
    }
    bail!(
        "clients/{} is not what the OpenAPI document generates: {stale:?}. Run `cargo xtask clients generate` and commit the result.",
        language.folder()
    )
}

fn present(folder: &Path) -> Result<BTreeSet<String>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(BTreeSet::new()) };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Python leaves compiled files beside its sources.
        if entry.file_type()?.is_file() && !name.starts_with('.') {
            names.insert(name);
        }
    }
    Ok(names)
}
