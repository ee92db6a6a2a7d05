//! Container images as OCI archives (OCI image specification 1.1): one layer, written without a daemon, root rights or a base image. The same
//! files give the same bytes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tree::{NOBODY, Tree};
use crate::workspace::hex;

/// What an image says about itself and how its program is started.
pub struct Image<'a> {
    /// `rds-origin`; the archive names the image `localhost/<name>:<version>`.
    pub name: &'a str,
    pub title: &'a str,
    pub entrypoint: Vec<&'a str>,
    pub arguments: Vec<&'a str>,
    pub environment: Vec<String>,
    pub folder: &'a str,
    pub ports: Vec<&'a str>,
    /// Folders that must be writable.
    pub volumes: Vec<&'a str>,
    /// The command that is run to learn whether the service is healthy, if there is one.
    pub health: Option<Vec<&'a str>>,
}

/// The release that an image belongs to.
pub struct Release<'a> {
    pub version: &'a str,
    /// Git commit.
    pub revision: &'a str,
    /// Time of the commit: seconds since 1970, and in RFC 3339.
    pub time: u64,
    pub created: &'a str,
}

/// Docker's extension for health checks, which an OCI configuration may contain. Durations are nanoseconds.
fn health(command: &[&str]) -> Value {
    let words = [&["CMD"], command].concat();
    let second = 1_000_000_000_u64;
    json!({"Test": words, "Interval": 5 * second, "Timeout": 4 * second, "StartPeriod": 60 * second, "Retries": 3})
}

impl Image<'_> {
    /// Writes the archive of the image with the files of `root`. `quick` compresses little.
    pub fn write(&self, root: &Tree, release: &Release<'_>, quick: bool, archive: &Path) -> Result<()> {
        let layer = archive.with_extension("layer");
        let written = self.write_with(root, release, quick, archive, &layer);
        let _ = std::fs::remove_file(&layer);
        written.with_context(|| format!("cannot write {}", archive.display()))
    }

    fn write_with(&self, root: &Tree, release: &Release<'_>, quick: bool, archive: &Path, layer: &Path) -> Result<()> {
        let level = if quick { Compression::fast() } else { Compression::best() };
        let compressed = Hashing::new(io::BufWriter::new(File::create(layer)?));
        // Without a name and a time in the header.
        let mut plain = Hashing::new(GzBuilder::new().write(compressed, level));
        root.write(&mut plain, release.time)?;
        let (diff_id, gzip) = (plain.digest(), plain.inner);
        let mut compressed = gzip.finish()?;
        compressed.inner.flush()?;
        let (layer_digest, layer_size) = (compressed.digest(), compressed.length);

        let config = serde_json::to_vec(&self.config(release, &diff_id))?;
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described("config.v1+json", &config),
            "layers": [{
                "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                "digest": format!("sha256:{layer_digest}"),
                "size": layer_size,
            }],
            "annotations": self.annotations(release),
        }))?;
        let mut descriptor = described("manifest.v1+json", &manifest);
        descriptor["platform"] = json!({"architecture": architecture(), "os": "linux"});
        descriptor["annotations"] = json!({
            "org.opencontainers.image.ref.name": format!("localhost/{}:{}", self.name, release.version),
        });
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [descriptor],
        });
        let mut files = Tree::default();
        files.bytes("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
        files.bytes("index.json", serde_json::to_vec(&index)?);
        // What `docker save` writes beside the layout, for versions of Docker that load nothing else.
        let docker = json!([{
            "Config": format!("blobs/sha256/{}", sha256(&config)),
            "RepoTags": [format!("localhost/{}:{}", self.name, release.version)],
            "Layers": [format!("blobs/sha256/{layer_digest}")],
        }]);
        files.bytes("manifest.json", serde_json::to_vec(&docker)?);
        files.bytes(&format!("blobs/sha256/{}", sha256(&config)), config);
        files.bytes(&format!("blobs/sha256/{}", sha256(&manifest)), manifest);
        files.copy(&format!("blobs/sha256/{layer_digest}"), layer, 0o644);
        let mut out = io::BufWriter::new(File::create(archive)?);
        files.write(&mut out, release.time)?;
        out.flush()?;
        Ok(())
    }

    fn config(&self, release: &Release<'_>, diff_id: &str) -> Value {
        let set = |names: &[&str]| -> Value { names.iter().map(|name| ((*name).to_owned(), json!({}))).collect() };
        let mut config = json!({
            "User": format!("{NOBODY}:{NOBODY}"),
            "Env": self.environment,
            "Entrypoint": self.entrypoint,
            "Cmd": self.arguments,
            "WorkingDir": self.folder,
            "ExposedPorts": set(&self.ports),
            "Labels": self.annotations(release),
            "StopSignal": "SIGTERM",
        });
        if !self.volumes.is_empty() {
            config["Volumes"] = set(&self.volumes);
        }
        if let Some(command) = &self.health {
            config["Healthcheck"] = health(command);
        }
        json!({
            "created": release.created,
            "architecture": architecture(),
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{diff_id}")]},
            "history": [{"created": release.created, "created_by": "cargo xtask dist"}],
        })
    }

    /// The annotations that the specification defines.
    fn annotations(&self, release: &Release<'_>) -> Value {
        json!({
            "org.opencontainers.image.title": self.title,
            "org.opencontainers.image.version": release.version,
            "org.opencontainers.image.revision": release.revision,
            "org.opencontainers.image.created": release.created,
            "org.opencontainers.image.licenses": "Apache-2.0",
        })
    }
}

/// The specification's name of this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The descriptor of a document of the image.
fn described(kind: &str, bytes: &[u8]) -> Value {
    json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": format!("sha256:{}", sha256(bytes)),
        "size": bytes.len(),
    })
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A writer that hashes what passes through it.
struct Hashing<W> {
    inner: W,
    hash: Sha256,
    length: u64,
}

impl<W: Write> Hashing<W> {
    fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new(), length: 0 }
    }

    fn digest(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
