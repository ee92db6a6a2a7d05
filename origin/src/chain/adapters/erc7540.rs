//! Asynchronous vaults: whether shares are redeemed at once or by a request.

use super::super::asked::Asked;
use super::super::state::Vault;
use super::{Adapted, Readings, Site, each};
use rds_chain::adapt::Value;
use rds_chain::adapt::erc7540::{self, Kind, Operation};
use rds_facts::ReadField;
use rds_shared::scoring::vault::Exit;
use serde_json::json;

pub(super) async fn read(site: Site<'_>, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    asked.ask(site.reader, site.block, each(vaults, erc7540::first_step)).await;
    let one = |(id, contract): &Vault<'_>| {
        let questions = erc7540::first_step(*contract);
        let kind = Kind::from_answers(asked.answers(), *contract);
        let mut readings = Readings::new(site, id);
        if let Some(exit) = exit(kind.redeem) {
            readings.add(asked, ReadField::Exit, json!(exit), &questions, None);
        }
        Adapted {
            readings: readings.found,
            holdings: None,
            is_disputed: asked.is_disputed(&questions),
            seen: asked.evidence(&questions).into_iter().next(),
            own_delay: Some(0),
        }
    };
    vaults.iter().map(one).collect()
}

/// How a depositor leaves. Somebody fulfils requests when he likes, and no function says when. That a vault redeems at once is no reading:
/// an administrator may be able to stop it.
fn exit(redeem: Value<Operation>) -> Option<Exit> {
    matches!(redeem, Ok(Operation::ByRequest)).then_some(Exit::Gated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_chain::adapt::Unknown;

    #[test]
    fn only_a_vault_that_redeems_by_request_shows_its_exit() {
        assert_eq!(exit(Ok(Operation::ByRequest)), Some(Exit::Gated));
        assert_eq!(exit(Ok(Operation::Immediate)), None);
        assert_eq!(exit(Err(Unknown::Implausible)), None);
    }
}
