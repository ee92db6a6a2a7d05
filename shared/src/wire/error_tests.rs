//! Tests of the error envelope.

use super::*;
use alloc::vec;

#[test]
fn the_envelope_names_the_parameter_and_its_bounds() {
    let error = ApiError::parameter(Detail {
        minimum: Some(1.0),
        maximum: Some(100.0),
        ..Detail::new(In::Query, "limit", "must be a whole number from 1 to 100")
    });
    let json: serde_json::Value = serde_json::from_str(&error.to_json(RequestId::from_random([7; 16]))).unwrap();
    assert_eq!(json["error"]["code"], "INVALID_PARAMETER");
    assert_eq!(json["error"]["message"], "limit must be a whole number from 1 to 100");
    assert_eq!(json["error"]["request_id"], "07070707070707070707070707070707");
    assert_eq!(json["error"]["details"][0]["in"], "query");
    assert_eq!(json["error"]["details"][0]["maximum"], 100);
    assert!(json["error"].get("legacy_code").is_none());
}

#[test]
fn the_message_names_every_error_of_a_request() {
    let error = ApiError::invalid(
        ErrorCode::InvalidParameter,
        vec![
            Detail::new(In::Query, "page", "must be at least 1"),
            Detail::new(In::Query, "sortBy", "is not a sort field"),
        ],
    );
    assert_eq!(error.message, "page must be at least 1; sortBy is not a sort field");
}

#[test]
fn the_error_stays_small_however_many_faults_the_request_has() {
    let fault = |number: usize| Detail::new(In::Body, "é".repeat(5_000), format!("{number} {}", "\u{1}".repeat(5_000)));
    let error = ApiError::invalid(ErrorCode::InvalidBody, (0..7_000).map(fault).collect());
    let text = error.to_json(RequestId::from_random([7; 16]));
    assert!(text.len() < 64 << 10, "{} bytes", text.len());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["error"]["details"].as_array().unwrap().len(), MAX_DETAILS);
    assert_eq!(json["error"]["detail_count"], 7_000);
    assert!(error.message.ends_with("; and 6980 more"));
    assert_eq!(json["error"]["details"][0]["name"], "é".repeat(64) + "…");
    let long = ApiError::new(ErrorCode::InvalidBody, "x".repeat(1 << 20)).to_json(RequestId::from_random([7; 16]));
    assert!(long.len() < 9_000);
    let few = ApiError::invalid(ErrorCode::InvalidBody, (0..20).map(|_| Detail::new(In::Body, "ids", "x")).collect());
    assert!(!few.to_json(RequestId::from_random([7; 16])).contains("detail_count"));
}

#[test]
fn a_retired_version_names_its_successor() {
    let error = ApiError::version_retired(Successor { id: "b-v2".into(), path: "/v1/baskets/b/version/b-v2".into() });
    let json: serde_json::Value = serde_json::from_str(&error.to_json(RequestId::from_random([7; 16]))).unwrap();
    assert_eq!((error.status(), &json["error"]["successor"]), (410, &"b-v2".into()));
    assert_eq!(error.successor.unwrap().link(), "</v1/baskets/b/version/b-v2>; rel=\"successor-version\"");
}

#[test]
fn codes_are_unique_and_no_status_is_422() {
    let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ErrorCode::ALL.len());
    assert!(ErrorCode::ALL.iter().all(|code| code.status() != 422));
}

#[test]
fn exactly_429_503_and_504_have_a_retry_after() {
    for code in ErrorCode::ALL {
        assert_eq!(code.retry_after().is_some(), matches!(code.status(), 429 | 503 | 504), "{}", code.as_str());
    }
}
