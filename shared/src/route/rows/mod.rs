//! The table's rows, one family of routes a file, and what makes ids and rows of their notation, so that there is no id without a row.
//!
//! Each file's macro adds its rows to those it is given and hands all of them to the next; the last one in the chain is [`routes`].

mod assets;
mod findings;
mod graph;
mod happenings;
mod indices;
mod push;
mod registry;
mod service;

pub(super) use assets::assets_rows;
pub(super) use findings::findings_rows;
pub(super) use graph::graph_rows;
pub(super) use happenings::happenings_rows;
pub(super) use indices::indices_rows;
pub(super) use push::push_rows;
pub(super) use registry::registry_rows;
pub(super) use service::service_rows;

macro_rules! routes {
    (; $($id:ident: $method:ident $path:literal {
        access: $access:expr, family: $family:ident, cache: $cache:expr,
        $(tags: [$($tag:ident),* $(,)?],)? $(scores: $scores:literal,)? $(door: $door:ident,)? $(body: $body:expr,)?
        $(pages: $pages:expr,)? $(fold: [$($index:literal: $fold:ident),* $(,)?],)?
        query: [$($param:expr),* $(,)?], answers: $answers:literal, errors: [$($error:ident),* $(,)?],
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

            /// The route's row.
            #[expect(clippy::indexing_slicing, reason = "ids and rows come from one macro, in one order; a test walks all of them")]
            pub fn route(self) -> &'static Route {
                &ROUTES[self as usize]
            }
        }

        /// The table.
        pub static ROUTES: &[Route] = &[$(
            Route {
                id: RouteId::$id, method: Method::$method, path: $path, access: $access, family: RateLimitClass::$family, cache: $cache,
                tags: &[$($(Tag::$tag),*)?], scores: routes!(@scores $($scores)?), door: routes!(@door $($door)?), body: routes!(@body $($body)?),
                pages: routes!(@pages $($pages)?), fold: &[$($(($index, Fold::$fold)),*)?], query: &[$($param),*],
                answers: $answers, errors: &[$($error),*],
                deprecated: &[$($($deprecated),*)?], about: $about,
            },
        )*];
    };
    (@scores) => { false };
    (@scores $scores:literal) => { $scores };
    (@door) => { Door::Edge };
    (@door $door:ident) => { Door::$door };
    (@pages) => { None };
    (@pages $pages:expr) => { Some($pages) };
    (@body) => { Body::None };
    (@body $body:expr) => { $body };
}

pub(super) use routes;
