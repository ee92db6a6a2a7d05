//! A portfolio as CSV: the columns `vault` and `amount`.

use crate::failure::Failure;
use risk_data_client::types::GraphCheckPosition;

/// Reads the positions. Other columns are ignored.
pub fn read(text: &str, name: &str) -> Result<Vec<GraphCheckPosition>, Failure> {
    let fault = |line: u64, what: &str| Failure::Usage(format!("{name}, line {line}: {what}"));
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| fault(1, &error.to_string()))?.clone();
    let column = |names: [&str; 2]| header.iter().position(|it| names.iter().any(|name| it.eq_ignore_ascii_case(name)));
    let (vault, amount) = (column(["vault", "vaultKey"]), column(["amount", "amountUsd"]));
    let Some((vault, amount)) = vault.zip(amount) else {
        return Err(fault(1, "the header must have the columns `vault` and `amount`"));
    };
    let mut positions = Vec::new();
    for record in reader.records() {
        let record =
            record.map_err(|error| fault(error.position().map_or(0, csv::Position::line), &error.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let key = record.get(vault).unwrap_or_default();
        let told = record.get(amount).unwrap_or_default();
        if !key.split_once(':').is_some_and(|(chain, address)| chain.parse::<u64>().is_ok() && !address.is_empty()) {
            return Err(fault(line, &format!("`{key}` is no vault: write the chain id, a colon and the address")));
        }
        let value: f64 =
            told.replace('_', "").parse().map_err(|_| fault(line, &format!("`{told}` is no amount in USD")))?;
        if !value.is_finite() || value < 0.0 {
            return Err(fault(line, &format!("`{told}` is no amount in USD")));
        }
        let mut position = GraphCheckPosition::default();
        key.clone_into(&mut position.vault_key);
        position.amount_usd = value;
        positions.push(position);
    }
    if positions.is_empty() {
        return Err(Failure::Usage(format!("{name} has no positions")));
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_and_other_columns_ignored() {
        let read = read("Amount,note,Vault\n1_000.5,\"a, b\", 1:0xab \n2,,10:0xcd\n", "book.csv").unwrap();
        let told: Vec<(&str, f64)> = read.iter().map(|it| (it.vault_key.as_str(), it.amount_usd)).collect();
        assert_eq!(told, [("1:0xab", 1000.5), ("10:0xcd", 2.0)]);
    }

    #[test]
    fn a_fault_is_told_with_its_line() {
        let fault = |text: &str| read(text, "book.csv").unwrap_err().to_string();
        assert_eq!(fault("a,b\n"), "book.csv, line 1: the header must have the columns `vault` and `amount`");
        assert_eq!(fault("vault,amount\n1:0xab,many\n"), "book.csv, line 2: `many` is no amount in USD");
        assert_eq!(fault("vault,amount\n1:0xab,-1\n"), "book.csv, line 2: `-1` is no amount in USD");
        assert!(fault("vault,amount\n1:0xab,1\n0xab,1\n").starts_with("book.csv, line 3: `0xab` is no vault"));
        assert_eq!(fault("vault,amount\n"), "book.csv has no positions");
    }
}
