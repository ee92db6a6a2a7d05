//! The registry of signers: from a file, or fetched.

use crate::connection;
use crate::failure::Failure;
use crate::read::text_of;
use clap::ArgMatches;
use risk_data_client::decisions::Signer;
use risk_data_client::serde_json::{self, Value};
use risk_data_client::types::SignerListParams;
use std::path::{Path, PathBuf};

/// The registry that a verification rests on.
pub async fn find(given: &ArgMatches) -> Result<Vec<Signer>, Failure> {
    match given.get_one::<PathBuf>("signers") {
        Some(file) => read(file),
        None => {
            let rows = connection::client(given)?.graph().signers(SignerListParams::default()).rows().collect().await?;
            Ok(rows.iter().map(Signer::from).collect())
        }
    }
}

/// An answer of `/v1/graph/signers`, or its `data`.
fn read(file: &Path) -> Result<Vec<Signer>, Failure> {
    let fault = |what: String| Failure::Usage(format!("{} is no registry of signers: {what}", file.display()));
    let mut value: Value = serde_json::from_str(&text_of(file)?).map_err(|error| fault(error.to_string()))?;
    let rows = value.get_mut("data").map(Value::take).unwrap_or(value);
    serde_json::from_value(rows).map_err(|error| fault(error.to_string()))
}
