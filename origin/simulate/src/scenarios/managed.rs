//! Curated, savings and nested vaults: effects of the dwell on their tiers.

use super::Cast;
use crate::design::Collateral;
use crate::vault::Control;
use rds_shared::scoring::vault::Oracle::{ExchangeRate, Fixed, PushFeed, Twap};

/// Collateral of a curated vault.
const MARKETS: &[Collateral<'_>] =
    &[("deth", 40, PushFeed, 80), ("sdeth", 35, ExchangeRate, 80), ("dbtc", 25, PushFeed, 77)];

pub(super) fn enter(cast: &mut Cast) {
    curated(cast);
    savings(cast);
    nested(cast);
}

fn curated(cast: &mut Cast) {
    let vault = cast.lending("Juniper & Vole Steady Penny", "lanternmoss", "pny").by("juniper-and-vole");
    cast.quiet(vault.aged(640).worth(64_000_000.0).against(MARKETS));

    // Better control raises the score over a tier boundary; the promotion is still pending when the run ends.
    let vault = cast.lending("Juniper & Vole Climbing Penny", "lanternmoss", "pny").by("juniper-and-vole");
    let vault = vault.aged(380).worth(9_800_000.0).against(MARKETS).controlled(Control::FAIR);
    cast.with_story(vault, |vault, moment| {
        if moment.in_the_last(3) {
            vault.control = Control::STRONG;
        }
    });

    // The same change, 30 hours before the end of the run, so the promotion is complete.
    let vault = cast.lending("Saltmarsh Arrived Florin", "lanternmoss", "flrn").by("saltmarsh-risk");
    let vault = vault.aged(450).worth(15_300_000.0).against(MARKETS).controlled(Control::FAIR);
    cast.with_story(vault, |vault, moment| {
        if moment.in_the_last(30) {
            vault.control = Control::STRONG;
        }
    });

    // A quarantine ends the top tier after one day; this one lasts 10 hours so far. This vault and the next are too small for a basket.
    let vault = cast.lending("Pebble Guarded Penny", "lanternmoss", "pny").by("pebble-committee");
    cast.with_story(vault.aged(520).worth(8_700_000.0).against(MARKETS), |vault, moment| {
        vault.market.quarantined = moment.in_the_last(10);
    });

    // The same after 40 hours of quarantine, so the vault has lost the top tier.
    let vault = cast.lending("Owl Ledger Night Penny", "lanternmoss", "pny").by("owl-ledger");
    cast.with_story(vault.aged(590).worth(9_300_000.0).against(MARKETS), |vault, moment| {
        vault.market.quarantined = moment.in_the_last(40);
    });

    // The quarantine lasts only 12 hours, so the vault keeps the top tier.
    let vault = cast.lending("Northlight Patient Ether", "lanternmoss", "deth").by("northlight-stewards");
    let vault = vault.against(&[("sdeth", 70, ExchangeRate, 80), ("pny", 30, PushFeed, 80)]).yielding(0.024);
    cast.with_story(vault.aged(480).worth(19_000_000.0), |vault, moment| {
        vault.market.quarantined = moment.in_the_last(34) && !moment.in_the_last(22);
    });

    // Bad debt that depositors bear.
    let vault = cast.lending("Copperfern Sunken Florin", "lanternmoss", "flrn").by("copperfern-capital");
    let vault = vault.against(&[("rdeth", 60, Twap, 92), ("wisp", 40, Fixed, 91)]).yielding(0.087);
    cast.with_story(vault.aged(260).worth(5_100_000.0).controlled(Control::FAIR), |vault, moment| {
        if moment.in_the_last(18) {
            vault.market.bad_debt = Some(0.034);
            vault.market.utilization = Some(0.985);
        }
    });
}

fn savings(cast: &mut Cast) {
    let vault = cast.holding("Slowriver Savings Penny", "slowriver", "spny").aged(1_080).worth(318_000_000.0);
    cast.quiet(vault.yielding(0.047));

    let vault = cast.holding("Slowriver Treasury Ladder", "slowriver", "tpny").aged(700).worth(140_000_000.0);
    cast.quiet(vault.made_of(&[("dtb", 60), ("tpny", 40)]).yielding(0.043));

    // One of its holdings loses its peg.
    let vault = cast.holding("Slowriver Mirage Mix", "slowriver", "mrg").aged(310).worth(21_000_000.0);
    cast.with_story(vault.made_of(&[("mrg", 45), ("pny", 40), ("flrn", 15)]).yielding(0.091), |vault, moment| {
        if moment.in_the_last(20) {
            vault.market.tvl_usd = Some(12_400_000.0);
        }
    });
}

fn nested(cast: &mut Cast) {
    let steady = cast.id_of("Juniper & Vole Steady Penny");
    let (pool, sunken) = (cast.id_of("Quillfish Penny Pool"), cast.id_of("Copperfern Sunken Florin"));
    let vault =
        cast.holding("Nestwork Orchard", "nestwork", "pny").by("juniper-and-vole").aged(410).worth(14_000_000.0);
    cast.quiet(vault.nesting(&[(&steady, 60), (&pool, 40)]));

    let vault =
        cast.holding("Nestwork Understory", "nestwork", "flrn").by("saltmarsh-risk").aged(190).worth(2_700_000.0);
    cast.quiet(vault.nesting(&[(&steady, 50), (&sunken, 50)]).controlled(Control::FAIR).yielding(0.066));
}
