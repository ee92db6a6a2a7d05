//! Commands that run to completion: builds, installs, one-off verbs of the origin.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::console::Step;
use crate::signals;

/// Interval at which waiting loops check the child and Ctrl-C.
pub const POLL: Duration = Duration::from_millis(40);
/// Number of output lines that the error of a failed command shows.
const TAIL_LINES: usize = 30;

/// Makes the kernel signal the child when this process dies for any reason.
///
/// On systems other than Linux only an orderly exit stops the children.
/// The signal is tied to the thread that forked, so that thread must outlive the child.
pub fn end_with_parent(command: &mut Command, signal: Signal) {
    #[cfg(target_os = "linux")]
    {
        #[expect(unsafe_code, reason = "std offers no other way to run code in the child")]
        // SAFETY: the closure makes one prctl(2) call, which is async-signal-safe, and allocates nothing.
        unsafe {
            command
                .pre_exec(move || rustix::process::set_parent_process_death_signal(Some(signal)).map_err(Into::into));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (command, signal);
}

/// A command as text, for messages.
pub fn described(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Runs a command to completion. Its output goes to `log`, and the newest line is shown with the step.
///
/// # Errors
/// If the command cannot start, fails or exceeds `limit`, or if a stop is requested. The error contains the last lines of the
/// output.
pub fn run(step: &mut Step, command: Command, log: &Path, limit: Duration) -> Result<()> {
    run_and_read(step, command, log, limit, |_| false)
}

/// Like [`run`]. `read` gets each line of the output, and returns whether the line is a message for it and not for people. Such lines are
/// neither shown nor logged.
pub fn run_and_read(
    step: &mut Step,
    mut command: Command,
    log: &Path,
    limit: Duration,
    mut read: impl FnMut(&str) -> bool,
) -> Result<()> {
    let words = described(&command);
    let mut log_file = append_to(log)?;
    writeln!(log_file, "$ {words}")?;
    let started = Instant::now();
    let (mut child, lines) = spawn(&mut command)?;
    let mut tail = VecDeque::with_capacity(TAIL_LINES);
    let status = loop {
        match lines.recv_timeout(POLL) {
            Ok(line) if read(&line) => {}
            Ok(line) => {
                writeln!(log_file, "{line}")?;
                step.tick(&line);
                if tail.len() == TAIL_LINES {
                    tail.pop_front();
                }
                tail.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {
                step.tick(tail.back().map_or("", String::as_str));
            }
            Err(RecvTimeoutError::Disconnected) => break child.wait()?,
        }
        stop_if_requested(&mut child, started, limit, &words)?;
    };
    if !status.success() {
        let shown: Vec<String> = tail.into();
        bail!(
            "`{words}` ended with {status}; its last lines were:\n{}\n(full output: {})",
            shown.join("\n"),
            log.display()
        );
    }
    Ok(())
}

/// Runs a command to completion and passes each line of its output to `each`.
pub fn stream(mut command: Command, limit: Duration, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
    let words = described(&command);
    let started = Instant::now();
    let (mut child, lines) = spawn(&mut command)?;
    loop {
        match lines.recv_timeout(POLL) {
            Ok(line) => each(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(child.wait()?),
        }
        stop_if_requested(&mut child, started, limit, &words)?;
    }
}

/// Runs a short command and returns its standard output.
///
/// # Errors
/// If it cannot start or fails; the error contains its standard error.
pub fn output(command: &mut Command) -> Result<String> {
    let words = described(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{words}`"))?;
    if !output.status.success() {
        bail!("`{words}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program of this name is on the `PATH`.
pub fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Opens a log for appending; creates its folder if needed.
pub fn append_to(log: &Path) -> Result<File> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    OpenOptions::new().create(true).append(true).open(log).with_context(|| format!("cannot write {}", log.display()))
}

/// Starts the command in its own process group and merges its two outputs into one stream of lines.
fn spawn(command: &mut Command) -> Result<(Child, Receiver<String>)> {
    signals::check()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    end_with_parent(command, Signal::TERM);
    let mut child = command.spawn().with_context(|| format!("cannot run `{}`", described(command)))?;
    let (sender, lines) = channel();
    let outputs: [Option<Box<dyn Read + Send>>; 2] =
        [child.stdout.take().map(|pipe| Box::new(pipe) as _), child.stderr.take().map(|pipe| Box::new(pipe) as _)];
    for pipe in outputs.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    Ok((child, lines))
}

/// Ends the child's process group if it exceeded its time limit or a stop was requested.
fn stop_if_requested(child: &mut Child, started: Instant, limit: Duration, words: &str) -> Result<()> {
    let late = started.elapsed() > limit;
    if !late && !signals::interrupted() {
        return Ok(());
    }
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, Signal::TERM);
    let deadline = Instant::now() + Duration::from_secs(3);
    while child.try_wait()?.is_none() && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    signals::check()?;
    bail!("`{words}` did not end within {}s", limit.as_secs());
}
