//! Other vaults: farms, leverage, credit, and vaults with too little data.

use super::Cast;
use crate::vault::{Campaign, Control};
use rds_facts::{Signing, SigningKeyword};
use rds_shared::model::status::{DepositStatus, WithdrawStatus};
use rds_shared::scoring::vault::{Exit, Source};

pub(super) fn enter(cast: &mut Cast) {
    farms(cast);
    risky(cast);
    little_known(cast);
}

fn farms(cast: &mut Cast) {
    // Most of the yield comes from reward campaigns, and one of the campaigns ends.
    let mut vault = cast.holding("Tidewheel Ether Twins", "tidewheel", "deth").aged(370).worth(8_600_000.0);
    vault.no_il = false;
    let vault = vault.made_of(&[("deth", 50), ("sdeth", 50)]).yielding(0.004).controlled(Control::FAIR);
    let vault = vault.paying(Campaign::supply("wheel-emissions", "quill", 0.058));
    let vault = vault.paying(Campaign::fees("twins-fees", "deth", 0.009));
    cast.with_story(vault.paying(Campaign::position("twins-loop", "quill", 0.02)), |vault, moment| {
        if moment.in_the_last(24) {
            vault
                .campaigns
                .iter_mut()
                .filter(|campaign| campaign.id == "twins-fees")
                .for_each(|fees| fees.active = false);
        }
    });

    // The rate is far above that of other vaults with the same asset, and the TVL is small.
    let mut vault = cast.holding("Tidewheel Ether & Quill Farm", "tidewheel", "deth").aged(210).worth(42_000.0);
    vault.no_il = false;
    let vault = vault.made_of(&[("quill", 60), ("deth", 40)]).controlled(Control::FAIR).yielding(0.48);
    cast.quiet(vault.paying(Campaign::supply("farm-emissions", "quill", 0.31)));

    // A single key replaces the multisig; the demotion is still pending when the run ends.
    let vault = cast.holding("Copperfern Florin & Quill", "tidewheel", "flrn").by("copperfern-capital");
    let vault = vault.aged(95).worth(2_300_000.0).made_of(&[("flrn", 35), ("quill", 65)]).controlled(Control::THIN);
    cast.with_story(vault, |vault, moment| {
        if moment.in_the_last(11) {
            vault.control.timelock_hours = Some(0);
            vault.control.signers = Some(Signing::Word(SigningKeyword::Eoa));
        }
    });
}

fn risky(cast: &mut Cast) {
    // Exploited within the run; see `incidents`.
    let vault = cast.holding("Cinderloop Fourfold Ether", "cinderloop", "sdeth").aged(250).worth(7_400_000.0);
    cast.with_story(vault.yielding(0.142).controlled(Control::SOUND), |vault, moment| {
        if moment.in_the_last(15) {
            vault.market.tvl_usd = Some(2_900_000.0);
            vault.market.withdrawals = WithdrawStatus::Closed;
            vault.market.deposits = DepositStatus::Closed;
            vault.market.capacity_usd = Some(0.0);
        }
    });

    let vault = cast.holding("Cinderloop Double Bitcoin", "cinderloop", "dbtc").aged(160).worth(3_300_000.0);
    cast.quiet(vault.yielding(0.076).controlled(Control::SOUND));

    let mut vault = cast.holding("Paperkite Senior Receivables", "paperkite", "kite").aged(480).worth(16_800_000.0);
    vault.control = Control::keys(48, 2, 3, Exit::QueueLong, Source::Verified);
    cast.quiet(vault.yielding(0.112).reads(|market| market.withdrawals = WithdrawStatus::Closed));

    let mut vault = cast.holding("Paperkite Equity Sleeve", "paperkite", "deqx").aged(130).worth(1_150_000.0);
    vault.control = Control::keys(24, 2, 3, Exit::Gated, Source::Partial);
    cast.quiet(vault.reads(|market| market.withdrawals = WithdrawStatus::Unknown));
}

fn little_known(cast: &mut Cast) {
    // Six days old, unaudited, controlled by one key, and the TVL could not be read.
    let vault = cast.holding("Driftwick Autopilot One", "driftwick", "bsol").aged(6).controlled(Control::ONE_KEY);
    cast.quiet(vault.reads(|market| (market.tvl_usd, market.base_apr) = (None, None)));

    // Only the name of its protocol is known.
    let mut vault = cast.holding("Hearthglow Pocket", "hearthglow", "pny").controlled(Control::UNKNOWN);
    vault.age_days = None;
    cast.quiet(vault.worth(310_000.0));
}
