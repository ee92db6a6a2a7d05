//! What a crash leaves: a line in the log, and of the memory nothing. It holds every secret that the service has.

/// Which parts of a process' memory Linux writes into its dump; the file takes a bit for each kind.
const FILTER: &str = "/proc/self/coredump_filter";

/// From now on a dump of this process tells where it was, and holds none of its memory, whoever the system hands it to.
///
/// Other systems have no such file; there dumps are for the operator to turn off.
pub fn leave_memory_out() {
    if let Err(error) = std::fs::write(FILTER, "0")
        && cfg!(target_os = "linux")
    {
        tracing::warn!(%error, "a crash could leave a dump that holds secrets");
    }
}
