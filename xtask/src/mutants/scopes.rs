//! What is mutated, and which tests judge it: the scopes of `cargo xtask mutants`, as data.
//!
//! A judge is a set of files together with the tests that decide whether a mutant of these files is caught. It names the tests that are
//! written for its files, so that a mutant costs seconds. A mutant that other tests would catch still counts as missed: the figures
//! understate, and never overstate.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::workspace::{self, collect};

/// A part of the code with one bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// The domain crate.
    Shared,
    /// The parts of the edge that decide and are plain Rust.
    Edge,
    /// The parts of the origin that decide.
    Origin,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Shared, Self::Edge, Self::Origin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Edge => "edge",
            Self::Origin => "origin",
        }
    }

    /// The percentage of viable mutants that the tests must catch.
    pub fn bar(self) -> u32 {
        match self {
            Self::Shared | Self::Edge => 95,
            Self::Origin => 85,
        }
    }

    pub fn judges(self) -> &'static [Judge] {
        match self {
            Self::Shared => SHARED,
            Self::Edge => EDGE,
            Self::Origin => ORIGIN,
        }
    }
}

/// Files, and the tests that judge their mutants.
#[derive(Debug)]
pub struct Judge {
    /// The package that contains the files.
    pub package: &'static str,
    /// Paths from the root of the clone. One that ends in `/` means every file below it. The first judge of a scope that names a file has it.
    pub files: &'static [&'static str],
    /// Packages whose tests are run.
    pub test_packages: &'static [&'static str],
    /// Names of test programs, of which every test is run.
    pub whole: &'static [&'static str],
    /// Further test programs, as arguments of `cargo test`, of which the tests are run that `filters` chooses.
    pub filtered: &'static [&'static str],
    /// A test of `filtered` is run if its path contains one of these texts.
    pub filters: &'static [&'static str],
    /// Whether the tests need a Postgres.
    pub postgres: bool,
    /// Seconds that a mutant takes about, on one of two cores. The gate bounds its sample with it.
    pub seconds: u32,
}

impl Judge {
    pub fn has(&self, file: &str) -> bool {
        self.files.iter().any(|own| file == *own || (own.ends_with('/') && file.starts_with(own)))
    }
}

/// Folders of the packages whose integration tests judge.
const PACKAGES: [&str; 4] = ["shared", "shared/golden-wasm", "edge", "origin"];

/// The arguments for the test programs: the names of tests, of which each must contain one.
///
/// `cargo test` applies one filter to every program, so the tests of those that run whole are named one by one.
pub fn filters(judge: &Judge) -> Result<Vec<String>> {
    let mut filters: Vec<String> = judge.filters.iter().map(|text| (*text).to_owned()).collect();
    for program in judge.whole {
        filters.extend(program_tests(&workspace::root(), program)?);
    }
    Ok(filters)
}

/// The path of a file's module with which the names of its own tests begin; `None` if the file has no tests, or if its crate's own tests do not
/// judge it.
pub fn tested_module(judge: &Judge, file: &str) -> Option<String> {
    let source = std::fs::read_to_string(workspace::root().join(file)).ok()?;
    let path = file.split_once("/src/")?.1.strip_suffix(".rs")?;
    let module = path.strip_suffix("/mod").unwrap_or(path).replace('/', "::");
    (judge.filtered.contains(&"--lib") && source.contains("#[cfg(test)]")).then(|| format!("{module}::"))
}

/// The names of the tests in the sources of a test program.
fn program_tests(root: &Path, program: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for tests in PACKAGES.map(|package| root.join(package).join("tests")) {
        for path in [tests.join(format!("{program}.rs")), tests.join(program)] {
            if path.exists() {
                collect(&path, &mut files)?;
            }
        }
    }
    let mut names = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|it| it == "rs")) {
        names.extend(test_names(&std::fs::read_to_string(file)?));
    }
    Ok(names)
}

/// The names of the functions below a `#[test]` or `#[tokio::test]`.
fn test_names(source: &str) -> Vec<String> {
    let (mut names, mut is_test) = (Vec::new(), false);
    for line in source.lines().map(str::trim) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) else { continue };
        names.extend(rest.split_once('(').map(|(name, _)| name.to_owned()));
        is_test = false;
    }
    names
}

/// The judge of a file in a scope.
pub fn judge_of(scope: Scope, file: &str) -> Option<&'static Judge> {
    scope.judges().iter().find(|judge| judge.has(file))
}

const fn shared(
    files: &'static [&'static str],
    filters: &'static [&'static str],
    whole: &'static [&'static str],
) -> Judge {
    Judge {
        package: "rds-shared",
        files,
        test_packages: &["rds-shared"],
        whole,
        filtered: &["--lib"],
        filters,
        postgres: false,
        seconds: 8,
    }
}

const SHARED: &[Judge] = &[
    shared(&["shared/src/rules/baskets/"], &["rules::"], &["basket_properties"]),
    Judge {
        test_packages: &["rds-shared", "rds-golden"],
        seconds: 12,
        ..shared(
            &["shared/src/rules/dwell.rs", "shared/src/rules/tiers.rs"],
            &["rules::"],
            &["golden", "scoring_publication_properties"],
        )
    },
    shared(&["shared/src/rules/"], &["rules::"], &[]),
    shared(&["shared/src/push/"], &["push::"], &["push_breaker", "push_targets", "push_vectors"]),
    shared(&["shared/src/access/"], &["access::"], &["link_vectors"]),
    Judge {
        test_packages: &["rds-shared", "rds-golden"],
        seconds: 20,
        ..shared(
            &["shared/src/scoring/"],
            &["scoring::", "rules::"],
            &[
                "golden",
                "scoring_asset_properties",
                "scoring_publication_properties",
                "scoring_published",
                "scoring_ranges",
                "scoring_rubric",
                "scoring_rubric_properties",
                "scoring_vault_properties",
            ],
        )
    },
    shared(&["shared/src/replica/"], &["replica::", "read_model::"], &[]),
    shared(&["shared/src/read_model/"], &["read_model::", "replica::", "model::"], &[]),
    shared(&["shared/src/graph/"], &["graph::"], &["check_properties", "decision_properties", "look_through"]),
    shared(&["shared/src/select/"], &["select::"], &["select_memory", "select_oracle", "select_updates"]),
    shared(&["shared/src/research/"], &["research::"], &["research_properties"]),
    shared(&["shared/src/route/"], &["route::"], &[]),
    shared(&["shared/src/model/"], &["model::"], &[]),
    shared(&["shared/src/wire/"], &["wire::", "route::"], &[]),
    shared(&["shared/src/pace.rs", "shared/src/schema.rs"], &["pace::", "schema::"], &[]),
];

const fn edge(files: &'static [&'static str], whole: &'static [&'static str]) -> Judge {
    Judge {
        package: "rds-edge",
        files,
        test_packages: &["rds-edge"],
        whole,
        filtered: &["--lib"],
        filters: &["::"],
        postgres: false,
        seconds: 20,
    }
}

/// Without `store.rs`, `object.rs` and `disk.rs`: these are shells around the runtime's objects, which only the suite on workerd runs.
const EDGE: &[Judge] = &[
    edge(
        &[
            "edge/src/guard/addresses/denials.rs",
            "edge/src/guard/addresses/fallback_limiter.rs",
            "edge/src/guard/addresses/state.rs",
            "edge/src/guard/keys/isolate_reservations.rs",
            "edge/src/guard/keys/ledger.rs",
            "edge/src/guard/keys/object_reservations.rs",
            "edge/src/guard/keys/record.rs",
            "edge/src/guard/keys/state.rs",
            "edge/src/guard/keys/subclient.rs",
            "edge/src/guard/keys/uncharged_requests.rs",
            "edge/src/guard/keys/usage_batches.rs",
            "edge/src/guard/known_keys/state.rs",
            "edge/src/guard/objects/message.rs",
            "edge/src/guard/objects/semaphore.rs",
            "edge/src/guard/objects/single_flight.rs",
        ],
        &["guard"],
    ),
    edge(
        &[
            "edge/src/cache/age_fields.rs",
            "edge/src/cache/directives.rs",
            "edge/src/cache/entry.rs",
            "edge/src/cache/key.rs",
            "edge/src/cache/memory.rs",
            "edge/src/cache/policy.rs",
            "edge/src/cache_or_origin.rs",
            "edge/src/identify.rs",
            "edge/src/origin_link/breaker.rs",
            "edge/src/origin_link/retry.rs",
            "edge/src/origin_link/signed_call.rs",
            "edge/src/pipeline.rs",
            "edge/src/replica/answer.rs",
            "edge/src/replica/choice.rs",
            "edge/src/replica/held.rs",
            "edge/src/replica/refresh.rs",
            "edge/src/replica/timing.rs",
            "edge/src/tag_versions/lease.rs",
            "edge/src/tag_versions/register.rs",
            "edge/src/tag_versions/withheld.rs",
        ],
        &["pipeline"],
    ),
];

const fn origin(
    package: &'static str,
    files: &'static [&'static str],
    test_packages: &'static [&'static str],
    filters: &'static [&'static str],
) -> Judge {
    Judge {
        package,
        files,
        test_packages,
        whole: &[],
        filtered: &["--lib", "--test=it"],
        filters,
        postgres: true,
        seconds: 60,
    }
}

/// The tests of the service are one program. Each judge runs the modules of it that concern its files, and the crate's own tests of them.
const ORIGIN: &[Judge] = &[
    origin(
        "rds-engine",
        &["origin/engine/src/scoring_run/"],
        &["rds-engine", "rds-origin"],
        &["scoring_run::", "scoring::", "ingest::publication"],
    ),
    origin(
        "rds-engine",
        &["origin/engine/src/publication/"],
        &["rds-engine", "rds-origin"],
        &["publication", "events::"],
    ),
    origin("rds-origin", &["origin/src/journal/"], &["rds-origin"], &["journal::", "push::journal_", "push::lag"]),
    origin("rds-origin", &["origin/src/stream/"], &["rds-origin"], &["stream::", "push::stream_", "push::lag"]),
    origin("rds-origin", &["origin/src/webhooks/"], &["rds-origin"], &["webhooks::"]),
    origin(
        "rds-origin",
        &["origin/src/decisions/"],
        &["rds-origin"],
        &["decisions::", "graph::decisions_", "graph::checks"],
    ),
    origin(
        "rds-origin",
        &["origin/src/catalog/"],
        &["rds-origin"],
        &["catalog::", "vaults::", "assets::", "markets::", "registry::", "http::read_model"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_judge_names_files_and_test_programs_that_exist() {
        let root = workspace::root();
        for judge in Scope::ALL.iter().flat_map(|scope| scope.judges()) {
            for file in judge.files {
                assert!(root.join(file).exists(), "{file} does not exist");
            }
            let filtered = judge.filtered.iter().filter_map(|target| target.strip_prefix("--test="));
            for test in judge.whole.iter().copied().chain(filtered) {
                assert!(!program_tests(&root, test).unwrap().is_empty(), "there is no test program {test} with tests");
            }
        }
    }

    #[test]
    fn tests_are_found_by_their_attribute() {
        let source = "fn helper() {}\n#[test]\nfn one() {}\n    #[test]\n    #[should_panic]\n    fn two(x in 0..9) {}\nfn three() {}\n";
        assert_eq!(test_names(source), ["one", "two"]);
        assert_eq!(test_names("#[test] fn four() {}"), ["four"]);
    }

    #[test]
    fn a_module_is_named_by_the_path_of_its_file() {
        let module = |file: &str| tested_module(judge_of(Scope::Shared, file).unwrap(), file);
        assert_eq!(module("shared/src/rules/borrow.rs").as_deref(), Some("rules::borrow::"));
        assert_eq!(module("shared/src/read_model/mod.rs").as_deref(), Some("read_model::"));
        assert_eq!(module("shared/src/push/signature.rs"), None);
    }

    #[test]
    fn the_most_specific_judge_comes_first() {
        let basket = judge_of(Scope::Shared, "shared/src/rules/baskets/weights.rs").unwrap();
        assert_eq!(basket.whole, ["basket_properties"]);
        let rule = judge_of(Scope::Shared, "shared/src/rules/losses.rs").unwrap();
        assert!(rule.whole.is_empty());
        assert!(judge_of(Scope::Shared, "origin/src/lib.rs").is_none());
        assert!(judge_of(Scope::Edge, "edge/src/cache/store.rs").is_none());
    }
}
