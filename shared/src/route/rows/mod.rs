//! The table's rows and their parameters, one subject per file. One macro generates ids, rows and types from the rows, so that every id has
//! a row.
//!
//! Each file's macro adds its rows to the rows it receives and passes them to the next macro; the last macro is [`route_table`].

pub(super) mod assets;
pub(super) mod baskets;
pub(super) mod events;
pub(super) mod graph;
pub(super) mod markets;
pub(super) mod paging;
pub(super) mod push;
pub(super) mod registry;
pub(super) mod scoring;
pub(super) mod security;
pub(super) mod service;
pub(super) mod vaults;

pub(super) use assets::assets_rows;
pub(super) use baskets::baskets_rows;
pub(super) use events::events_rows;
pub(super) use graph::graph_rows;
pub(super) use markets::markets_rows;
pub(super) use push::push_rows;
pub(super) use registry::registry_rows;
pub(super) use scoring::scoring_rows;
pub(super) use security::security_rows;
pub(super) use service::service_rows;
pub(super) use vaults::vaults_rows;

macro_rules! route_table {
    (; $($id:ident: $method:ident $path:literal {
        access: $access:expr, rate_limit_class: $class:ident, cache: $cache:expr,
        $(tags: [$($tag:ident),* $(,)?],)? $(scores: $scores:literal,)? $(listeners: $listeners:ident,)? $(body: $body:expr,)?
        $(pages: $pages:ident($number:ident, $size:ident $(; $last:expr)?),)? $(fold: [$($index:literal: $fold:ident),* $(,)?],)?
        query: [$($param:ident $(($($bound:expr),*))?),* $(,)?], answers: $answers:literal, errors: [$($error:ident),* $(,)?],
        $(deprecated: [$($deprecated:expr),* $(,)?],)? about: $about:literal $(,)?
    })*) => {
        /// Every route of the service.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RouteId { $(#[doc = $about] $id,)* }

        impl RouteId {
            /// The route's name in metrics and operation ids.
            pub const fn name(self) -> &'static str {
                match self { $(RouteId::$id => stringify!($id),)* }
            }

            #[expect(clippy::indexing_slicing, reason = "ids and rows come from one macro, in one order; a test walks all of them")]
            pub fn route(self) -> &'static Route {
                &ROUTES[self as usize]
            }
        }

        /// The rows as types, for [`RowQuery`](crate::route::RowQuery).
        pub mod routes {
            use super::*;

            $(
                #[doc = $about]
                #[derive(Debug, Clone, Copy)]
                pub struct $id;

                impl Row for $id {
                    const ID: RouteId = RouteId::$id;
                    const QUERY: &'static [Param] = &[$(route_table!(@param $param $(($($bound),*))?)),*];
                }
            )*
        }

        /// Number of rows.
        pub(super) const ROUTE_COUNT: usize = [$(RouteId::$id),*].len();

        /// The route table.
        pub static ROUTES: &[Route] = &[$(
            Route {
                id: RouteId::$id, method: Method::$method, path: $path, access: $access, rate_limit_class: RateLimitClass::$class, cache: $cache,
                tags: &[$($(Tag::$tag),*)?], scores: route_table!(@scores $($scores)?), listeners: route_table!(@listeners $($listeners)?), body: route_table!(@body $($body)?),
                pages: route_table!(@pages $id $($pages($number, $size $(; $last)?))?), fold: &[$($(($index, Fold::$fold)),*)?], query: routes::$id::QUERY,
                answers: $answers, errors: &[$($error),*],
                deprecated: &[$($($deprecated),*)?], about: $about,
            },
        )*];
    };
    (@scores) => { false };
    (@scores $scores:literal) => { $scores };
    (@listeners) => { Listeners::Edge };
    (@listeners $listeners:ident) => { Listeners::$listeners };
    (@pages $id:ident) => { None };
    (@pages $id:ident Numbered($number:ident, $size:ident)) => { route_table!(@pages $id Numbered($number, $size; u64::MAX)) };
    (@pages $id:ident Numbered($number:ident, $size:ident; $last:expr)) => {
        Some(Pages::Numbered { number: route_table!(@place $id $number), size: route_table!(@place $id $size), last: $last })
    };
    (@pages $id:ident Offset($offset:ident, $size:ident)) => {
        Some(Pages::Offset { offset: route_table!(@place $id $offset), size: route_table!(@place $id $size) })
    };
    (@place $id:ident $param:ident) => { position(routes::$id::QUERY, &<params::$param as Parameter>::PARAM) };
    (@param $param:ident) => { <params::$param as Parameter>::PARAM };
    (@param $param:ident ($($bound:expr),*)) => { params::$param::of($($bound),*) };
    (@body) => { Body::None };
    (@body $body:expr) => { $body };
}

pub(super) use route_table;
