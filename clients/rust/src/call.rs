//! One request before it is sent: its arguments and options.

use crate::answer::Answer;
use crate::client::{Client, header};
use crate::error::Error;
use crate::operation::{Operation, Repeat};
use crate::pages::{List, Rows};
use crate::send::{self, Prepared};
use crate::stream::Listen;
use crate::transport::BoxFuture;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Method, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt::{Display, Write as _};
use std::marker::PhantomData;
use std::time::Duration;

/// What stands unencoded in paths and queries.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':').remove(b',');
/// A path parameter, where a comma or colon may mean something.
const ENCODED_PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The arguments of an operation.
///
/// ```
/// # rds_recorded::run(async |client| {
/// use risk_data_client::{operations, serde_json::Value};
/// let call = client.call(&operations::VAULT_BY_ID).path("id", "31337:0xc516dd999378982aac393e1de92f8eff568cc06d");
/// println!("{}", call.request::<Value>().await?["data"]);
/// # Ok(()) })
/// ```
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) client: Client,
    pub(crate) operation: &'static Operation,
    path: Vec<(String, String)>,
    pub(crate) query: Map<String, Value>,
    body: Option<Bytes>,
    pub(crate) options: Options,
    fault: Option<String>,
}

/// Options of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub timeout: Option<Duration>,
    pub max_retries: Option<u32>,
    idempotency_key: Option<String>,
    repeat: bool,
    strict: Option<bool>,
    headers: Vec<(String, String)>,
}

impl Call {
    pub(crate) fn new(client: &Client, operation: &'static Operation) -> Self {
        let (client, options) = (client.clone(), Options::default());
        Call { client, operation, path: Vec::new(), query: Map::new(), body: None, options, fault: None }
    }

    /// A parameter of the path.
    #[must_use]
    pub fn path(mut self, name: &str, value: impl Display) -> Self {
        self.path.push((name.to_owned(), value.to_string()));
        self
    }

    /// A parameter of the query. Several values are an array; null leaves the parameter out.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.query.insert(name.to_owned(), value.into());
        self
    }

    /// Whether a parameter of the query was given.
    pub fn has_query(&self, name: &str) -> bool {
        self.query.get(name).is_some_and(|it| !it.is_null())
    }

    /// The parameters of the query as the members of an object.
    #[must_use]
    pub fn parameters(mut self, all: &impl Serialize) -> Self {
        match serde_json::to_value(all) {
            Ok(Value::Object(members)) => self.query.extend(members),
            Ok(_) => self.fault = Some("the parameters must be an object".into()),
            Err(error) => self.fault = Some(format!("the parameters cannot be sent: {error}")),
        }
        self
    }

    /// The JSON body.
    #[must_use]
    pub fn body(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.body = Some(bytes.into()),
            Err(error) => self.fault = Some(format!("the body cannot be sent: {error}")),
        }
        self
    }

    /// A request whose answer has this type.
    pub fn request<T>(self) -> Request<T> {
        Request { call: self, of: PhantomData }
    }

    /// A list with these rows and pages.
    pub fn list<R, P>(self) -> List<R, P> {
        List { call: self, of: PhantomData }
    }

    /// A stream of events.
    pub fn listen(self) -> Listen {
        Listen::new(self)
    }

    pub(crate) fn prepared(&self) -> Result<Prepared, Error> {
        let (uri, mut headers) = self.target()?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if self.operation.repeat == Repeat::WithKey {
            // One key for the whole call, so that the service sees that a later try is the same request.
            let key = self.options.idempotency_key.clone().map_or_else(send::random_key, Ok)?;
            let (name, value) = header("idempotency-key", &key)?;
            headers.insert(name, value);
        }
        let shown =
            |it: Option<&HeaderValue>| String::from_utf8_lossy(it.map_or(&[][..], HeaderValue::as_bytes)).into_owned();
        let etag_key = self.operation.has_etag.then(|| {
            format!("{uri} {} {}", shown(headers.get("x-service-subclient")), shown(headers.get(AUTHORIZATION)))
        });
        Ok(Prepared {
            method: self.operation.verb.parse().unwrap_or(Method::GET),
            uri,
            headers,
            body: self.body.clone().unwrap_or_default(),
            may_repeat: self.operation.repeat != Repeat::Unsafe || self.options.repeat,
            max_retries: self.options.max_retries.unwrap_or(self.client.inner.max_retries),
            timeout: self.options.timeout.unwrap_or(self.client.inner.timeout),
            etag_key,
        })
    }

    /// The address and the headers of the request.
    pub(crate) fn target(&self) -> Result<(Uri, HeaderMap), Error> {
        if let Some(fault) = &self.fault {
            return Err(Error::Argument(fault.clone()));
        }
        let inner = &self.client.inner;
        let mut text = format!("{}{}", inner.base, self.filled()?);
        let mut separator = '?';
        let mut add = |name: &str, value: &str| {
            let (name, value) = (utf8_percent_encode(name, ENCODED), utf8_percent_encode(value, ENCODED));
            _ = write!(text, "{separator}{name}={value}");
            separator = '&';
        };
        for (name, value) in self.query.iter().filter(|(_, value)| !value.is_null()) {
            add(name, &plain(value));
        }
        if self.options.strict.unwrap_or(inner.strict) {
            add("strict", "true");
        }
        let mut headers = inner.headers.clone();
        for (name, value) in &self.options.headers {
            let (name, value) = header(name, value)?;
            headers.insert(name, value);
        }
        let uri = text.parse().map_err(|error| Error::Argument(format!("{text} is no address: {error}")))?;
        Ok((uri, headers))
    }

    fn filled(&self) -> Result<String, Error> {
        let mut filled = self.operation.path.to_owned();
        for it in self.operation.path_parameters {
            let given = self.path.iter().find(|(name, _)| name == it.name).map(|(_, value)| value.as_str());
            // An empty part would make another path of it.
            let value = given.filter(|it| !matches!(*it, "" | "." | ".."));
            let value = value
                .ok_or_else(|| Error::Argument(format!("{} must not be `{}`", it.name, given.unwrap_or_default())))?;
            let value = utf8_percent_encode(value, ENCODED_PART).to_string();
            filled = filled.replace(&format!("{{{}}}", it.name), &value);
        }
        Ok(filled)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A request. Await it for its answer; dropping the future cancels the request, its retries, and the waiting between them.
///
/// ```
/// # rds_recorded::run(async |client| {
/// use std::time::Duration;
/// let answer = client.service().status().timeout(Duration::from_secs(5)).max_retries(1).await?;
/// println!("{:?}", answer.status);
/// # Ok(()) })
/// ```
#[derive(Clone, Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Request<T> {
    pub(crate) call: Call,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Request<T> {
    /// Sends the request.
    ///
    /// # Errors
    /// As [`Error`] lists.
    pub async fn send(&self) -> Result<Answer<T>, Error> {
        send::json(&self.call.client, self.call.prepared()?).await
    }
}

impl<T: DeserializeOwned + Send + 'static> IntoFuture for Request<T> {
    type Output = Result<Answer<T>, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await })
    }
}

impl<R: DeserializeOwned + Send + 'static, P: DeserializeOwned + Send + 'static> IntoFuture for List<R, P> {
    type Output = Result<Answer<P>, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await })
    }
}

impl<R: DeserializeOwned + Send + 'static, P> List<R, P> {
    /// Every row, from the given page on.
    pub fn rows(self) -> Rows<R> {
        Rows::new(self.call)
    }
}

/// Options that requests and lists share.
macro_rules! options {
    ($($of:ty, [$($generic:ident)*];)*) => {$(
        impl<$($generic),*> $of {
            /// Time for one try, including its body. Default: that of the client.
            pub fn timeout(mut self, time: Duration) -> Self {
                self.call.options.timeout = Some(time);
                self
            }

            /// How often the request is sent again at most. Default: that of the client.
            pub fn max_retries(mut self, most: u32) -> Self {
                self.call.options.max_retries = Some(most);
                self
            }

            /// The `Idempotency-Key` of a creation, the same on every try. Default: a random one for this call.
            pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
                self.call.options.idempotency_key = Some(key.into());
                self
            }

            /// Your word that the request may be sent twice. Reads and requests with an idempotency key need none.
            pub fn repeat(mut self, may: bool) -> Self {
                self.call.options.repeat = may;
                self
            }

            /// Whether unknown parameters and filter values are refused instead of ignored. Default: that of the client.
            pub fn strict(mut self, strict: bool) -> Self {
                self.call.options.strict = Some(strict);
                self
            }

            /// With a shared key: your client that makes this request. Default: that of the client.
            pub fn subclient(self, name: impl Into<String>) -> Self {
                self.header("x-service-subclient", name)
            }

            /// One more header.
            pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.call.options.headers.push((name.into(), value.into()));
                self
            }
        }
    )*};
}

options! {
    Request<T>, [T];
    List<R, P>, [R P];
}

impl Options {
    pub(crate) fn strict(&mut self, strict: bool) {
        self.strict = Some(strict);
    }

    pub(crate) fn header(&mut self, name: &str, value: String) {
        self.headers.push((name.to_owned(), value));
    }
}
