//! Running the program.

use crate::server::Server;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The clone.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A scripted server that plays these exchanges.
pub fn server(exchanges: &[Value]) -> Server {
    let server = Server::start(&repository().join("clients/behaviours/server.mjs"));
    server.script(&json!(exchanges));
    server
}

/// A folder for one test, empty at its start.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The program, without a key and without the user's own configuration.
pub fn rds(base: &str, arguments: &[&str]) -> Command {
    let mut rds = Command::new(env!("CARGO_BIN_EXE_rds"));
    rds.args(arguments).env_clear().env("XDG_CONFIG_HOME", env!("CARGO_TARGET_TMPDIR"));
    if !base.is_empty() {
        rds.env("RDS_BASE_URL", base);
    }
    rds
}

/// What a program printed, and how it ended.
pub struct Ran {
    pub out: String,
    pub err: String,
    pub code: i32,
}

/// Runs the program with this standard input.
pub fn ran(mut command: Command, input: &str) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read its input may have ended already.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { out: text(stdout), err: text(stderr), code: status.code().unwrap() }
}

/// Two vaults with what a table needs, in the order in which a service writes their members.
pub const VAULTS: &str = r#"[
    {"name": "Willow \"A\"", "asset_symbol": "USDC", "total_score": 7.5, "tags": ["a", "b"], "novel": null},
    {"name": "Elm, 2", "asset_symbol": null, "total_score": 10, "tags": []}
]"#;

/// The two vaults as JSON.
pub fn vaults() -> Value {
    serde_json::from_str(VAULTS).unwrap()
}
