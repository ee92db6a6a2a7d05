//! The client and its options.

use crate::answer::RateLimit;
use crate::call::Call;
use crate::error::Error;
use crate::etags::EtagCache;
use crate::operation::Operation;
use crate::retry::{Clock, SystemClock};
use crate::transport::{Http, Transport};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A client of the Risk Data Service. Clones share connections, ETags and the rate limit's state.
///
/// ```
/// use risk_data_client::Client;
/// let client = Client::builder("https://rds.example").api_key("pk_live_0123456789abcdef0123456789abcdef").build()?;
/// assert!(client.rate_limit().is_none());
/// # Ok::<(), risk_data_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub base: String,
    pub headers: HeaderMap,
    pub max_retries: u32,
    pub timeout: Duration,
    pub max_retry_after: Duration,
    pub strict: bool,
    pub transport: Arc<dyn Transport>,
    pub clock: Arc<dyn Clock>,
    pub etags: Mutex<EtagCache>,
    pub rate_limit: Mutex<Option<RateLimit>>,
}

impl Client {
    /// Options for a client of the service at this address, without `/v1`.
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            base: base_url.into(),
            headers: Vec::new(),
            max_retries: 3,
            timeout: Duration::from_secs(75),
            max_retry_after: Duration::from_secs(60),
            etag_entries: 100,
            strict: false,
            transport: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// The rate limit that the last answer reported; `None` before the first.
    pub fn rate_limit(&self) -> Option<RateLimit> {
        *self.inner.rate_limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request of an operation that is chosen at run time. The methods of the resources make the same with types.
    ///
    /// ```
    /// # rds_recorded::run(async |client| {
    /// use risk_data_client::{operations, serde_json::Value};
    /// let list = client.call(&operations::VAULT_LIST).query("limit", 2).list::<Value, Value>();
    /// println!("{}", list.await?.json()?["meta"]["total"]);
    /// # Ok(()) })
    /// ```
    pub fn call(&self, operation: &'static Operation) -> Call {
        Call::new(self, operation)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the headers, which contain the key.
        f.debug_struct("Client").field("base", &self.inner.base).finish_non_exhaustive()
    }
}

/// Options of a client.
///
/// ```
/// use risk_data_client::Client;
/// use std::time::Duration;
/// let client = Client::builder("https://rds.example")
///     .api_key("pk_live_0123456789abcdef0123456789abcdef")
///     .timeout(Duration::from_secs(20))
///     .max_retries(5)
///     .build()?;
/// # _ = client; Ok::<(), risk_data_client::Error>(())
/// ```
#[must_use = "call `build`"]
pub struct ClientBuilder {
    base: String,
    headers: Vec<(String, String)>,
    max_retries: u32,
    timeout: Duration,
    max_retry_after: Duration,
    etag_entries: usize,
    strict: bool,
    transport: Option<Arc<dyn Transport>>,
    clock: Arc<dyn Clock>,
}

impl ClientBuilder {
    /// An API key (`pk_live_…`) or an index token. Without one, public reads work with low limits.
    pub fn api_key(self, key: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", key.as_ref()))
    }

    /// With a shared key: your client that makes the requests.
    pub fn subclient(self, name: impl Into<String>) -> Self {
        self.header("x-service-subclient", name)
    }

    /// One more header for every request.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// How often a request is sent again at most. Default: 3.
    pub fn max_retries(mut self, most: u32) -> Self {
        self.max_retries = most;
        self
    }

    /// Time for one try, including its body. Default: 75 seconds, because the service itself gives up after 60.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    /// The longest `Retry-After` that is waited for; a longer one is an error at once. Default: 60 seconds.
    pub fn max_retry_after(mut self, time: Duration) -> Self {
        self.max_retry_after = time;
        self
    }

    /// Answers kept with their ETags. 0 keeps none. Default: 100.
    pub fn etag_entries(mut self, entries: usize) -> Self {
        self.etag_entries = entries;
        self
    }

    /// Whether unknown parameters and filter values are refused instead of ignored. Default: false.
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sends the requests instead of the library's own HTTP client.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Used instead of the system's time and chance, for tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The client.
    ///
    /// # Errors
    /// If the address is none of HTTP or a header cannot be sent.
    pub fn build(self) -> Result<Client, Error> {
        let base = self.base.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let is_http = base.parse::<Uri>().is_ok_and(|it| it.host().is_some() && it.scheme_str().is_some_and(is_http));
        if !is_http {
            return Err(Error::Argument(format!("the address must begin with https:// or http://: {}", self.base)));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let (name, value) = header(name, value)?;
            headers.insert(name, value);
        }
        Ok(Client {
            inner: Arc::new(Inner {
                base: base.into(),
                headers,
                max_retries: self.max_retries,
                timeout: self.timeout,
                max_retry_after: self.max_retry_after,
                strict: self.strict,
                transport: self.transport.unwrap_or_else(|| Arc::new(Http::new())),
                clock: self.clock,
                etags: Mutex::new(EtagCache::new(self.etag_entries)),
                rate_limit: Mutex::new(None),
            }),
        })
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("base", &self.base).finish_non_exhaustive()
    }
}

fn is_http(scheme: &str) -> bool {
    scheme == "http" || scheme == "https"
}

/// A header that can be sent. Its value is left out of logs, because it may be a key.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let fault =
        || Error::Argument(format!("the header {name} cannot be sent: its name or value has a forbidden character"));
    let mut value = HeaderValue::from_str(value).map_err(|_| fault())?;
    value.set_sensitive(true);
    Ok((name.parse().map_err(|_| fault())?, value))
}
