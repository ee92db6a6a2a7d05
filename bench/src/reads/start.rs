//! Time from `cargo xtask up` to the first answer, and duration of the import of the public data sets.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use xtask::up::Edge;
use xtask::up::ports::{Ports, local};
use xtask::workspace;

use crate::market::Market;
use crate::report::Report;
use crate::{cores, http};

const TARGET_START: f64 = 15.0;
const TARGET_IMPORT: f64 = 30.0;
const TIMEOUT: Duration = Duration::from_secs(300);

/// Measures a first start, a second start with the same state, and the import.
pub fn measure(data: &Path, report: &mut Report) -> Result<()> {
    cores::release()?;
    let folder = std::env::temp_dir().join(format!("rds-bench-start-{}", std::process::id()));
    let build = folder.join("build");
    std::fs::create_dir_all(&build)?;
    // This untimed run builds the programs, because `up` uses another build profile than the other benchmarks.
    first_answer(&build)?;
    let first = first_answer(&folder)?;
    let second = first_answer(&folder)?;
    std::fs::remove_dir_all(&folder)?;
    report.at_most(
        "start: `up` to the first answered list, everything built, new demo data, s",
        first,
        TARGET_START,
        "",
    );
    report.at_most("start: the same with the data kept from the run before, s", second, TARGET_START, "");

    let data = workspace::root().join(data);
    if data.is_dir() {
        let market = Market::start(0, Edge::None)?;
        cores::release()?;
        let begun = Instant::now();
        market.verb(&["import", &data.display().to_string()])?;
        let seconds = begun.elapsed().as_secs_f64();
        report.at_most("start: import of the public data sets, s", seconds, TARGET_IMPORT, "");
    } else {
        report.skipped("start: import of the public data sets, s", "the folder of data sets does not exist");
    }
    Ok(())
}

/// Seconds from the command to the first vault list with rows. Stops the stack afterwards.
fn first_answer(state: &Path) -> Result<f64> {
    let port = Ports::free()?.edge;
    let log: PathBuf = state.join("up.log");
    let file = std::fs::File::create(&log)?;
    let begun = Instant::now();
    let mut up = workspace::cargo();
    up.args(["xtask", "up", "--data", "demo", "--port", &port.to_string(), "--state"]).arg(state.join("state"));
    xtask::command::end_with_parent(&mut up, Signal::TERM);
    let mut up = up.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    let seconds = wait_for_list(port, begun, &mut up);
    kill_process(Pid::from_child(&up), Signal::INT)?;
    up.wait()?;
    match seconds {
        Some(seconds) => Ok(seconds),
        None => bail!("`up` did not answer in time:\n{}", std::fs::read_to_string(log)?),
    }
}

fn wait_for_list(port: u16, begun: Instant, up: &mut Child) -> Option<f64> {
    let request = http::get("/v1/vaults?limit=1", "");
    while begun.elapsed() < TIMEOUT && matches!(up.try_wait(), Ok(None)) {
        if let Ok(answer) = http::ask(local(port).into(), &request)
            && answer.status == 200
            && !answer.body.starts_with(b"{\"data\":[]")
        {
            return Some(begun.elapsed().as_secs_f64());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}
