//! The API as the emitters see it: no language, no OpenAPI.

use serde_json::Value;

/// The whole API.
#[derive(Clone, Debug)]
pub struct Model {
    /// Title of the API.
    pub title: String,
    /// Version of the API, which is the version of the libraries.
    pub version: String,
    /// Every named type, in the order of the document.
    pub types: Vec<Named>,
    /// Groups of operations, sorted by name; each is a member of the client.
    pub resources: Vec<Resource>,
    /// Every error code.
    pub errors: Vec<ErrorCode>,
    /// Every kind of webhook delivery.
    pub deliveries: Vec<Delivery>,
}

impl Model {
    /// The type of this name.
    pub fn named(&self, name: &str) -> Option<&Named> {
        self.types.iter().find(|it| it.name == name)
    }

    /// All operations of all resources.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.resources.iter().flat_map(|it| &it.operations)
    }
}

/// A type with a name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name in the document, `UpperCamelCase`.
    pub name: String,
    /// Its documentation.
    pub doc: String,
    /// What it is.
    pub shape: Shape,
}

/// What a JSON value looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A named type.
    Ref(String),
    /// An object with known fields. A newer server may send more.
    Object(Vec<Field>),
    /// An object whose members have names that are data.
    Map(Box<Shape>),
    /// An array.
    List(Box<Shape>),
    /// A text; the format if the document states one (`date-time`, `uri`).
    Text(Option<String>),
    /// A text out of a set. A newer server may send other values.
    Enum(Vec<EnumValue>),
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// This one value.
    Constant(Value),
    /// The shape or null.
    Nullable(Box<Shape>),
    /// One of these.
    Union(Vec<Shape>),
    /// Any JSON.
    Any,
}

/// A value of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumValue {
    /// The value on the wire.
    pub value: String,
    /// Its documentation; empty if there is none.
    pub doc: String,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name on the wire.
    pub name: String,
    /// Its documentation.
    pub doc: String,
    /// Whether it is always present.
    pub required: bool,
    /// Whether it is deprecated.
    pub deprecated: bool,
    /// Its shape.
    pub shape: Shape,
}

/// A group of operations.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its name as words in lower case: `["basket", "webhooks"]`.
    pub name: Vec<String>,
    /// Its operations, in the order of the document.
    pub operations: Vec<Operation>,
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its id in the document, `UpperCamelCase`.
    pub id: String,
    /// The method's name as words in lower case: `["score", "history"]`.
    pub name: Vec<String>,
    /// The HTTP method in capitals.
    pub verb: String,
    /// The path, with `{name}` for its parameters.
    pub path: String,
    /// One line of documentation.
    pub summary: String,
    /// The whole documentation.
    pub doc: String,
    /// `public`, or the lowest plan whose keys may use it, `key` for any key, `index` for index tokens.
    pub access: String,
    /// Parameters in the path, in the order of the path.
    pub path_parameters: Vec<Parameter>,
    /// Parameters in the query, without `strict`, which every operation has.
    pub query_parameters: Vec<Parameter>,
    /// The JSON body, if it takes one.
    pub body: Option<Body>,
    /// What it answers.
    pub answer: Answer,
    /// How the list is read to its end; `None` if the answer is complete.
    pub paging: Option<Paging>,
    /// When a request may be sent again although the first may have been carried out.
    pub repeat: Repeat,
    /// Whether it takes `If-None-Match`.
    pub has_etag: bool,
    /// Whether it takes `X-Service-Subclient`.
    pub has_subclient: bool,
    /// Whether it takes `X-Service-Client-Ip`.
    pub has_client_ip: bool,
    /// Codes of the errors that it may answer with, sorted.
    pub errors: Vec<String>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name on the wire.
    pub name: String,
    /// Its documentation.
    pub doc: String,
    /// Whether it must be given.
    pub required: bool,
    /// Its shape. A list is sent as one value, separated by commas.
    pub shape: Shape,
    /// The greatest number that it accepts, or that greater ones are reduced to.
    pub greatest: Option<u64>,
    /// An example from the document.
    pub example: Option<Value>,
}

/// A JSON body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its documentation.
    pub doc: String,
    /// Its shape.
    pub shape: Shape,
    /// An example from the document.
    pub example: Option<Value>,
}

/// What an operation answers with status 200.
#[derive(Clone, Debug)]
pub enum Answer {
    /// JSON. The example is the document's.
    Json {
        /// The shape of the whole body.
        shape: Shape,
        /// A recorded body.
        example: Option<Value>,
    },
    /// Server-sent events.
    Stream,
}

/// When a request may be sent again after its answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Always: it only reads.
    Safe,
    /// With an `Idempotency-Key`, the same on every try.
    WithKey,
    /// Not without the caller's consent.
    Unsafe,
}

/// How a list is read to its end.
#[derive(Clone, Debug)]
pub struct Paging {
    /// How the next page is asked for.
    pub style: PagingStyle,
    /// Where the rows are in the body: `["data"]`, `["data", "vaults"]`.
    pub rows: Vec<String>,
    /// The shape of a row.
    pub row: Shape,
}

/// How the next page is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PagingStyle {
    /// By its number. The end is known from `meta.totalPages` or `meta.hasMore`. Without `meta` the answer is complete unless the caller
    /// gave a page size; then an empty page is the end, because the service may have reduced the size.
    Number {
        /// The parameter with the page's number.
        page: String,
        /// The parameter with the page's size.
        size: String,
        /// The greatest size, which a library asks for when all rows are read and the caller gave none. `None` if the answer has no
        /// `meta`, because it then has every row.
        greatest: Option<u64>,
    },
    /// By the number of rows before it; the end is known from a total beside the rows.
    Offset {
        /// The parameter with the number of rows before the page.
        offset: String,
        /// Where the total is in the body.
        total: Vec<String>,
    },
    /// By a cursor that the answer contains. `meta.has_more` tells whether rows follow now.
    Cursor {
        /// The parameter that takes the cursor.
        since: String,
        /// Where the cursor is in the body.
        cursor: Vec<String>,
    },
}

/// An error code.
#[derive(Clone, Debug)]
pub struct ErrorCode {
    /// `UPPER_SNAKE_CASE`.
    pub code: String,
    /// The status that it is answered with.
    pub status: u16,
    /// Its documentation.
    pub doc: String,
}

/// A kind of webhook delivery.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The `event_type`.
    pub event_type: String,
    /// Its documentation.
    pub doc: String,
    /// The shape of `data`.
    pub data: Shape,
}
