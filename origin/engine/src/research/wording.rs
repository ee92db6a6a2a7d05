//! Texts of a backtest: its method, by signal and outcome, and its weaknesses.

use rds_shared::model::research::{Backtest, Grouping, Signal};
use rds_shared::research::outcome::{BASE_WITHIN_DAYS, LOSS_FROM_BP, MAX_PRICE_RISE, OutcomeKind};

/// Minimum number of groups with losses for which the text does not warn of a small number.
const MIN_LOSS_GROUPS_WITHOUT_WARNING: u64 = 30;
const ONE_PERCENT_BP: i64 = 100;

/// The text that describes how a backtest was made.
pub fn method(signal: Signal, outcome: OutcomeKind) -> String {
    let value = match signal {
        Signal::PublishedScore => "The value is the score published at that instant.",
        Signal::HistoryVector => {
            "The value is the history vector, recomputed from prices and incidents dated at or before the instant. An incident \
             counts from its date, even if it became known later."
        }
    };
    let loss = match outcome {
        OutcomeKind::PriceLoss => format!(
            "A loss is a fall of the price per share of at least {} percent from its running peak within the window. A window \
             without a loss counts only if a price in its last quarter differs from the previous price, because sources repeat the \
             last price when they cannot read a new one. The other windows are unobserved; repeated is how many of them had \
             repeated prices.",
            LOSS_FROM_BP / ONE_PERCENT_BP
        ),
        OutcomeKind::Incident => {
            "A loss is a published incident dated within the window that affects the vault, or affects its protocol and \
             counts against the vault. Every observation is a sample, even if the vault's prices end: a window without a \
             published incident counts as one without a loss."
                .to_owned()
        }
    };
    let grouping = match Grouping::of(outcome) {
        Grouping::Vault => "vaults",
        Grouping::Protocol => "protocols",
    };
    format!(
        "Instants are one horizon apart, counted back from the newest price, so that windows do not overlap. At each instant, \
         every vault with a price in the preceding {BASE_WITHIN_DAYS} days is one sample. {value} {loss} Vaults whose price ever \
         rose more than {MAX_PRICE_RISE} times from one price to the next are left out, because their series are broken. auc is the share of \
         pairs of a sample with and a sample without a loss in which the former had the lower value; ties count half. Its interval \
         is an approximate 95 percent confidence interval for the effective number of {grouping} on each side (Kish: the squared \
         number of samples over the sum of the squared numbers per group)."
    )
}

/// The weaknesses of a backtest that was drawn from `instants` instants.
pub fn weaknesses(found: &Backtest, instants: usize) -> Vec<String> {
    let few = if found.loss_groups < MIN_LOSS_GROUPS_WITHOUT_WARNING { " This is a small number." } else { "" };
    let mut said = vec![
        format!(
            "{} of {} vaults of {} protocols had a loss, at {instants} instants.{few} Losses at one instant may have a common cause.",
            found.loss_vaults, found.vaults, found.protocols
        ),
        "Vaults without observed prices are not included; failed vaults may be among them.".to_owned(),
    ];
    if found.protocols == 1 {
        said.push("All vaults belong to one protocol, so the result does not apply to others.".to_owned());
    }
    if found.broken_series > 0 {
        let count = found.broken_series;
        said.push(format!(
            "{count} vaults are left out because their price series are broken; some of them may have had losses."
        ));
    }
    match found.signal {
        Signal::PublishedScore => {
            said.push("Scores exist only for the time since this service has published them.".to_owned())
        }
        Signal::HistoryVector => {
            said.push(
                "The history vector is 15 percent of a score; the other three vectors are not tested.".to_owned(),
            );
            said.push("Later knowledge is used: a vault's age is counted from the deployment or first observation known today, incidents count from before they became known, and whether they are resolved is as of today. Halved deposits are left out.".to_owned());
            said.push(
                "A fall before the instant lowers the vector, so continuing falls count as predicted.".to_owned(),
            );
        }
    }
    match found.outcome {
        OutcomeKind::PriceLoss => {
            let percent = LOSS_FROM_BP / ONE_PERCENT_BP;
            said.push(format!(
                "A fall of {percent} percent is not always a loss to depositors: the prices of some vaults follow the assets they hold, and the price of an emptied vault may restart."
            ));
            said.push(format!(
                "{} further windows have only repeated prices, which would not show a loss.",
                found.repeated
            ));
            said.push(
                "A fall is dated by the first price that shows it; it may have happened at any time since the price before."
                    .to_owned(),
            );
        }
        OutcomeKind::Incident => {
            said.push("Only reported incidents that are linked to a vault or its protocol are included.".to_owned())
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::research::{Discrimination, Horizon};

    #[test]
    fn each_outcome_is_described_by_its_own_rule_and_later_knowledge_is_not_called_known() {
        for signal in Signal::ALL.iter().copied() {
            let price = method(signal, OutcomeKind::PriceLoss);
            let incident = method(signal, OutcomeKind::Incident);
            assert!(price.contains("its last quarter") && price.contains("number of vaults"), "{price}");
            assert!(!incident.contains("last quarter") && incident.contains("number of protocols"), "{incident}");
            assert!(!price.contains("known then") && !incident.contains("known then"));
        }
        let said = method(Signal::HistoryVector, OutcomeKind::PriceLoss);
        assert!(said.contains("counts from its date, even if it became known later"), "{said}");
    }

    #[test]
    fn a_small_number_of_losses_is_stated_as_a_weakness() {
        let found = Discrimination::of(&[]);
        let said = |loss_groups| {
            let backtest = Backtest::of(Signal::HistoryVector, OutcomeKind::PriceLoss, Horizon::Month, &found);
            weaknesses(&Backtest { loss_groups, ..backtest }, 7).concat()
        };
        let is_small = |loss_groups| said(loss_groups).contains("a small number");
        assert!(is_small(MIN_LOSS_GROUPS_WITHOUT_WARNING - 1) && !is_small(MIN_LOSS_GROUPS_WITHOUT_WARNING));
    }
}
