//! Keeps the process's memory, and with it every secret of the service, out of crash dumps. A crash leaves a log line.

/// Bit mask of the kinds of memory that Linux writes into this process's core dump; see core(5).
const FILTER: &str = "/proc/self/coredump_filter";

/// Excludes all memory from this process's core dumps; registers remain, so a dump still shows where the process was.
///
/// Linux only: on other systems the operator has to turn core dumps off.
pub fn leave_memory_out() {
    if let Err(error) = std::fs::write(FILTER, "0")
        && cfg!(target_os = "linux")
    {
        tracing::warn!(%error, "memory could not be excluded from core dumps; a dump of this process may contain secrets");
    }
}
