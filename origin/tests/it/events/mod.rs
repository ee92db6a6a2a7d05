//! Events: intake, groups, publication and the feed.

pub mod event_types;
pub mod feed;
pub mod intake;
pub mod observed;
pub mod pages;
pub mod publication;
pub mod seen;
pub mod upkeep;
pub mod withheld;
