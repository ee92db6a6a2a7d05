//! Derived facts: what follows from observations by a rule that can be written down.
//!
//! | module | knows |
//! |---|---|
//! | [`liquidity`] | what can be withdrawn from a lending vault, and what is missing |
//! | [`borrow`] | what borrowing costs once campaigns are counted |
//! | [`yields`] | what a net rate is made of, and when it is believable |
//! | [`tiers`] | the bands a score falls in |
//! | [`dwell`] | when a new score becomes the published one |
//! | [`downsampling`] | thinning a series for a chart |
//! | [`baskets`] | reference baskets: eligibility, weights, rebalances, versions |

pub mod baskets;
pub mod borrow;
pub mod downsampling;
pub mod dwell;
pub mod liquidity;
pub mod tiers;
pub mod yields;
