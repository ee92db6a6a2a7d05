//! Where the key comes from, and that it is never on the command line.

use crate::run::{Ran, folder, ran, rds, server};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn status() -> Value {
    json!({"json": {"status": "operational"}})
}

fn write(file: &Path, mode: u32) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, "pk_live_file\n").unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_key_as_an_argument_is_refused_and_not_sent() {
    let server = server(&[]);
    let Ran { err, code, .. } = ran(rds(&server.address, &["service", "status", "--key", "pk_live_x"]), "");
    assert_eq!(code, 1);
    assert!(err.contains("visible to every user") && !err.contains("pk_live_x"), "{err}");
    assert_eq!(server.seen()["requests"], json!([]));
}

#[test]
fn a_key_is_taken_from_each_place() {
    let folder = folder("keys");
    let own = folder.join("rds/key");
    write(&own, 0o600);
    let file = own.display().to_string();
    let server = server(&[status(), status(), status(), status(), status()]);
    let run = |arguments: &[&str], name: &str, value: &str, input: &str| {
        let given: Vec<&str> = ["service", "status"].iter().chain(arguments).copied().collect();
        let mut rds = rds(&server.address, &given);
        rds.env(name, value);
        assert_eq!(ran(rds, input).code, 0);
    };
    run(&["--key", "-"], "RDS_API_KEY", "pk_live_environment", "pk_live_input\n");
    run(&["--key-file", &file], "RDS_API_KEY", "pk_live_environment", "");
    run(&[], "RDS_API_KEY", "pk_live_environment", "");
    run(&[], "XDG_CONFIG_HOME", &folder.display().to_string(), "");
    run(&[], "UNUSED", "", "");
    let seen = server.seen();
    let keys: Vec<&Value> =
        seen["requests"].as_array().unwrap().iter().map(|it| &it["headers"]["authorization"]).collect();
    let bearer = |key: &str| json!(format!("Bearer {key}"));
    let expected = ["pk_live_input", "pk_live_file", "pk_live_environment", "pk_live_file"].map(bearer);
    assert_eq!(keys[..4], expected.iter().collect::<Vec<_>>());
    assert_eq!(keys[4], &Value::Null);
}

#[test]
fn a_key_file_that_others_may_read_is_refused() {
    let file = folder("open-key").join("key");
    write(&file, 0o644);
    let given = ["service", "status", "--key-file", &file.display().to_string()];
    let Ran { err, code, .. } = ran(rds("http://127.0.0.1:9", &given), "");
    assert_eq!(code, 1);
    assert!(err.contains("chmod 600") && err.contains("644"), "{err}");
}
