//! The user that runs Postgres. Postgres refuses to run as root, so root switches to another user.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// A user by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
}

/// Whether this process is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user to switch to when this process is root: `postgres` if it exists, else `nobody`. `None` for an ordinary user.
pub fn dropped() -> Result<Option<Ids>> {
    if !is_root() {
        return Ok(None);
    }
    let accounts = std::fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| entry(&accounts, name))
        .map(Some)
        .context("Postgres cannot run as root, and /etc/passwd has neither `postgres` nor `nobody`")
}

fn entry(accounts: &str, name: &str) -> Option<Ids> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then_some(())?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Ids { uid, gid })
    })
}

/// Makes the command run as `ids`. The standard library also clears root's supplementary groups.
pub fn run_as(command: &mut Command, ids: Option<Ids>) {
    if let Some(Ids { uid, gid }) = ids {
        command.uid(uid).gid(gid);
    }
}

/// Changes the owner of a path to `ids`, and its mode.
pub fn hand_over(path: &Path, ids: Option<Ids>, mode: u32) -> Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    if let Some(Ids { uid, gid }) = ids {
        chown(path, Some(uid), Some(gid)).with_context(|| format!("cannot chown {} to uid {uid}", path.display()))?;
    }
    Ok(())
}

/// Whether `ids` can enter every folder down to `path`. Folders that do not exist yet count as accessible.
pub fn can_traverse(path: &Path, ids: Option<Ids>) -> bool {
    let Some(Ids { uid, gid }) = ids else {
        return true;
    };
    path.ancestors().all(|folder| {
        let Ok(facts) = std::fs::metadata(folder) else {
            return true;
        };
        let bit = if facts.uid() == uid {
            0o100
        } else if facts.gid() == gid {
            0o010
        } else {
            0o001
        };
        facts.mode() & bit != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_full_name() {
        let accounts = "postgresql:x:7:8::/:/bin/sh\npostgres:x:101:104:admin:/var:/bin/bash\n";
        assert_eq!(entry(accounts, "postgres"), Some(Ids { uid: 101, gid: 104 }));
        assert_eq!(entry(accounts, "nobody"), None);
    }
}
