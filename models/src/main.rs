//! Explores the models in full: all, or those named. With `--small` only the part that the tests explore. Exits with 3 if an invariant breaks.

use rds_models::{SUBJECTS, Size};
use std::process::ExitCode;

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let size = if asked.iter().any(|word| word == "--small") { Size::Small } else { Size::Full };
    let names: Vec<&String> = asked.iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = names.iter().find(|name| SUBJECTS.iter().all(|subject| subject.name != **name)) {
        let known: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        eprintln!("unknown model `{unknown}`; the models are {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut is_broken = false;
    for subject in SUBJECTS.iter().filter(|subject| names.is_empty() || names.iter().any(|name| subject.name == **name))
    {
        let report = (subject.run)(size, threads);
        is_broken |= !report.broken.is_empty();
        print!("{report}");
    }
    if is_broken { ExitCode::from(3) } else { ExitCode::SUCCESS }
}
