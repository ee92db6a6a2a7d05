//! Hard-fail flags: conditions that cap an asset's score at once, and how a flag expires.
//!
//! A flag's state follows from its events in order of time: a trigger makes it active, a clearance starts its cooldown, and the end of the
//! cooldown removes it. The cap applies until then. A new trigger makes the flag active again.

use crate::scoring::{MilliPoints, named_enum, tables};
use crate::wire::time::Timestamp;
use alloc::string::String;
use core::fmt;
use serde::{Serialize, Serializer};

named_enum! {
    /// A condition that caps an asset's score while it applies and for a cooldown afterwards.
    ///
    /// Ordered by ascending cap: the first active flag has the lowest cap.
    pub enum HardFailFlag {
        /// The issuer, the contract or a reserve address is on a sanctions list.
        SanctionsExposure = "sanctions_exposure",
        /// Funds are being stolen, or were stolen and the vulnerability is still open.
        ActiveExploit = "active_exploit",
        /// The issuer failed to honour a due claim.
        IssuerDefault = "issuer_default",
        /// There was an unauthorised mint, or a mint key is known to have leaked.
        MintKeyCompromise = "mint_key_compromise",
        /// The price deviated from the reference by at least 5 % for 24 hours, time-weighted.
        DepegSevere = "depeg_severe",
        /// Redemption is closed contrary to its published terms.
        RedemptionSuspended = "redemption_suspended",
        /// The minting or burning side of the bridge has stopped.
        BridgeHalted = "bridge_halted",
        /// The token contract's source is not verified.
        UnverifiedContract = "unverified_contract",
        /// One externally owned key can mint.
        EoaMintAuthority = "eoa_mint_authority",
        /// The price deviated from the reference by at least 2 % for 24 hours, time-weighted.
        DepegActive = "depeg_active",
        /// The reserve attestation is older than two cadences.
        AttestationOverdue = "attestation_overdue",
    }
}

impl HardFailFlag {
    /// A short explanation, published with the overlay.
    pub const fn reason(self) -> &'static str {
        match self {
            HardFailFlag::SanctionsExposure => "exposed to sanctions",
            HardFailFlag::ActiveExploit => "exploit in progress",
            HardFailFlag::IssuerDefault => "issuer defaulted",
            HardFailFlag::MintKeyCompromise => "mint key compromised",
            HardFailFlag::DepegSevere => "severely off its peg",
            HardFailFlag::RedemptionSuspended => "redemption suspended",
            HardFailFlag::BridgeHalted => "bridge halted",
            HardFailFlag::UnverifiedContract => "contract not verified",
            HardFailFlag::EoaMintAuthority => "one key can mint",
            HardFailFlag::DepegActive => "off its peg",
            HardFailFlag::AttestationOverdue => "attestation overdue",
        }
    }
}

/// The flags that cap an asset now: active or in cooldown. Iterates and serialises in the order of [`HardFailFlag::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardFailSet(u16);

impl HardFailSet {
    pub fn insert(&mut self, flag: HardFailFlag) {
        self.0 |= 1 << flag as u16;
    }

    pub const fn contains(self, flag: HardFailFlag) -> bool {
        self.0 >> flag as u16 & 1 == 1
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The flags, lowest cap first.
    pub fn iter(self) -> impl Iterator<Item = HardFailFlag> {
        HardFailFlag::ALL.iter().copied().filter(move |flag| self.contains(*flag))
    }

    /// The lowest cap of the set; the `hard_fail_cap` of a vault's exposure to the asset. `None` for an empty set.
    pub fn lowest_cap(self) -> Option<MilliPoints> {
        self.iter().map(tables::hard_fail_cap).min()
    }
}

impl FromIterator<HardFailFlag> for HardFailSet {
    fn from_iter<I: IntoIterator<Item = HardFailFlag>>(flags: I) -> Self {
        let mut set = HardFailSet::default();
        flags.into_iter().for_each(|flag| set.insert(flag));
        set
    }
}

impl Serialize for HardFailSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

named_enum! {
    /// What an event does to a hard-fail flag.
    pub enum Transition {
        Triggered = "triggered",
        Cleared = "cleared",
    }
}

/// One event of one flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardFailEvent {
    pub at: Timestamp,
    pub transition: Transition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagState {
    /// Never raised, or its cooldown is over.
    Gone,
    /// Raised and not cleared.
    Active {
        /// Time of the trigger that made the flag active; later triggers do not change it.
        since: Timestamp,
    },
    /// Cleared; the cap still applies.
    CoolingDown {
        /// The first instant without the cap.
        until: Timestamp,
    },
}

impl FlagState {
    /// The state of `flag` at `now`, from its events in order of time. Events after `now` are ignored.
    pub fn at(flag: HardFailFlag, events: &[HardFailEvent], now: Timestamp) -> FlagState {
        let cooldown_seconds = tables::hard_fail_cooldown_days(flag) * 86_400;
        let happened = events.iter().filter(|event| event.at <= now);
        let state = happened.fold(FlagState::Gone, |state, event| match (state, event.transition) {
            (FlagState::Active { .. }, Transition::Triggered) => state,
            (_, Transition::Triggered) => FlagState::Active { since: event.at },
            (FlagState::Active { .. }, Transition::Cleared) => {
                FlagState::CoolingDown { until: event.at.plus_seconds(cooldown_seconds) }
            }
            // Clearing a flag that is not active must not prolong its cooldown.
            (_, Transition::Cleared) => state,
        });
        match state {
            FlagState::CoolingDown { until } if until <= now => FlagState::Gone,
            _ => state,
        }
    }

    /// Whether the flag's cap applies.
    pub const fn caps(self) -> bool {
        !matches!(self, FlagState::Gone)
    }
}

/// A decision by two people to suspend the cap of a hard-fail flag until the override expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Override {
    /// The flag whose cap is suspended.
    flag: HardFailFlag,
    /// The person who proposed the override.
    preparer: String,
    /// The second person, who approved it.
    approver: String,
    /// The reason given for the override.
    reason: String,
    /// When the override ends and the flag caps the score again.
    expires_at: Timestamp,
}

/// Why an override was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverrideError {
    /// Preparer and approver are the same person, or one is missing.
    NotSeconded,
    /// No reason was given.
    NoReason,
    /// The expiry is not in the future.
    AlreadyExpired,
}

impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OverrideError::NotSeconded => "an override needs a second person's approval",
            OverrideError::NoReason => "an override needs a reason",
            OverrideError::AlreadyExpired => "an override must expire in the future",
        })
    }
}

impl core::error::Error for OverrideError {}

impl Override {
    /// Checks the four-eyes rule, the reason and the expiry.
    pub fn new(
        flag: HardFailFlag,
        (preparer, approver): (&str, &str),
        reason: &str,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Self, OverrideError> {
        let (preparer, approver, reason) = (preparer.trim(), approver.trim(), reason.trim());
        if preparer.is_empty() || approver.is_empty() || preparer.eq_ignore_ascii_case(approver) {
            return Err(OverrideError::NotSeconded);
        }
        if reason.is_empty() {
            return Err(OverrideError::NoReason);
        }
        if expires_at <= now {
            return Err(OverrideError::AlreadyExpired);
        }
        Ok(Override { flag, preparer: preparer.into(), approver: approver.into(), reason: reason.into(), expires_at })
    }

    /// Whether the override is in force at `now`.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Whether the override lifts `flag` at `now`.
    pub fn lifts(&self, flag: HardFailFlag, now: Timestamp) -> bool {
        self.flag == flag && self.is_in_force(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use HardFailFlag::{DepegActive, IssuerDefault};

    const DAY: i64 = 86_400;

    fn on_day(day: i64) -> Timestamp {
        Timestamp::from_seconds(day * DAY)
    }

    fn raised(day: i64) -> HardFailEvent {
        HardFailEvent { at: on_day(day), transition: Transition::Triggered }
    }

    fn cleared(day: i64) -> HardFailEvent {
        HardFailEvent { at: on_day(day), transition: Transition::Cleared }
    }

    #[test]
    fn the_cap_applies_exactly_until_the_cooldown_ends() {
        let events = [raised(1), cleared(3)];
        assert_eq!(FlagState::at(DepegActive, &events, on_day(0)), FlagState::Gone);
        assert_eq!(FlagState::at(DepegActive, &events, on_day(2)), FlagState::Active { since: on_day(1) });
        let just_before = on_day(10).plus_seconds(-1);
        assert_eq!(FlagState::at(DepegActive, &events, just_before), FlagState::CoolingDown { until: on_day(10) });
        assert_eq!(FlagState::at(DepegActive, &events, on_day(10)), FlagState::Gone);
        assert!(FlagState::at(IssuerDefault, &events, on_day(32)).caps());
    }

    #[test]
    fn a_new_trigger_reactivates_the_flag_and_a_second_clear_does_not_prolong_the_cooldown() {
        let events = [raised(1), cleared(3), cleared(9), raised(9)];
        assert_eq!(FlagState::at(DepegActive, &events[..3], on_day(10)), FlagState::Gone);
        assert_eq!(FlagState::at(DepegActive, &events, on_day(100)), FlagState::Active { since: on_day(9) });
    }

    #[test]
    fn an_override_needs_two_people_a_reason_and_a_future_expiry() {
        let make = |people, reason, day| Override::new(DepegActive, people, reason, on_day(day), on_day(1)).err();
        assert_eq!(make(("ann", "Ann "), "feed fault", 2), Some(OverrideError::NotSeconded));
        assert_eq!(make(("ann", "bo"), " ", 2), Some(OverrideError::NoReason));
        assert_eq!(make(("ann", "bo"), "feed fault", 1), Some(OverrideError::AlreadyExpired));
        let valid = Override::new(DepegActive, ("ann", "bo"), "feed fault", on_day(2), on_day(1)).unwrap();
        assert!(valid.lifts(DepegActive, on_day(1)) && !valid.lifts(DepegActive, on_day(2)));
        assert!(!valid.lifts(IssuerDefault, on_day(1)));
    }
}
