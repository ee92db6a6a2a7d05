//! The behaviour suite: a test per behaviour of `clients/behaviours`, played with the typed methods and with the generic calls; and a test
//! per recorded answer.

mod compare;
mod decisions;
mod examples;
// Formatted by its generator.
#[rustfmt::skip]
mod generated;
mod generic;
mod play;
mod server;
mod typed;
mod webhooks;

use serde_json::Value;
use server::Server;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    // As cargo's own test programs: an argument chooses the tests whose names contain it.
    let filter = std::env::args().skip(1).find(|it| !it.starts_with('-')).unwrap_or_default();
    let server = Server::start(&repository().join("clients/behaviours/server.mjs"));
    let mut counts = Counts::default();
    let examples = examples::operations().into_iter();
    let examples = examples.map(|(id, step)| (format!("The types have every member of the answer: {id}"), step));
    let tests: Vec<(String, Value)> = behaviours().into_iter().chain(examples).collect();
    for (name, behaviour) in tests.iter().filter(|(name, _)| name.contains(&filter)) {
        if behaviour["stack"] == true && std::env::var_os("RDS_STACK").is_none() {
            println!("test {name} ... ignored, needs a running service");
            counts.ignored += 1;
        } else if catch_unwind(AssertUnwindSafe(|| played(behaviour, &server))).is_ok() {
            println!("test {name} ... ok");
            counts.passed += 1;
        } else {
            println!("test {name} ... FAILED");
            counts.failed += 1;
        }
    }
    let Counts { passed, failed, ignored } = counts;
    let is_good = failed == 0;
    let result = if is_good { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed; {ignored} ignored");
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    ignored: usize,
}

/// Every behaviour with its subject and name.
fn behaviours() -> Vec<(String, Value)> {
    let folder = fs::read_dir(repository().join("clients/behaviours")).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<PathBuf> = folder.filter(|it| it.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let read = read_json(&file);
        for it in read["behaviours"].as_array().unwrap() {
            all.push((format!("{}: {}", read["subject"].as_str().unwrap(), it["name"].as_str().unwrap()), it.clone()));
        }
    }
    assert!(all.len() > 180, "{} behaviours", all.len());
    all
}

/// The clone. The packed library is tested from its own project, which names it.
fn repository() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("RDS_REPOSITORY").map_or_else(own, PathBuf::from)
}

fn played(behaviour: &Value, server: &Server) {
    if behaviour["webhook"].is_object() {
        return webhooks::play(&behaviour["webhook"]);
    }
    if behaviour["decision"].is_object() {
        return decisions::play(&behaviour["decision"]);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        if behaviour["operation"].is_string() {
            return examples::play(behaviour, server).await;
        }
        play::play(behaviour, server, play::Calls::Typed).await;
        // A running service would see the same writes again.
        if behaviour["stack"] != true {
            play::play(behaviour, server, play::Calls::Generic).await;
        }
    });
}

/// A file of the clone.
fn read_json(path: impl AsRef<Path>) -> Value {
    serde_json::from_str(&fs::read_to_string(repository().join(path)).unwrap()).unwrap()
}

/// The lines of a fixture.
fn lines(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(repository().join(path)).unwrap();
    text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}
