//! The stage `e2e`: tests against the running stack. The long tests run at the same time on a second stack.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow, bail};

use crate::console::heading;
use crate::provision::cache::Cache;
use crate::provision::{self, require_node};
use crate::scratch::Scratch;
use crate::tally::Tally;
use crate::test::{count, install_clients, node_tests, test_files};
use crate::up::Options;
use crate::up::data::Data;
use crate::up::ports::Ports;
use crate::up::stack::Stack;
use crate::{explorer, workspace};

/// Tests that take about half of the suite's time and change neither the clock nor the services of their stack. They run on a stack of
/// their own while the other tests run.
const LONG: [&str; 9] = [
    "authorisation.test.mjs",
    "browser.test.mjs",
    "decisions.test.mjs",
    "generators.test.mjs",
    "real-data.test.mjs",
    "schemathesis.test.mjs",
    "secrets.test.mjs",
    "up-chain.test.mjs",
    "verify-page.test.mjs",
];

/// Runs the suite, or only the files whose paths contain `only`.
pub fn run(cache: &Cache, tally: &mut Tally, only: Option<&str>) -> Result<()> {
    require_node()?;
    let suite = workspace::root().join("e2e");
    install_clients(&suite)?;
    // The pictures are of the explorer as its own tests build it.
    explorer::tests(cache)?;
    let environment = e2e_environment(cache)?;
    let (long, rest): (Vec<_>, Vec<_>) =
        test_files(&suite, only)?.into_iter().partition(|file| LONG.contains(&file.as_str()));
    if only.is_none() && long.len() != LONG.len() {
        bail!("of the long tests {LONG:?} only {long:?} exist");
    }
    // Some tests start stacks of their own and search for free ports from the lane's number, so that lanes do not compete for a port.
    let lanes = [("e2e", rest, 31_000), ("e2e-long", long, 28_000)];
    let mut lanes = lanes.into_iter().filter(|(_, files, _)| !files.is_empty()).map(|(name, files, ports)| {
        let folder = Scratch::new(cache, name)?;
        let stack = Stack::start(&for_tests(&folder.path), Ports::free()?)?;
        let mut node = node_tests(&suite);
        // Some tests set the stack's clock, so only one file at a time may use a stack.
        node.arg("--test-concurrency=1").args(files).envs(&environment);
        node.env("RDS_STACK", stack.description_file()).env("RDS_PORTS", ports.to_string());
        Ok::<_, anyhow::Error>(Lane { stack, _folder: folder, node: Some(node) })
    });
    let (shown, beside) = (lanes.next().transpose()?, lanes.next().transpose()?);
    let mut said = Vec::new();
    let mut hidden = Tally::default();
    let outcomes = std::thread::scope(|scope| {
        let beside = beside.map(|lane| scope.spawn(|| lane.run(&mut hidden, |line| said.push(line.to_owned()))));
        let shown = shown.map(|lane| lane.run(tally, |line| println!("{line}")));
        let beside = beside.map(|thread| thread.join().map_err(|_| anyhow!("the thread of the long tests panicked")));
        [shown.map(Ok), beside]
    });
    if !said.is_empty() {
        heading("\nEnd to end, long tests");
        said.iter().for_each(|line| println!("{line}"));
    }
    tally.add(hidden);
    let mut outcome = Ok(());
    for lane in outcomes.into_iter().flatten() {
        let (ended, Lane { stack, _folder, .. }) = lane?;
        if ended.is_err() {
            stack.show_logs();
        }
        stack.stop();
        outcome = outcome.and(ended);
    }
    outcome
}

/// Test files that run one after the other on one stack.
struct Lane {
    stack: Stack,
    _folder: Scratch,
    /// The test command; taken when it runs.
    node: Option<Command>,
}

impl Lane {
    /// Runs the files. Returns the outcome, and the lane with its stack still running.
    fn run(mut self, tally: &mut Tally, show: impl FnMut(&str)) -> (Result<()>, Self) {
        let ended = self.node.take().map_or(Ok(()), |node| count(node, tally, show));
        (ended, self)
    }
}

/// Options of a stack with demo data and a settable clock.
pub(crate) fn for_tests(folder: &Path) -> Options {
    Options {
        data: Some(Data::Demo),
        test_clock: true,
        webhook_allow: vec!["127.0.0.0/8".to_owned()],
        ..Options::in_folder(folder.to_owned())
    }
}

/// Environment variables with the paths of the programs that the suite needs.
fn e2e_environment(cache: &Cache) -> Result<BTreeMap<&'static str, OsString>> {
    let browser = provision::browser::find(cache)?;
    let proxies = provision::proxies::find(cache)?.environment();
    let there = [
        ("RDS_XTASK", Some(std::env::current_exe()?.into())),
        ("RDS_WORKERD", Some(provision::npm::workerd(cache)?.into())),
        ("RDS_PROTOCOLS", Some(provision::npm::protocols(cache)?.into())),
        ("RDS_CHROMIUM", Some(browser.program.into())),
        ("RDS_CHROMIUM_LIBS", browser.libraries),
        ("FONTCONFIG_PATH", browser.fonts.map(Into::into)),
    ];
    Ok(there.into_iter().filter_map(|(name, value)| Some((name, value?))).chain(proxies).collect())
}
