//! The settings of traces.

use axum::http::Uri;
use rds_shared::wire::traceparent::SampleRatio;

/// How traces are made and where they are sent.
#[derive(Debug, Clone)]
pub struct TraceConfig {
    /// The collector's address for traces over HTTP: the configured address with `/v1/traces`.
    pub traces: Uri,
    /// The share of requests and jobs that this process samples. The edge decides for its callers.
    pub ratio: SampleRatio,
}

/// Reads the share of `RDS_TRACE_RATIO`.
pub(super) fn ratio(text: &str) -> Result<SampleRatio, String> {
    SampleRatio::parse(text).ok_or_else(|| "must be a number from 0 to 1".into())
}

/// Reads the collector's address of `RDS_OTLP_ENDPOINT`, and adds the path for traces.
pub(super) fn endpoint(text: &str) -> Result<Uri, String> {
    let uri = format!("{}/v1/traces", text.trim_end_matches('/')).parse::<Uri>().ok();
    let has_host = |uri: &Uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    };
    uri.filter(|uri| has_host(uri) && uri.query().is_none())
        .ok_or_else(|| "must be the http:// or https:// address of a collector, without a query".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_the_path_for_traces() {
        for given in ["http://127.0.0.1:4318", "http://127.0.0.1:4318/"] {
            assert_eq!(endpoint(given).unwrap().to_string(), "http://127.0.0.1:4318/v1/traces");
        }
        assert_eq!(endpoint("https://collector.example/otlp").unwrap().path(), "/otlp/v1/traces");
        for bad in ["127.0.0.1:4318", "ftp://127.0.0.1", "http://", "http://x/?y=1", ""] {
            assert!(endpoint(bad).is_err(), "{bad}");
        }
        assert!(ratio("0.25").is_ok() && ratio("25 %").is_err());
    }
}
