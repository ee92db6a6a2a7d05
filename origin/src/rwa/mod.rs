//! Real-world assets: which product a deployment is, and the total of each day, kept in revisions.
//!
//! | file | does |
//! |---|---|
//! | `identity` | signed mappings to products |
//! | `totals` | works out the days that a batch may have changed, and records those that read differently |

pub mod identity;
pub mod totals;
