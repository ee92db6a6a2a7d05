//! Commands that run to their end: builds, installs, one-off verbs of the origin.

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

/// How often a waiting loop looks at the child and at Ctrl-C.
pub const POLL: Duration = Duration::from_millis(40);
/// Lines of a failed command's output that its error shows.
const SHOWN: usize = 30;

/// Asks the kernel to signal the child when this process dies, however it dies.
///
/// On other systems than Linux only an orderly exit stops the children.
/// The child must be started from the main thread: the signal follows the thread that forked.
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

/// A command in words, for messages.
pub fn described(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Runs to the end with the output in `log`, the newest line beside the step, and a time limit.
///
/// # Errors
/// When the command cannot start, fails, outlives `limit`, or a stop is asked for. The error
/// carries the last lines of the output.
pub fn run(step: &mut Step, mut command: Command, log: &Path, limit: Duration) -> Result<()> {
    let words = described(&command);
    let mut log_file = append_to(log)?;
    writeln!(log_file, "$ {words}")?;
    let started = Instant::now();
    let (mut child, lines) = spawn(&mut command)?;
    let mut tail = VecDeque::with_capacity(SHOWN);
    let status = loop {
        match lines.recv_timeout(POLL) {
            Ok(line) => {
                writeln!(log_file, "{line}")?;
                step.tick(&line);
                if tail.len() == SHOWN {
                    tail.pop_front();
                }
                tail.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {
                step.tick(tail.back().map_or("", String::as_str));
            }
            Err(RecvTimeoutError::Disconnected) => break child.wait()?,
        }
        give_up_if_asked(&mut child, started, limit, &words)?;
    };
    if !status.success() {
        let shown: Vec<String> = tail.into();
        bail!(
            "`{words}` ended with {status}; its last lines were:\n{}\n(all of it: {})",
            shown.join("\n"),
            log.display()
        );
    }
    Ok(())
}

/// Runs to the end, giving every line of the output to `each` as it comes.
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
        give_up_if_asked(&mut child, started, limit, &words)?;
    }
}

/// Runs a short command and returns what it printed on standard output.
///
/// # Errors
/// When it cannot start or fails; the error carries what it said on standard error.
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

/// Opens a log for appending, with its folder.
pub fn append_to(log: &Path) -> Result<File> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    OpenOptions::new().create(true).append(true).open(log).with_context(|| format!("cannot write {}", log.display()))
}

/// Starts the command in a process group of its own and joins its two outputs into one line stream.
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

/// Ends the whole group of a child that ran out of time, or whose result nobody waits for any more.
fn give_up_if_asked(child: &mut Child, started: Instant, limit: Duration, words: &str) -> Result<()> {
    let late = started.elapsed() > limit;
    if !late && !signals::interrupted() {
        return Ok(());
    }
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, Signal::TERM);
    let patience = Instant::now() + Duration::from_secs(3);
    while child.try_wait()?.is_none() && Instant::now() < patience {
        std::thread::sleep(POLL);
    }
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    signals::check()?;
    bail!("`{words}` did not end within {}s", limit.as_secs());
}
