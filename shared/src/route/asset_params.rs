//! The parameters of the asset and RWA lists, and of the RWA history. Source: interface, "Assets" and "RWA".

use super::param::Param;
use crate::select::assets::{CATEGORIES, RWA_CATEGORIES};

pub(super) const CATEGORY: Param = Param::choices("category", CATEGORIES, "Categories, separated by commas.");
pub(super) const RWA_CATEGORY: Param = Param::choices("category", RWA_CATEGORIES, "Categories, separated by commas.");
pub(super) const INSTRUMENT_TYPE: Param = Param::names("instrument_type", "Instrument types, separated by commas.");
pub(super) const DEFI_INSTRUMENT: Param =
    Param::flag("defi_instrument", "Whether a protocol on chain makes the asset out of another one.");
pub(super) const INCLUDE_QUALITY: Param =
    Param::flag("include_quality", "true adds to each row how much of its evidence is there.");
pub(super) const REVIEW_STATUS: Param = Param::choices(
    "review_status",
    &["reviewed", "provisional", "unreviewed"],
    "Review statuses, separated by commas.",
);
pub(super) const ASSET_TIER: Param = Param::choices(
    "risk_tier",
    &["Prime", "Core", "Edge", "unknown"],
    "Tiers, separated by commas; unknown is unscored.",
);
pub(super) const REGULATORY_WRAPPER: Param = Param::names("regulatory_wrapper", "Legal forms, separated by commas.");
pub(super) const KYC_GATE: Param = Param::choices(
    "kyc_gate",
    &[
        "permissionless",
        "kyc_required",
        "accredited",
        "qualified_purchaser",
        "professional_investor",
        "institutional_only",
    ],
    "Who may hold the asset, separated by commas.",
);
pub(super) const ASSET_SEARCH: Param = Param::text("search", 200, "Part of the symbol or address, in any case.");
pub(super) const AUM_BREAKDOWN: Param =
    Param::choice("breakdown", &["chain", "category"], "What each day is broken down by.").default("chain");
