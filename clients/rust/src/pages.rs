//! Lists: the first page when awaited, every row or page as a stream.

use crate::answer::Answer;
use crate::call::Call;
use crate::error::Error;
use crate::operation::{Paging, Style};
use crate::position::{self, Position};
use crate::send;
use futures_core::Stream;
use futures_util::stream;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A list of the API. Await it for its first page; [`List::rows`] are all rows, page by page.
///
/// Rows are handed over as the service sends them. If rows move between pages while you read, one may come twice or not at all: sort by a
/// field that does not change, such as `name`, or use `client.vaults().changes(…)`, which leaves none out.
///
/// ```
/// # rds_recorded::run(async |client| {
/// use risk_data_client::types::VaultListParams;
/// let params = VaultListParams { sort_by: Some("name".into()), ..VaultListParams::default() };
/// let first_page = client.vaults().list(params.clone()).await?;
/// println!("{} of {:?}", first_page.data.len(), first_page.meta.total);
/// let mut rows = client.vaults().list(params).rows();
/// while let Some(vault) = rows.try_next().await? {
///     println!("{} {:?}", vault.name, vault.total_score);
/// #   break;
/// }
/// # Ok(()) })
/// ```
#[derive(Clone, Debug)]
#[must_use = "a list is read when it is awaited, or by `rows` or `pages`"]
pub struct List<R, P> {
    pub(crate) call: Call,
    pub(crate) of: PhantomData<fn() -> (R, P)>,
}

impl<R, P: DeserializeOwned + Send + 'static> List<R, P> {
    /// The first page.
    ///
    /// # Errors
    /// As [`Error`] lists.
    pub async fn send(&self) -> Result<Answer<P>, Error> {
        send::json(&self.call.client, self.call.prepared()?).await
    }

    /// Every page as the service sends it: its rows and `meta`.
    pub fn pages(self) -> Pages<P> {
        let state = self.call.operation.paging().map(|paging| (self.call, paging));
        let read = async move |(mut call, paging): (Call, &'static Paging)| {
            let page: Answer<P> = send::json(&call.client, call.prepared()?).await?;
            let read = position::page::<IgnoredAny>(paging, page.text());
            let (_, position) = read.map_err(|error| Error::Decoding(error.to_string()))?;
            let next = next(paging, &call.query, &position);
            let state = next.map(|query| {
                call.query = query;
                (call, paging)
            });
            Ok((page, state))
        };
        let pages = stream::try_unfold(state, move |state| async move {
            match state {
                Some(state) => read(state).await.map(Some),
                None => Ok(None),
            }
        });
        Pages { inner: Box::pin(pages) }
    }
}

/// The stream of a list's pages.
#[must_use = "streams do nothing unless polled"]
pub struct Pages<P> {
    inner: Pin<Box<dyn Stream<Item = Result<Answer<P>, Error>> + Send>>,
}

/// The stream of a list's rows.
///
/// ```
/// # rds_recorded::run(async |client| {
/// use risk_data_client::types::EventListParams;
/// let events = client.events().list(EventListParams::default()).rows().collect_at_most(50).await?;
/// println!("{} events", events.len());
/// # Ok(()) })
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct Rows<R> {
    inner: Pin<Box<dyn Stream<Item = Result<R, Error>> + Send>>,
}

/// What is left of a list.
struct Reading<R> {
    rows: VecDeque<R>,
    next: Option<Call>,
}

impl<R: DeserializeOwned + Send + 'static> Rows<R> {
    pub(crate) fn new(mut call: Call) -> Self {
        let paging = call.operation.paging();
        // The greatest pages that the service allows, unless the caller chose a size.
        if let Some(Paging { style: Style::Number { size, greatest: Some(greatest), .. }, .. }) = paging
            && !call.has_query(size)
        {
            call.query.insert((*size).to_owned(), (*greatest).into());
        }
        let first = Reading { rows: VecDeque::new(), next: paging.is_some().then_some(call) };
        let rows = stream::try_unfold(first, async |mut state| {
            loop {
                if let Some(row) = state.rows.pop_front() {
                    return Ok(Some((row, state)));
                }
                let Some(call) = state.next.take() else { return Ok(None) };
                state = read_page(call).await?;
            }
        });
        Rows { inner: Box::pin(rows) }
    }

    /// The rest of the rows, at most so many.
    ///
    /// # Errors
    /// As [`Error`] lists. The rows that were read before are lost.
    pub async fn collect_at_most(mut self, most: usize) -> Result<Vec<R>, Error> {
        let mut rows = Vec::new();
        while rows.len() < most
            && let Some(row) = self.try_next().await?
        {
            rows.push(row);
        }
        Ok(rows)
    }

    /// The rest of the rows.
    ///
    /// # Errors
    /// As [`Error`] lists. The rows that were read before are lost.
    pub async fn collect(self) -> Result<Vec<R>, Error> {
        self.collect_at_most(usize::MAX).await
    }
}

async fn read_page<R: DeserializeOwned>(mut call: Call) -> Result<Reading<R>, Error> {
    let Some(paging) = call.operation.paging() else { return Ok(Reading { rows: VecDeque::new(), next: None }) };
    let answer = send::read(&call.client, call.prepared()?, |text| position::page(paging, text)).await?;
    let (rows, position) = answer.into_inner();
    let next = next(paging, &call.query, &position).map(|query| {
        call.query = query;
        call
    });
    Ok(Reading { rows: rows.into(), next })
}

/// The query of the page after this one; `None` after the last.
fn next(paging: &Paging, query: &Map<String, Value>, page: &Position) -> Option<Map<String, Value>> {
    let given = |name: &str, default: u64| match query.get(name) {
        Some(Value::String(text)) => text.parse().unwrap_or(default),
        Some(other) => other.as_u64().unwrap_or(default),
        None => default,
    };
    let (name, value): (&str, Value) = match &paging.style {
        Style::Cursor { since, .. } => {
            let cursor = page.cursor.as_deref().filter(|_| page.goes_on == Some(true))?;
            if query.get(*since).and_then(Value::as_str) == Some(cursor) {
                return None;
            }
            (since, cursor.into())
        }
        _ if page.rows == 0 => return None,
        Style::Offset { offset, .. } => {
            let read = given(offset, 0) + page.rows;
            (offset, Some(read).filter(|it| page.total.is_some_and(|total| it < &total))?.into())
        }
        Style::Number { page: number, size, .. } => {
            let current = given(number, 1);
            // Without `meta` the answer has every row, unless the caller asked for pages; then an empty page is the end.
            let is_last = page.total_pages.map(|last| current >= last);
            let goes_on = page.has_more.or(is_last.map(|it| !it)).unwrap_or_else(|| query.contains_key(*size));
            (number, Some(current + 1).filter(|_| goes_on)?.into())
        }
    };
    let mut next = query.clone();
    next.insert(name.to_owned(), value);
    Some(next)
}

macro_rules! streams {
    ($($of:ident, $item:ty, $what:literal;)*) => {$(
        impl<T> $of<T> {
            #[doc = concat!("The next ", $what, "; `None` after the last. Dropping the future loses nothing.")]
            ///
            /// # Errors
            /// As [`Error`] lists. The stream then ends.
            pub async fn try_next(&mut self) -> Result<Option<$item>, Error> {
                poll_fn(|context| self.inner.as_mut().poll_next(context)).await.transpose()
            }
        }

        impl<T> Stream for $of<T> {
            type Item = Result<$item, Error>;

            fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
                self.inner.as_mut().poll_next(context)
            }
        }

        impl<T> fmt::Debug for $of<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($of)).finish_non_exhaustive()
            }
        }
    )*};
}

streams! {
    Rows, T, "row";
    Pages, Answer<T>, "page";
}
