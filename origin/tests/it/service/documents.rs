//! The handbook documents every variable and command, and every path in a document exists.

use clap::CommandFactory;
use rds_origin::cli::Cli;
use std::collections::BTreeSet;
use std::path::Path;

const DEPLOY_GUIDE: &str = include_str!("../../../../docs/handbook/deploy.md");
const COMMANDS_GUIDE: &str = include_str!("../../../../docs/handbook/commands.md");
const ORIGIN_CONFIG_SOURCE: &str = include_str!("../../../src/config/variables.rs");
const WORKER_CONFIG_SOURCE: &str = include_str!("../../../../edge/src/config.rs");
const WRANGLER: &str = include_str!("../../../../wrangler.toml");

/// Texts in quotes or backquotes that look like variables.
fn variables(text: &str, quote: char) -> BTreeSet<&str> {
    text.split(quote)
        .filter(|word| word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
        .collect()
}

#[test]
fn the_handbook_names_every_variable_of_the_origin_and_no_other() {
    let (known, named) = (variables(ORIGIN_CONFIG_SOURCE, '"'), variables(DEPLOY_GUIDE, '`'));
    assert!(known.len() > 15, "{known:?}");
    assert_eq!(known.difference(&named).collect::<Vec<_>>(), Vec::<&&str>::new(), "not named");
    let mut ours = named.iter().filter(|name| name.starts_with("RDS_"));
    assert_eq!(ours.find(|name| !known.contains(**name)), None, "named, and nobody reads it");
}

#[test]
fn the_handbook_names_every_variable_of_the_worker_and_wrangler_sets_no_other() {
    let known: BTreeSet<&str> =
        WORKER_CONFIG_SOURCE.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next()).collect();
    assert!(known.len() > 8, "{known:?}");
    for name in &known {
        assert!(DEPLOY_GUIDE.contains(name), "{name} is not named");
    }
    let vars = WRANGLER.split("[vars]").nth(1).and_then(|text| text.split("\n[[").next()).unwrap();
    for line in vars.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')) {
        let name = line.split(" = ").next().unwrap();
        assert!(known.contains(name), "{name}");
    }
}

#[test]
fn the_handbook_names_every_command() {
    for verb in Cli::command().get_subcommands() {
        let name = verb.get_name();
        let named = COMMANDS_GUIDE.contains(&format!("`{name} ")) || COMMANDS_GUIDE.contains(&format!("`{name}`"));
        assert!(named, "{name}");
        let rows = COMMANDS_GUIDE.lines().filter(|line| line.starts_with('|') && line.contains(&format!("`{name} ")));
        let rows: String = rows.collect();
        for under in verb.get_subcommands().map(|under| under.get_name()) {
            assert!(rows.contains(under), "{name} {under}");
        }
    }
}

/// Paths of the repository that a text mentions in backquotes: those that begin with one of its folders.
fn paths(text: &str) -> BTreeSet<&str> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let quoted = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    let plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
    let ours = |word: &&str| {
        word.split_once('/').is_some_and(|(folder, _)| !folder.is_empty() && repository.join(folder).is_dir())
    };
    // These paths exist only after a build or an installation, or while a breaking change is prepared.
    let made = |word: &&str| {
        word.starts_with("target/")
            || word.split('/').any(|part| part == "build")
            || ["openapi/breaks.json", "deploy/.env", "deploy/secrets"].contains(word)
    };
    quoted.filter(|word| plain(word) && ours(word) && !word.starts_with('.') && !made(word)).collect()
}

/// Link targets relative to the text's folder.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://"))
}

#[test]
fn every_path_that_a_document_names_is_there() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (file, least) in [
        ("README.md", 8),
        ("ARCHITECTURE.md", 20),
        ("CONTRIBUTING.md", 8),
        ("origin/OPERATING.md", 1),
        ("docs/handbook/tour.md", 2),
        ("docs/handbook/deploy.md", 2),
        ("docs/handbook/self-hosted-edge.md", 2),
        ("deploy/README.md", 5),
        ("docs/handbook/backup.md", 1),
        ("docs/handbook/commands.md", 1),
        ("docs/handbook/cost.md", 1),
        ("docs/handbook/at-three.md", 20),
        ("docs/handbook/growth.md", 1),
        ("docs/handbook/sizing.md", 1),
    ] {
        let text = std::fs::read_to_string(repository.join(file)).unwrap();
        let text = text.split("```").step_by(2).collect::<String>();
        let named = paths(&text);
        assert!(named.len() + links(&text).count() >= least, "{file}: {named:?}");
        let missing: Vec<_> = named.iter().filter(|path| !repository.join(path).exists()).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
        let folder = repository.join(file);
        let broken: Vec<_> = links(&text).filter(|link| !folder.parent().unwrap().join(link).exists()).collect();
        assert!(broken.is_empty(), "{file}: {broken:?}");
    }
    assert_eq!(paths("`shared/src/no.rs` `a/b`").len(), 1);
    assert_eq!(links("[x](../no.md#y) [z](https://a.example) [w](#here)").collect::<Vec<_>>(), ["../no.md"]);
}

/// The anchors of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    headings
        .map(|heading| {
            let kept = heading.to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
        })
        .collect()
}

#[test]
fn every_section_that_a_link_names_is_there() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut followed = 0;
    for file in ["README.md", "origin/OPERATING.md", "docs/handbook/deploy.md", "docs/handbook/at-three.md"] {
        let path = repository.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let targets =
            text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|it| !it.contains("://"));
        for (target, anchor) in targets.filter_map(|target| target.split_once('#')) {
            let named = if target.is_empty() { path.clone() } else { path.parent().unwrap().join(target) };
            assert!(anchors(&std::fs::read_to_string(&named).unwrap()).contains(anchor), "{file}: {target}#{anchor}");
            followed += 1;
        }
    }
    assert!(followed > 60, "{followed}");
    assert_eq!(anchors("# A key's day\n\nx\n### Two, three\n"), ["a-keys-day", "two-three"].map(String::from).into());
}
