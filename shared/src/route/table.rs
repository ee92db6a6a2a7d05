//! The route table, one row per route. The rows and their parameters are in `rows/`.

use super::cache_policy::Cache;
use super::deprecation::*;
use super::entry::{Route, Row};
use super::fold::Fold;
use super::pages::Pages;
use super::param::Param;
use super::rate_limit_class::RateLimitClass;
use super::row::{Access, Body, Listeners, Method};
use super::rows::{
    assets_rows, baskets_rows, events_rows, graph_rows, markets_rows, push_rows, registry_rows, route_table,
    scoring_rows, security_rows, service_rows, vaults_rows,
};
use super::tag::Tag;
use super::typed::{Parameter, position};
use crate::push::schedule::LIST_LIMIT;
use crate::wire::error::ErrorCode::*;
use Access::{Data, Decisioning, Index, Key, Public};

pub use super::rows::events::{EVENT_SORT_FIELDS, MAX_FEED_DAYS};
use super::rows::graph::CHECK_BODY;
pub use super::rows::markets::{FEED_KINDS, MARKET_SORT_FIELDS};
use super::rows::push::CREATION_BODY;
use super::rows::security::LAST_SECURITY_PAGE;
use super::rows::service::MESSAGE_BODY;
use super::rows::vaults::BATCH_BODY;
pub use super::rows::vaults::VAULT_SORT_FIELDS;

/// Every parameter as a type.
pub mod params {
    pub use crate::route::rows::assets::*;
    pub use crate::route::rows::baskets::*;
    pub use crate::route::rows::events::*;
    pub use crate::route::rows::graph::*;
    pub use crate::route::rows::markets::*;
    pub use crate::route::rows::paging::*;
    pub use crate::route::rows::push::*;
    pub use crate::route::rows::registry::*;
    pub use crate::route::rows::scoring::*;
    pub use crate::route::rows::security::*;
    pub use crate::route::rows::service::*;
    pub use crate::route::rows::vaults::*;
}

vaults_rows! {
    registry_rows, markets_rows, assets_rows, events_rows, security_rows, scoring_rows, baskets_rows, graph_rows, push_rows, service_rows, route_table;
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
