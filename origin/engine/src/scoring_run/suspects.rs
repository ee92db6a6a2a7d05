//! The vaults because of which a run is held back, for the log: the first few of each kind, and the number of others.

use rds_shared::scoring::sanity_checks::{RunFacts, Withheld};
use std::fmt;

/// Vaults named per kind, so that a log line stays short.
const NAMED: usize = 10;

/// The vaults that failed a sanity check, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspects {
    non_finite: FirstIds,
    contradicting: FirstIds,
    moving: FirstIds,
}

impl Suspects {
    /// Adds the vault `id` to each kind whose count increased from `before` to `after`.
    pub fn note(&mut self, id: &str, before: &RunFacts, after: &RunFacts) {
        for (few, is_so) in [
            (&mut self.non_finite, after.non_finite_inputs > before.non_finite_inputs),
            (&mut self.contradicting, after.contradictions > before.contradictions),
            (&mut self.moving, after.moved > before.moved),
        ] {
            if is_so {
                few.add(id);
            }
        }
    }

    /// The vaults that failed the check `reason`; empty if the check concerns all vaults together.
    pub fn of(&self, reason: Withheld) -> &FirstIds {
        const NONE: &FirstIds = &FirstIds { named: Vec::new(), more: 0 };
        match reason {
            Withheld::NonFiniteInput => &self.non_finite,
            Withheld::Contradiction => &self.contradicting,
            Withheld::MassMove => &self.moving,
            Withheld::StaleInputs => NONE,
        }
    }
}

/// The first few ids, and the number of others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstIds {
    named: Vec<String>,
    more: u64,
}

impl FirstIds {
    fn add(&mut self, id: &str) {
        match self.named.len() < NAMED {
            true => self.named.push(id.to_owned()),
            false => self.more += 1,
        }
    }
}

impl fmt::Display for FirstIds {
    /// Formats as `a, b and 3 more`; `all` if no vault is named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.named.as_slice(), self.more) {
            ([], _) => f.write_str("all"),
            (named, 0) => f.write_str(&named.join(", ")),
            (named, more) => write!(f, "{} and {more} more", named.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vault_is_named_for_what_it_did_and_the_line_stays_short() {
        let mut suspects = Suspects::default();
        let (calm, mut facts) = (RunFacts::default(), RunFacts::default());
        suspects.note("calm", &calm, &calm);
        facts.moved = 1;
        for number in 0..NAMED + 3 {
            suspects.note(&format!("v{number}"), &calm, &facts);
        }
        facts = RunFacts { non_finite_inputs: 2, ..calm };
        suspects.note("odd", &calm, &facts);
        assert_eq!(suspects.of(Withheld::NonFiniteInput).to_string(), "odd");
        assert_eq!(suspects.of(Withheld::Contradiction).to_string(), "all", "nobody stands out");
        let told = suspects.of(Withheld::MassMove).to_string();
        assert!(told.starts_with("v0, v1, ") && told.ends_with("v9 and 3 more") && !told.contains("calm"), "{told}");
        assert_eq!(suspects.of(Withheld::StaleInputs).to_string(), "all");
    }
}
