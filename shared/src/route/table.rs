//! The table: one row a route. The rows stand in `rows/`.

use super::asset_params::*;
use super::basket_params::*;
use super::decision_params::*;
use super::deprecation::*;
use super::event_params::*;
pub use super::event_params::{EVENT_SORT_FIELDS, FEED_DAYS};
use super::family::RateLimitClass;
use super::fold::Fold;
use super::graph_params::*;
use super::index_params::*;
use super::pages::Pages;
use super::param::{OnOverflow::Clamp, Param};
use super::push_params::*;
use super::research_params::*;
use super::row::{Access, Body, Cache, Door, Method, Route};
use super::rows::{
    assets_rows, findings_rows, graph_rows, happenings_rows, indices_rows, push_rows, registry_rows, routes,
    service_rows,
};
pub use super::security_params::SECURITY_PAGES;
use super::security_params::*;
use super::service_params::*;
use super::tag::Tag;
use super::vault_params::*;
pub use super::vault_params::{FEED_KINDS, MARKET_SORT_FIELDS, VAULT_SORT_FIELDS};
use super::webhook_params::*;
use crate::wire::error::ErrorCode::*;
use Access::{Data, Decisioning, Index, Key, Public};

registry_rows! { assets_rows, happenings_rows, findings_rows, indices_rows, graph_rows, push_rows, service_rows, routes; }

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
