//! An operation of the API as data: what the core and programs made from the list need.

/// An operation. [`crate::operations`] has a constant for each.
///
/// ```
/// use risk_data_client::operations::VAULT_LIST;
/// assert_eq!((VAULT_LIST.verb, VAULT_LIST.path), ("GET", "/v1/vaults"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its id in the OpenAPI document.
    pub id: &'static str,
    /// The method of [`crate::Client`] that leads to it.
    pub resource: &'static str,
    /// Its method there.
    pub method: &'static str,
    /// The HTTP method.
    pub verb: &'static str,
    /// The path, with `{name}` for its parameters.
    pub path: &'static str,
    /// One line of documentation.
    pub summary: &'static str,
    /// The whole documentation.
    pub about: &'static str,
    /// Who may use it.
    pub access: Access,
    /// When it may be sent again although the first request may have been carried out.
    pub repeat: Repeat,
    /// Whether its answers have ETags.
    pub has_etag: bool,
    /// Whether it takes a JSON body.
    pub has_body: bool,
    /// Parameters in the path, in its order.
    pub path_parameters: &'static [Parameter],
    /// Parameters in the query.
    pub query_parameters: &'static [Parameter],
    /// What it answers.
    pub answers: Answers,
}

/// Who may use an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Everybody.
    Public,
    /// Any key.
    Key,
    /// Keys of this plan or a higher one.
    Plan(&'static str),
    /// Index tokens.
    IndexToken,
}

/// When a request may be sent again after its answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Always: it only reads.
    Safe,
    /// With an `Idempotency-Key`, the same on each try.
    WithKey,
    /// Not without the caller's consent.
    Unsafe,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name on the wire.
    pub name: &'static str,
    /// Its documentation.
    pub about: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// Whether it takes several values, separated by commas.
    pub is_list: bool,
    /// What a value is.
    pub kind: Kind,
}

/// What a parameter's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// One of these. A newer server may accept others.
    OneOf(&'static [&'static str]),
}

/// What an operation answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// One JSON document.
    Value,
    /// A list that is read page by page.
    Pages(Paging),
    /// Server-sent events.
    Stream,
}

/// How a list is read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Where the rows are in the body.
    pub rows: &'static [&'static str],
    /// How the next page is asked for.
    pub style: Style,
}

/// How the next page is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Style {
    /// By its number.
    Number {
        /// The parameter with the page's number.
        page: &'static str,
        /// The parameter with the page's size.
        size: &'static str,
        /// The greatest size; `None` if the answer has every row.
        greatest: Option<u64>,
    },
    /// By the number of rows before it.
    Offset {
        /// The parameter with that number.
        offset: &'static str,
        /// Where the number of all rows is in the body.
        total: &'static [&'static str],
    },
    /// By the cursor of the page before it.
    Cursor {
        /// The parameter that takes the cursor.
        since: &'static str,
        /// Where the cursor is in the body.
        cursor: &'static [&'static str],
    },
}

impl Operation {
    /// How the list is read to its end; `None` if the operation answers no list.
    pub fn paging(&self) -> Option<&Paging> {
        if let Answers::Pages(paging) = &self.answers { Some(paging) } else { None }
    }
}
