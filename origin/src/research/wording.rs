//! What a backtest says of itself: how it was made, for what it tests and counts, and what stands in its way.

use rds_shared::model::research::{Backtest, Grouping, Signal};
use rds_shared::research::outcome::{BASE_WITHIN_DAYS, LEAP, LOSS_FROM_BP, OutcomeKind};

/// So many groups that lost are no longer few.
const NOT_FEW: u64 = 30;
const ONE_PERCENT_BP: i64 = 100;

/// How a backtest is made.
pub fn method(signal: Signal, outcome: OutcomeKind) -> String {
    let value = match signal {
        Signal::PublishedScore => "The value is the score that was published then.",
        Signal::HistoryVector => {
            "The value is the history vector, made again from prices and incidents that are dated at or before the instant: an \
             incident counts from its date, whenever it became known."
        }
    };
    let loss = match outcome {
        OutcomeKind::PriceLoss => format!(
            "A loss is a fall of the price per share of at least {} percent from its running peak within the window. A window \
             without one counts only when a price in its last quarter differs from the one before it, for sources publish the last \
             price again where they read none; the others are unobserved, and repeated says how many of them had such prices.",
            LOSS_FROM_BP / ONE_PERCENT_BP
        ),
        OutcomeKind::Incident => {
            "A loss is a published incident dated within the window, of the vault, or of its protocol and \
             counted against it. Every look is a sample, whether or not prices go on: of a window in which nothing was \
             published, no incident is known."
                .to_owned()
        }
    };
    let grouping = match Grouping::of(outcome) {
        Grouping::Vault => "vaults",
        Grouping::Protocol => "protocols",
    };
    format!(
        "Instants one horizon apart, back from the newest price, so that no two windows overlap. At each, every vault with a price \
         of the {BASE_WITHIN_DAYS} days before is looked at once. {value} {loss} Vaults whose price ever rose more than {LEAP} times \
         between two prices are left out, for their series are broken. auc is the share of pairs of a lossy and a lossless sample \
         in which the lossy one had the lower value, ties counting half. Its interval is as wide as chance makes it 95 times of \
         100 for the effective number of {grouping} on each side (Kish: the square of the samples over the sum of the squares of \
         each one's); an approximation."
    )
}

/// What stands in the way of a backtest that was drawn from so many instants.
pub fn weaknesses(found: &Backtest, instants: usize) -> Vec<String> {
    let few = if found.loss_groups < NOT_FEW { " These are few." } else { "" };
    let mut said = vec![
        format!(
            "{} of {} vaults of {} protocols lost, at {instants} instants.{few} Losses of one instant may have one cause.",
            found.loss_vaults, found.vaults, found.protocols
        ),
        "Vaults whose price nobody read are not in it, and those that failed may be among them.".to_owned(),
    ];
    if found.protocols == 1 {
        said.push("All of them are of one protocol: of others it says nothing.".to_owned());
    }
    if found.broken_series > 0 {
        let count = found.broken_series;
        said.push(format!("{count} vaults are left out for broken prices; a loss may have been among their steps."));
    }
    match found.signal {
        Signal::PublishedScore => said.push("Scores stand only since this service published them.".to_owned()),
        Signal::HistoryVector => {
            said.push("The history vector is 15 percent of a score; the other three are not tested by it.".to_owned());
            said.push("Age is counted from the deployment or first sight that is known today; whether an incident was resolved is today's knowledge; incidents count before they became known; a fall of deposits is left out.".to_owned());
            said.push(
                "A fall before the instant lowers the vector, so that falls which go on are foreseen by it.".to_owned(),
            );
        }
    }
    match found.outcome {
        OutcomeKind::PriceLoss => {
            let percent = LOSS_FROM_BP / ONE_PERCENT_BP;
            said.push(format!(
                "A fall of {percent} percent need not be a loss of depositors: prices of some vaults move with what they hold, and that of an emptied one may begin anew."
            ));
            said.push(format!(
                "{} further windows have prices that only repeat: had nobody lost there, or had somebody, it would not be seen.",
                found.repeated
            ));
            said.push(
                "A fall is dated by the price that shows it; it may have happened since the last one that was read."
                    .to_owned(),
            );
        }
        OutcomeKind::Incident => {
            said.push("Only incidents that were reported and linked to a vault or its protocol are known.".to_owned())
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::research::{Discrimination, Horizon};

    #[test]
    fn each_outcome_is_told_by_its_own_rule_and_nothing_is_called_known_that_was_not() {
        for signal in Signal::ALL.iter().copied() {
            let price = method(signal, OutcomeKind::PriceLoss);
            let incident = method(signal, OutcomeKind::Incident);
            assert!(price.contains("its last quarter") && price.contains("number of vaults"), "{price}");
            assert!(!incident.contains("last quarter") && incident.contains("number of protocols"), "{incident}");
            assert!(!price.contains("known then") && !incident.contains("known then"));
        }
        let said = method(Signal::HistoryVector, OutcomeKind::PriceLoss);
        assert!(said.contains("counts from its date, whenever it became known"), "{said}");
    }

    #[test]
    fn few_is_said_where_there_are_few() {
        let found = Discrimination::of(&[]);
        let said = |loss_groups| {
            let backtest = Backtest::of(Signal::HistoryVector, OutcomeKind::PriceLoss, Horizon::Month, &found);
            weaknesses(&Backtest { loss_groups, ..backtest }, 7).concat()
        };
        assert!(said(NOT_FEW - 1).contains("few") && !said(NOT_FEW).contains("few"));
    }
}
