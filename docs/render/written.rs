//! Files that begin with a head: lines `title`, `about` and optionally `scripts`, and an empty line before the content.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

/// A file, split into head and content.
pub struct Written {
    /// Name of the file without its extension.
    pub name: String,
    pub title: String,
    /// Summary in one sentence.
    pub about: String,
    /// Scripts of the page, besides those of every page.
    pub scripts: Vec<String>,
    pub content: String,
}

/// The files of a folder, by name.
pub fn read(folder: &Path) -> Result<Vec<Written>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a file's name is not UTF-8")?.to_owned();
        let text = fs::read_to_string(&path)?;
        let (head, content) =
            text.split_once("\n\n").ok_or_else(|| format!("{name}: there must be an empty line after the head"))?;
        let head: BTreeMap<&str, &str> = head.lines().filter_map(|line| line.split_once(": ")).collect();
        let required = |key: &str| head.get(key).copied().ok_or_else(|| format!("{name}: the head has no `{key}`"));
        files.push(Written {
            title: required("title")?.to_owned(),
            about: required("about")?.to_owned(),
            scripts: head
                .get("scripts")
                .into_iter()
                .flat_map(|list| list.split_whitespace())
                .map(str::to_owned)
                .collect(),
            content: content.to_owned(),
            name,
        });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}
