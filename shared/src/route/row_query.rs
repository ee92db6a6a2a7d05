//! Typed access to the query of a route. Reading a parameter that the route does not have is a compile error.

use super::entry::Row;
use super::pages::Pages;
use super::query::Query;
use super::typed::{Parameter, kinds, position};
use crate::wire::page::PageRequest;
use core::marker::PhantomData;

/// The parsed query of a request to the row `R`.
#[derive(Debug)]
pub struct RowQuery<'q, R> {
    query: &'q Query,
    row: PhantomData<R>,
}

impl<R> Clone for RowQuery<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RowQuery<'_, R> {}

impl<'q, R: Row> RowQuery<'q, R> {
    /// The query, parsed with the parameters of `R`.
    pub fn of(query: &'q Query) -> Self {
        debug_assert!(query.params() == R::QUERY, "the query was parsed with the parameters of another route");
        RowQuery { query, row: PhantomData }
    }

    /// The value of a parameter, given or by default.
    ///
    /// A parameter that the row does not have is a compile error:
    ///
    /// ```compile_fail,E0080
    /// use rds_shared::route::{Query, RowQuery, params, routes};
    /// let query = Query::parse(routes::VaultList::QUERY, "").unwrap();
    /// RowQuery::<routes::VaultList>::of(&query).get(params::BasketAt);
    /// # use rds_shared::route::Row;
    /// ```
    ///
    /// ```
    /// use rds_shared::route::{Query, Row, RowQuery, params, routes};
    /// let query = Query::parse(routes::VaultList::QUERY, "minTvl=1e6").unwrap();
    /// let least: Option<f64> = RowQuery::<routes::VaultList>::of(&query).get(params::MinTvl);
    /// assert_eq!(least, Some(1e6));
    /// ```
    pub fn get<P: Parameter>(self, _parameter: P) -> kinds::ValueOf<'q, P> {
        let index = const { position(R::QUERY, &P::PARAM) };
        reads::note(R::ID, index);
        <P::Read as kinds::Read>::read(self.query.value(index))
    }

    /// The numbered page that the query selects; `None` beyond the last page, and on routes without numbered pages.
    pub fn page(self) -> Option<PageRequest> {
        self.pages()?.page(self.query)
    }

    /// Like [`RowQuery::page`], but also returns a page beyond the route's maximum page number (`Pages::Numbered::last`).
    pub fn any_page(self) -> Option<PageRequest> {
        self.pages()?.any_page(self.query)
    }

    fn pages(self) -> Option<Pages> {
        let pages = R::ID.route().pages?;
        pages.places().into_iter().for_each(|index| reads::note(R::ID, index));
        Some(pages)
    }
}

/// Records which parameters of each route were read since the process started, in debug builds only. Tests use it to find documented
/// parameters that no handler reads, because such a parameter has no effect.
pub mod reads {
    use crate::route::table::{ROUTE_COUNT, RouteId};
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// One bit per parameter of each route. A route has two 32-bit words, because 32-bit targets without std have no wider atomic type.
    static READ: [[AtomicU32; 2]; ROUTE_COUNT] = [const { [const { AtomicU32::new(0) }; 2] }; ROUTE_COUNT];

    /// Records that the parameter at this position of the row was read.
    pub(in crate::route) fn note(id: RouteId, index: usize) {
        if cfg!(debug_assertions)
            && let Some(word) = READ.get(id as usize).and_then(|row| row.get(index / 32))
        {
            word.fetch_or(1 << (index % 32), Relaxed);
        }
    }

    /// The parameters of a row that have not been read yet. In release builds, all of them.
    pub fn unread(id: RouteId) -> Vec<&'static str> {
        let is_read = |index: usize| {
            let word = READ.get(id as usize).and_then(|row| row.get(index / 32));
            word.is_some_and(|word| word.load(Relaxed) & (1 << (index % 32)) != 0)
        };
        let params = id.route().query.iter().enumerate();
        params.filter(|(index, _)| !is_read(*index)).map(|(_, param)| param.name).collect()
    }
}
