//! What the providers of a chain serve, for `chain check` and `doctor`.

use rds_chain::Block;
use rds_rpc::agree::{NoTarget, Reader, Target};
use rds_rpc::check::Check;
use rds_rpc::file::Chain;
use rds_rpc::provider::BadAddress;
use rds_rpc::served::{GasLimit, Served, StateSince};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

/// What the providers of one chain serve.
pub(in crate::cli) struct Checked {
    chain_id: u64,
    providers: Vec<(Check, Served)>,
    target: Result<Target, NoTarget>,
}

/// Asks the providers of a chain.
pub(in crate::cli) async fn check(chain: &Chain) -> Result<Checked, BadAddress> {
    let reader = Reader::new(chain)?;
    let (checks, target) = (reader.check().await, reader.target().await);
    let rungs: Vec<_> = checks.iter().map(|check| check.rung.clone()).collect();
    let served = reader.served(&rungs).await;
    Ok(Checked { chain_id: chain.chain_id, providers: checks.into_iter().zip(served).collect(), target })
}

impl Checked {
    /// Whether every provider can be used, and enough operators name one block. A provider without an archive can be used.
    pub(in crate::cli) fn is_good(&self) -> bool {
        self.target.is_ok() && self.providers.iter().all(|(check, _)| self.fault(check).is_none())
    }

    /// One line for each provider and one for the chain, and whether each is good.
    pub(in crate::cli) fn lines(&self, now: Timestamp) -> Vec<(bool, String)> {
        let mut lines: Vec<(bool, String)> = self.providers.iter().map(|it| self.line(it, now)).collect();
        lines.push(match &self.target {
            Ok(Target { block, operators }) => {
                let named = operators.join(", ");
                (true, format!("reads at block {}, {}, named by {named}", block.id.number, age(block, now)))
            }
            Err(reason) => (false, format!("reads nothing: {reason}")),
        });
        lines
    }

    /// Why the provider cannot be used for the chain.
    fn fault(&self, check: &Check) -> Option<String> {
        match (&check.chain_id, &check.final_block, &check.rung) {
            (Err(failure), _, _) | (_, Err(failure), _) | (_, _, Err(failure)) => Some(failure.to_string()),
            (Ok(served), _, _) if *served != self.chain_id => Some(format!("it serves chain {served}")),
            _ => None,
        }
    }

    fn line(&self, (check, served): &(Check, Served), now: Timestamp) -> (bool, String) {
        let Check { operator, final_block, rung, .. } = check;
        let (is_good, detail) = match (self.fault(check), final_block, rung) {
            (None, Ok(block), Ok(rung)) => {
                let (number, age, rung) = (block.id.number, age(block, now), rung.as_str());
                (true, format!("final block {number}, {age}; reads by {rung}; {}; {}", state(served), gas(served)))
            }
            (fault, _, _) => (false, fault.unwrap_or_default()),
        };
        (is_good, format!("{operator:<24} {detail}"))
    }

    /// The same for machines.
    pub(in crate::cli) fn value(&self) -> Value {
        let block =
            |block: &Block| json!({"number": block.id.number, "hash": block.id.hash.to_string(), "time": block.time});
        let provider = |(check, served): &(Check, Served)| {
            json!({
                "operator": check.operator,
                "fault": self.fault(check),
                "chain_id": check.chain_id.as_ref().ok(),
                "final_block": check.final_block.as_ref().ok().map(block),
                "reads_by": check.rung.as_ref().ok().map(|rung| rung.as_str()),
                "state_since_block": served.state_since.as_ref().ok().map(|since| since.block),
                "is_archive": served.state_since.as_ref().ok().map(|since| since.is_archive()),
                "gas_of_a_call": served.gas.as_ref().ok().map(|gas| gas.served()),
            })
        };
        let target = self.target.as_ref();
        json!({
            "chain_id": self.chain_id,
            "providers": self.providers.iter().map(provider).collect::<Vec<_>>(),
            "target": target.ok().map(|it| json!({"block": block(&it.block), "operators": it.operators})),
            "reason": target.err().map(ToString::to_string),
        })
    }
}

fn state(served: &Served) -> String {
    match &served.state_since {
        Ok(since) if since.is_archive() => "archive".to_owned(),
        Ok(StateSince { depth, .. }) => format!("state of the last {depth} blocks at least, no archive"),
        Err(failure) => format!("no earlier state: {failure}"),
    }
}

fn gas(served: &Served) -> String {
    let million = |gas: u64| format!("{}.{} million", gas / 1_000_000, gas / 100_000 % 10);
    match &served.gas {
        Ok(GasLimit::Capped(gas)) => format!("gives a call {} gas", million(*gas)),
        Ok(GasLimit::Refused { served, refused }) => {
            format!("gives a call {} gas, and refuses {}", million(*served), million(*refused))
        }
        Ok(GasLimit::AtLeast(gas)) => format!("gives a call {} gas or more", million(*gas)),
        Err(failure) => format!("the gas of a call is not known: {failure}"),
    }
}

fn age(block: &Block, now: Timestamp) -> String {
    let seconds = i64::try_from(block.time).map_or(0, |time| now.seconds_since(Timestamp::from_seconds(time)));
    format!("{seconds} s old")
}
