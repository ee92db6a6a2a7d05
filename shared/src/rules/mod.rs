//! Derivation rules: pure functions from observations to published figures.
//!
//! | module | content |
//! |---|---|
//! | [`liquidity`] | available liquidity and deficit of a lending vault |
//! | [`borrow`] | the cost of borrowing, net of incentive campaigns |
//! | [`real_yield`] | the share of interest in a net rate |
//! | [`high_confidence`] | which vaults are marked high confidence |
//! | [`tiers`] | the tier of a score |
//! | [`dwell`] | when a new score becomes the published one |
//! | [`observed_changes`] | which readings raise an event: deposit status, bad debt, allocations |
//! | [`holders`] | how concentrated a vault's shares are |
//! | [`collateral`] | the collateral of a vault's lending markets |
//! | [`downsampling`] | thinning a series for a chart |
//! | [`markets`], [`hub_spoke`] | totals of a market's reserves; whether a hub-and-spoke reserve lends and takes deposits |
//! | [`oracles`] | when a price feed is stale |
//! | [`losses`] | how severe a loss is, and which cases are listed |
//! | [`symbol_history`], [`portfolio`] | daily totals of an asset symbol; the mean score of a set of positions |
//! | [`attestation`] | the text that a reviewer signs |
//! | [`rwa_totals`] | assets under management of real-world assets, each product once |
//! | [`rwa_sources`] | the state of the sources of real-world-asset figures, and findings for operators |
//! | [`component_status`], [`chain_status`] | the status of each component of the service, and the overall status |
//! | [`baskets`] | reference baskets: eligibility, weights, rebalances, versions |
//! | [`indices`], [`reference_rates`] | daily index levels of vault baskets, and the mean net rate of an asset's vaults |

pub mod attestation;
pub mod baskets;
pub mod borrow;
pub mod chain_status;
pub mod collateral;
pub mod component_status;
pub mod downsampling;
pub mod dwell;
pub mod high_confidence;
pub mod holders;
pub mod hub_spoke;
pub mod indices;
pub mod liquidity;
pub mod losses;
pub mod markets;
pub mod observed_changes;
pub mod oracles;
pub mod portfolio;
pub mod real_yield;
pub mod reference_rates;
pub mod rwa_sources;
pub mod rwa_totals;
pub mod symbol_history;
pub mod tiers;
