//! Derived facts: what follows from observations by a rule that can be written down.
//!
//! | module | knows |
//! |---|---|
//! | [`liquidity`] | what can be withdrawn from a lending vault, and what is missing |
//! | [`borrow`] | what borrowing costs once campaigns are counted |
//! | [`yields`] | what a net rate is made of, and when it is believable |
//! | [`tiers`] | the bands a score falls in |
//! | [`dwell`] | when a new score becomes the published one |
//! | [`changes`] | which readings are news: gates, bad debt, allocations |
//! | [`holders`] | how concentrated a vault's shares are |
//! | [`collateral`] | what stands behind a vault's lending markets |
//! | [`downsampling`] | thinning a series for a chart |
//! | [`markets`], [`hub_spoke`] | what a market's reserves add up to, and the gates of hub-and-spoke reserves |
//! | [`oracles`] | when a price feed is stale |
//! | [`losses`] | how severe a loss is, and which cases are listed |
//! | [`symbol_history`], [`portfolio`] | days of a symbol, the risk of a set of positions |
//! | [`attestation`] | the text that a reviewer signs |
//! | [`canonical_aum`] | what real-world assets are worth, each product once |
//! | [`rwa_sources`] | how sources of those figures do, and what to look at |
//! | [`platform`] | how the parts of the service do, and what they add up to |
//! | [`baskets`] | reference baskets: eligibility, weights, rebalances, versions |
//! | [`indices`], [`reference_rates`] | what baskets of vaults are worth day by day, and what the vaults of an asset pay |

pub mod attestation;
pub mod baskets;
pub mod borrow;
pub mod canonical_aum;
pub mod changes;
pub mod collateral;
pub mod downsampling;
pub mod dwell;
pub mod holders;
pub mod hub_spoke;
pub mod indices;
pub mod liquidity;
pub mod losses;
pub mod markets;
pub mod oracles;
pub mod platform;
pub mod portfolio;
pub mod reference_rates;
pub mod rwa_sources;
pub mod symbol_history;
pub mod tiers;
pub mod yields;
