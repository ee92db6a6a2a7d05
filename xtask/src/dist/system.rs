//! What an image needs of the build machine's system: a program's shared libraries, with the Debian packages that they come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::tree::Tree;
use crate::command;

/// Certificate authorities, as Debian's package `ca-certificates` bundles them.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// A package of the build machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    pub version: String,
}

/// The files of the system in an image.
#[derive(Default)]
pub struct System {
    /// Path in the image and on this machine.
    files: BTreeMap<String, PathBuf>,
    packages: BTreeMap<String, Package>,
}

impl System {
    /// The shared libraries that a program loads, at the paths where its loader looks for them.
    pub fn of_program(program: &Path) -> Result<Self> {
        let listed = command::output(Command::new("ldd").arg(program))
            .with_context(|| format!("cannot list the libraries of {}", program.display()))?;
        let mut system = Self::default();
        for path in listed.lines().filter_map(library) {
            system.add(&path?)?;
        }
        Ok(system)
    }

    /// Adds the certificate authorities, also under the name that BoringSSL looks for.
    pub fn add_authorities(&mut self) -> Result<()> {
        self.add(AUTHORITIES).context("the edge's image needs certificate authorities; install `ca-certificates`")?;
        self.files.insert("etc/ssl/cert.pem".to_owned(), PathBuf::from(AUTHORITIES));
        Ok(())
    }

    fn add(&mut self, path: &str) -> Result<()> {
        let real = std::fs::canonicalize(path).with_context(|| format!("{path} does not exist"))?;
        // The bundle of authorities is generated, so no package lists it.
        let package = if path == AUTHORITIES { version_of("ca-certificates") } else { package_of(path, &real) };
        if let Some(package) = package {
            self.packages.insert(package.name.clone(), package);
        }
        self.files.insert(path.trim_start_matches('/').to_owned(), real);
        Ok(())
    }

    /// Adds the files to an image, with the accounts and the order of name look-ups that the C library reads.
    pub fn place(&self, root: &mut Tree) {
        for (path, file) in &self.files {
            let executable = path.contains(".so");
            root.copy(path, file, if executable { 0o755 } else { 0o644 });
        }
        let user = super::tree::NOBODY;
        root.bytes("etc/passwd", format!("root:x:0:0::/:/sbin/nologin\nrds:x:{user}:{user}::/:/sbin/nologin\n"));
        root.bytes("etc/group", format!("root:x:0:\nrds:x:{user}:\n"));
        root.bytes("etc/nsswitch.conf", "hosts: files dns\n");
    }

    /// The packages, by name.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }
}

/// The path in a line of `ldd`: `libc.so.6 => /lib/…/libc.so.6 (0x…)` or `/lib64/ld-linux-x86-64.so.2 (0x…)`. The kernel's part has none.
fn library(line: &str) -> Option<Result<String>> {
    let line = line.trim();
    if line.ends_with("not found") {
        return Some(Err(anyhow::anyhow!("{line}")));
    }
    let path = line.split_once("=> ").map_or(line, |(_, path)| path);
    let path = path.rsplit_once(" (0x").map_or(path, |(path, _)| path);
    path.starts_with('/').then(|| Ok(path.to_owned()))
}

/// The package that a file belongs to; `None` if dpkg does not know it. dpkg knows some files only by the path before `/lib` became a link.
fn package_of(path: &str, real: &Path) -> Option<Package> {
    let real = real.to_str()?;
    let names = [path, real, real.strip_prefix("/usr").unwrap_or(real)];
    let owner = names.iter().find_map(|name| command::output(Command::new("dpkg-query").args(["-S", name])).ok())?;
    version_of(owner.split(": ").next()?.split(',').next()?.split(':').next()?)
}

fn version_of(name: &str) -> Option<Package> {
    let version = command::output(Command::new("dpkg-query").args(["-W", "-f=${Version}\n", name])).ok()?;
    let version = version.lines().next()?.to_owned();
    Some(Package { name: name.to_owned(), version })
}

/// Fails if the program is not for Linux, because its image would not run.
pub fn require_linux() -> Result<()> {
    if std::env::consts::OS != "linux" {
        bail!("images are built on Linux, because they contain this machine's program");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_ldd() {
        let read = |line: &str| library(line).map(|path| path.map_err(|error| error.to_string()));
        assert_eq!(read("\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)"), Some(Ok("/lib/x/libc.so.6".to_owned())));
        assert_eq!(
            read("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)"),
            Some(Ok("/lib64/ld-linux-x86-64.so.2".to_owned()))
        );
        assert_eq!(read("\tlinux-vdso.so.1 (0x00007f)"), None);
        assert_eq!(read("\tstatically linked"), None);
        assert!(read("\tlibx.so => not found").unwrap().is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_program_needs_the_loader() {
        let system = System::of_program(&std::env::current_exe().unwrap()).unwrap();
        assert!(
            system.files.keys().any(|path| path.contains("ld-linux") || path.contains("ld-musl")),
            "{:?}",
            system.files
        );
    }
}
