//! `cargo xtask dist`: the artefacts of a release: a tarball and a container image of the origin and of the edge, bills of materials, provenance and
//! checksums. From one commit and one build machine each run makes the same archives.

pub mod check;
mod image;
mod provenance;
mod system;
mod tree;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use flate2::{Compression, GzBuilder};

use crate::console::Step;
use crate::provision::cache::{Cache, remove};
use crate::provision::{npm, require_node};
use crate::sbom::{self, Component, Kind};
use crate::up::{origin, shipped_edge};
use crate::{command, wasm, workspace};
use image::{Image, Release};
use provenance::Source;
use system::System;
use tree::{NOBODY, Tree};

/// What to build, and where to.
#[derive(Args, Debug)]
pub struct Options {
    /// Output folder, which is emptied first; `target/dist` by default.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// For trying the artefacts: programs as `up` builds them, little compression, and uncommitted changes are allowed. Not for publishing.
    #[arg(long)]
    quick: bool,
    /// URI of the builder, for the provenance.
    #[arg(long, value_name = "URI", default_value = "urn:risk-data-service:builder:local")]
    builder: String,
}

impl Options {
    /// A quick build into a folder, for tests.
    pub fn quick_into(out: PathBuf) -> Self {
        Self { out: Some(out), quick: true, builder: "urn:risk-data-service:builder:test".to_owned() }
    }
}

/// Files beside the program in the origin's tarball; of folders, the files that Git knows or would add.
const DOCUMENTS: [&str; 8] = [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "deploy",
    "docs/handbook",
    "origin/OPERATING.md",
    "origin/alerts.yml",
    "origin/slo.yml",
];
const CHECKSUMS: &str = "SHA256SUMS";
const PROVENANCE: &str = "provenance.intoto.json";
/// Folder of the edge in its image, and of its Durable Objects.
const EDGE: &str = "/usr/lib/rds-edge";
const OBJECTS: &str = "/var/lib/rds-edge/objects";

/// Builds everything and prints the artefacts with their sizes.
pub fn run(options: &Options) -> Result<()> {
    let folder = build(&Cache::open()?, options)?;
    println!("{:<48}{:>12}", "file", "bytes");
    for name in names(&folder)? {
        println!("{name:<48}{:>12}", std::fs::metadata(folder.join(&name))?.len());
    }
    println!("in {}", folder.display());
    Ok(())
}

/// Builds the artefacts and returns their folder.
pub fn build(cache: &Cache, options: &Options) -> Result<PathBuf> {
    system::require_linux()?;
    require_node()?;
    let started = provenance::now()?;
    let source = Source::read()?;
    if source.is_changed && !options.quick {
        bail!("the clone differs from its commit, so nobody could build the same again; commit first, or use --quick");
    }
    let profile = if options.quick { origin::Profile::Up } else { origin::Profile::Release };
    let ahead = || origin::build_ahead(profile);
    let (bundle, program) = wasm::build_beside(cache, !options.quick, ahead, || origin::build(profile))?;
    let workerd = npm::workerd(cache)?;

    let folder = options.out.clone().unwrap_or_else(|| workspace::target().join("dist"));
    remove(&folder)?;
    let making = folder.join("making");
    std::fs::create_dir_all(&making).with_context(|| format!("cannot create {}", making.display()))?;
    let created = source.created()?;
    let version = env!("CARGO_PKG_VERSION");
    let dist = Dist {
        folder: &folder,
        making: &making,
        quick: options.quick,
        release: Release { version, revision: &source.commit, time: source.time, created: &created },
    };
    let step = Step::start("tarballs");
    dist.origin_tarball(&program)?;
    let edge = making.join("edge");
    std::fs::create_dir_all(&edge)?;
    shipped_edge::lay_out(&edge, &bundle)?;
    dist.edge_tarball(&edge)?;
    step.done(version);

    let step = Step::start("images");
    let of_origin = System::of_program(&program)?;
    dist.origin_image(&program, &of_origin)?;
    let mut of_edge = System::of_program(&workerd)?;
    of_edge.add_authorities()?;
    dist.edge_image(&workerd, &edge, &of_edge)?;
    step.done("rds-origin, rds-edge");

    let step = Step::start("bills of materials and provenance");
    let workerd_version = npm::pinned("workerd")?;
    let runtime = Component::new(Kind::Application, "workerd", &*workerd_version).published("npm");
    let contained = sbom::Contained {
        origin: packages(&of_origin),
        edge: packages(&of_edge).into_iter().chain([runtime]).collect(),
    };
    for (name, text) in sbom::texts(&contained)? {
        std::fs::write(folder.join(name), text)?;
    }
    remove(&making)?;
    dist.statement(&source, options, &started, &workerd_version)?;
    step.done("written");
    Ok(folder)
}

/// The artefacts in the making.
struct Dist<'a> {
    folder: &'a Path,
    /// A folder for intermediate files.
    making: &'a Path,
    quick: bool,
    release: Release<'a>,
}

impl Dist<'_> {
    fn origin_tarball(&self, program: &Path) -> Result<()> {
        let name = format!("rds-origin-{}-linux-{}", self.release.version, std::env::consts::ARCH);
        let mut tree = Tree::default();
        let at = |path: &str| format!("{name}/{path}");
        tree.copy(&at("bin/rds-origin"), program, 0o755);
        let man = self.making.join("man");
        command::output(Command::new(program).arg("man").arg(&man))?;
        tree.copy_all(&at("share/man/man1"), &man)?;
        for (shell, path) in [
            ("bash", "share/bash-completion/completions/rds-origin"),
            ("zsh", "share/zsh/site-functions/_rds-origin"),
            ("fish", "share/fish/vendor_completions.d/rds-origin.fish"),
        ] {
            tree.bytes(&at(path), command::output(Command::new(program).args(["completions", shell]))?);
        }
        for path in documents()? {
            let from = workspace::root().join(&path);
            let executable = std::fs::metadata(&from)?.permissions().mode() & 0o100 != 0;
            tree.copy(&at(&path), &from, if executable { 0o755 } else { 0o644 });
        }
        self.compressed(&name, &tree)
    }

    fn edge_tarball(&self, edge: &Path) -> Result<()> {
        let name = format!("rds-edge-{}", self.release.version);
        let mut tree = Tree::default();
        tree.copy_all(&name, edge)?;
        self.compressed(&name, &tree)
    }

    fn compressed(&self, name: &str, tree: &Tree) -> Result<()> {
        let path = self.folder.join(format!("{name}.tar.gz"));
        let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let level = if self.quick { Compression::fast() } else { Compression::best() };
        let mut gzip = GzBuilder::new().write(std::io::BufWriter::new(file), level);
        tree.write(&mut gzip, self.release.time)?;
        gzip.finish()?.flush()?;
        Ok(())
    }

    fn origin_image(&self, program: &Path, system: &System) -> Result<()> {
        let mut root = Tree::default();
        system.place(&mut root);
        root.copy("usr/bin/rds-origin", program, 0o755);
        let image = Image {
            name: "rds-origin",
            title: "Risk Data Service, origin",
            entrypoint: vec!["/usr/bin/rds-origin"],
            arguments: vec!["serve"],
            environment: Vec::new(),
            folder: "/",
            ports: vec!["8788/tcp", "8789/tcp", "8790/tcp"],
            volumes: Vec::new(),
            health: Some(vec!["/usr/bin/rds-origin", "ready"]),
        };
        image.write(&root, &self.release, self.quick, &self.image_path("rds-origin"))
    }

    fn edge_image(&self, workerd: &Path, edge: &Path, system: &System) -> Result<()> {
        let mut root = Tree::default();
        system.place(&mut root);
        root.copy("usr/bin/workerd", workerd, 0o755);
        root.copy_all(EDGE.trim_start_matches('/'), edge)?;
        root.folder_of(OBJECTS.trim_start_matches('/'), NOBODY);
        let objects = format!("--directory-path=objects={OBJECTS}");
        let image = Image {
            name: "rds-edge",
            title: "Risk Data Service, self-hosted edge",
            entrypoint: vec!["/usr/bin/workerd"],
            arguments: vec!["serve", "worker.capnp", "--socket-addr=http=0.0.0.0:8787", &objects],
            environment: vec!["GUARD_TIMEOUT_MS=5000".to_owned()],
            folder: EDGE,
            ports: vec!["8787/tcp"],
            volumes: vec![OBJECTS],
            health: None,
        };
        image.write(&root, &self.release, self.quick, &self.image_path("rds-edge"))
    }

    fn image_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}.oci.tar", self.release.version))
    }

    /// Writes the provenance of all files, and then the checksums, also of the provenance.
    fn statement(&self, source: &Source, options: &Options, started: &str, workerd: &str) -> Result<()> {
        let digests = |folder: &Path| -> Result<Vec<provenance::Subject>> {
            let read = |name: String| {
                let digest = command::output(Command::new("sha256sum").current_dir(folder).arg(&name))?;
                let digest = digest.split(' ').next().unwrap_or_default().to_owned();
                Ok((name, digest))
            };
            names(folder)?.into_iter().map(read).collect()
        };
        let profile = if self.quick { "up" } else { "release" };
        let rustc = command::output(Command::new("rustc").arg("--version"))?;
        let compilers = [("rustc", rustc.trim().to_owned()), ("workerd", workerd.to_owned())];
        let subjects = digests(self.folder)?;
        let said = provenance::statement(source, &subjects, &options.builder, profile, &compilers, started)?;
        std::fs::write(self.folder.join(PROVENANCE), serde_json::to_string_pretty(&said)? + "\n")?;
        let lines: String = digests(self.folder)?.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
        std::fs::write(self.folder.join(CHECKSUMS), lines)?;
        Ok(())
    }
}

/// The paths of the documents in the clone. Files that Git ignores are not among them, such as the secrets that `deploy/compose/secrets.sh` writes.
fn documents() -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]);
    let listed = command::output(git.args(DOCUMENTS)).context("cannot list the documents of the tarball")?;
    let exists = |path: &&str| workspace::root().join(path).is_file();
    Ok(listed.split_terminator('\0').filter(exists).map(str::to_owned).collect())
}

/// The system's packages as components.
fn packages(system: &System) -> Vec<Component> {
    let component = |package: &system::Package| {
        Component::new(Kind::Library, &package.name, &*package.version).published("deb/debian")
    };
    system.packages().map(component).collect()
}

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_str().context("a file's name is not UTF-8")?.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
