//! The client, from the options that every command has.

use crate::failure::Failure;
use crate::key;
use clap::{Arg, ArgMatches, value_parser};
use risk_data_client::Client;
use std::path::PathBuf;
use std::time::Duration;

/// The options that every command has.
pub fn options() -> [Arg; 5] {
    let base = Arg::new("base-url").long("base-url").value_name("URL").env("RDS_BASE_URL").global(true);
    let key = Arg::new("key").long("key").value_name("-").global(true);
    let file =
        Arg::new("key-file").long("key-file").value_name("FILE").value_parser(value_parser!(PathBuf)).global(true);
    let timeout =
        Arg::new("timeout").long("timeout").value_name("SECONDS").value_parser(value_parser!(u64)).global(true);
    let retries = Arg::new("retries").long("retries").value_name("N").value_parser(value_parser!(u32)).global(true);
    [
        base.help("The address of the service"),
        key.help("`-` reads the key from standard input").conflicts_with("key-file"),
        file.help("A file with the key, which only you may read"),
        timeout.help("Time for one try [default: 75]"),
        retries.help("How often a request is sent again at most [default: 3]"),
    ]
    .map(|it| it.help_heading("Connection"))
}

/// The client that the options describe.
pub fn client(given: &ArgMatches) -> Result<Client, Failure> {
    let base = given.get_one::<String>("base-url");
    let base =
        base.ok_or_else(|| Failure::Usage("no address of the service: give --base-url or set RDS_BASE_URL".into()))?;
    let version = env!("CARGO_PKG_VERSION");
    let mut builder = Client::builder(base).header("user-agent", format!("rds/{version}"));
    let file = given.get_one::<PathBuf>("key-file");
    if let Some(key) = key::find(given.get_one::<String>("key").map(String::as_str), file.map(PathBuf::as_path))? {
        builder = builder.api_key(key);
    }
    if let Some(seconds) = given.get_one::<u64>("timeout") {
        builder = builder.timeout(Duration::from_secs(*seconds));
    }
    if let Some(most) = given.get_one::<u32>("retries") {
        builder = builder.max_retries(*most);
    }
    Ok(builder.build()?)
}
