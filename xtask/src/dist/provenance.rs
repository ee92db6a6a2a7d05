//! The provenance of a release: an in-toto statement (version 1) with SLSA's predicate (provenance, version 1), which says from what and how the
//! artefacts were built. It is unsigned; the release workflow signs one of its own.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::command;
use crate::workspace;

/// What the artefacts are built from.
pub struct Source {
    /// Git commit.
    pub commit: String,
    /// Time of the commit, in seconds since 1970.
    pub time: u64,
    /// Whether files differ from the commit.
    pub is_changed: bool,
    /// The remote's address, without credentials; empty if there is none.
    pub repository: String,
}

impl Source {
    /// Reads the clone.
    pub fn read() -> Result<Self> {
        let git = |words: &[&str]| {
            let said = command::output(Command::new("git").current_dir(workspace::root()).args(words));
            said.map(|said| said.trim().to_owned())
        };
        let commit = git(&["rev-parse", "HEAD"]).context("the artefacts' source must be a git clone")?;
        let time = git(&["show", "--no-patch", "--format=%ct", "HEAD"])?;
        Ok(Self {
            commit,
            time: time.parse().with_context(|| format!("`{time}` is no time"))?,
            is_changed: !git(&["status", "--porcelain"])?.is_empty(),
            repository: git(&["remote", "get-url", "origin"]).map(|url| without_credentials(&url)).unwrap_or_default(),
        })
    }

    /// The commit's time in RFC 3339.
    pub fn created(&self) -> Result<String> {
        rfc_3339(self.time)
    }
}

/// The present time in RFC 3339.
pub fn now() -> Result<String> {
    rfc_3339(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

/// Seconds since 1970 in RFC 3339.
fn rfc_3339(seconds: u64) -> Result<String> {
    let instant = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    Ok(instant.with_context(|| format!("{seconds} is no time"))?.to_string())
}

/// The address without `user:password@`.
fn without_credentials(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => match rest.split_once('/') {
            Some((authority, path)) => {
                format!("{scheme}://{}/{path}", authority.rsplit('@').next().unwrap_or(authority))
            }
            None => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or(rest)),
        },
        None => url.to_owned(),
    }
}

/// An artefact's name and SHA-256.
pub type Subject = (String, String);

/// The statement about the artefacts.
pub fn statement(
    source: &Source,
    subjects: &[Subject],
    builder: &str,
    profile: &str,
    compilers: &[(&str, String)],
    started: &str,
) -> Result<Value> {
    let subjects: Vec<_> =
        subjects.iter().map(|(name, digest)| json!({"name": name, "digest": {"sha256": digest}})).collect();
    let file = |name: &str| -> Result<Value> {
        let bytes = std::fs::read(workspace::root().join(Path::new(name)))?;
        Ok(json!({"name": name, "digest": {"sha256": super::image::sha256(&bytes)}}))
    };
    let mut resolved = vec![json!({"uri": git_uri(source), "digest": {"gitCommit": source.commit}})];
    for name in ["Cargo.lock", "explorer/package-lock.json", "xtask/locks/npm/workerd/package-lock.json"] {
        resolved.push(file(name)?);
    }
    for (name, version) in compilers {
        resolved.push(json!({"name": name, "annotations": {"version": version}}));
    }
    Ok(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:risk-data-service:cargo-xtask-dist:v1",
                "externalParameters": {"source": git_uri(source), "profile": profile},
                "internalParameters": {"changedSinceCommit": source.is_changed, "target": std::env::consts::ARCH},
                "resolvedDependencies": resolved,
            },
            "runDetails": {
                "builder": {"id": builder},
                "metadata": {"startedOn": started, "finishedOn": now()?},
            },
        },
    }))
}

fn git_uri(source: &Source) -> String {
    match source.repository.as_str() {
        "" => format!("git+file:///@{}", source.commit),
        repository => format!("git+{repository}@{}", source.commit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_every_artefact_and_the_commit_but_no_credential() {
        assert_eq!(without_credentials("https://me:secret@host.example/a/b.git"), "https://host.example/a/b.git");
        assert_eq!(without_credentials("git@host.example:a/b.git"), "git@host.example:a/b.git");
        let source = Source {
            commit: "c0ffee".to_owned(),
            time: 0,
            is_changed: false,
            repository: "https://host.example/a/b.git".to_owned(),
        };
        let subjects = [("one.tar.gz".to_owned(), "ab".to_owned())];
        let compilers = [("rustc", "1.90.0".to_owned())];
        let said = statement(&source, &subjects, "urn:b", "release", &compilers, "1970-01-01T00:00:00Z").unwrap();
        assert_eq!(said["subject"][0]["digest"]["sha256"], "ab");
        let build = &said["predicate"]["buildDefinition"];
        assert_eq!(build["resolvedDependencies"][0]["digest"]["gitCommit"], "c0ffee");
        assert_eq!(build["externalParameters"]["source"], "git+https://host.example/a/b.git@c0ffee");
        assert_eq!(source.created().unwrap(), "1970-01-01T00:00:00Z");
    }
}
