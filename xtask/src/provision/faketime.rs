//! libfaketime, which shifts the time of a process: the installed library, or Debian's package unpacked into the cache.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::apt;
use super::cache::Cache;
use crate::console::Step;

const PACKAGE: &str = "libfaketime";
const ENTRY: &str = "faketime/1";
/// The multithreaded variant, relative to the folder of libraries.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// The library for `LD_PRELOAD`; `None` if it is neither installed nor packaged.
pub fn find(cache: &Cache) -> Result<Option<PathBuf>> {
    if let Ok(library) = in_root(Path::new("/")) {
        Step::start(PACKAGE).done("installed");
        return Ok(Some(library));
    }
    let unpacked = cache.install(PACKAGE, ENTRY, |step, making| apt::unpack(step, making, &[PACKAGE]));
    crate::signals::check()?;
    Ok(unpacked.and_then(|root| in_root(&root)).ok())
}

fn in_root(root: &Path) -> Result<PathBuf> {
    let library = apt::libraries(root)?.join(LIBRARY);
    anyhow::ensure!(library.is_file(), "no {}", library.display());
    Ok(library)
}
