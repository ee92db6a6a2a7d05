//! Responses as providers send them, and what they are taken for.

use super::*;
use std::format;
use std::string::ToString;

fn meaning(status: u16, body: &str) -> Result<String, Failure> {
    let response = Response { status, retry_after: None, body: body.as_bytes() };
    read(response, 1).map(|result| result.get().to_string())
}

fn error(code: i64, message: &str) -> Result<String, Failure> {
    meaning(200, &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"{message}"}}}}"#))
}

const LIMITED: Failure = Failure::RateLimited { retry_after: None };

#[test]
fn a_result_is_returned_unparsed() {
    assert_eq!(meaning(200, r#"{"jsonrpc":"2.0","id":1,"result":"0x01"}"#), Ok(r#""0x01""#.into()));
    assert_eq!(meaning(200, r#"{"id":1,"result":{"a":[1]},"extra":true}"#), Ok(r#"{"a":[1]}"#.into()));
}

#[test]
fn a_damaged_or_foreign_response_is_a_transport_failure() {
    for body in [
        "",
        "<html>502 Bad Gateway</html>",
        r#"{"jsonrpc":"2.0","id":1,"result":"0x0"#,
        r#"{"jsonrpc":"2.0","id":2,"result":"0x01"}"#,
        r#"{"jsonrpc":"2.0","result":"0x01"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"id":1,"result":"0x01","error":{"code":3,"message":"execution reverted"}}"#,
        r#"{"id":1,"error":"execution reverted"}"#,
        r#"{"id":null,"error":{"code":3,"message":"execution reverted"}}"#,
        r#"[{"id":1,"result":"0x01"}]"#,
        r#""execution reverted""#,
    ] {
        assert_eq!(meaning(200, body), Err(Failure::Transport), "{body}");
    }
    for status in [0, 301, 400, 408, 500, 502, 503, 504] {
        assert_eq!(meaning(status, r#"{"id":1,"result":"0x01"}"#), Err(Failure::Transport), "{status}");
    }
}

#[test]
fn a_block_that_the_provider_does_not_have_is_unknown() {
    assert_eq!(meaning(200, r#"{"id":1,"result":null}"#), Err(Failure::UnknownBlock));
    for (code, message) in [
        (-32_001, "Resource not found"),
        (-32_000, "header not found"),
        (-32_000, "missing trie node 5f (path )"),
        (-32_000, "hash 0x00 is not currently canonical"),
        (-32_602, "BlockOutOfRangeError: block height is 7 but requested was 9"),
        (4444, "pruned history unavailable"),
    ] {
        assert_eq!(error(code, message), Err(Failure::UnknownBlock), "{message}");
    }
}

#[test]
fn throttling_is_never_taken_for_an_answer_of_the_contract() {
    for (code, message) in [
        (-32_005, "limit exceeded"),
        (-32_005, "execution reverted"),
        (429, "execution reverted"),
        (-32_005, "daily request count exceeded, request rate limited"),
        (429, "Your app has exceeded its compute units per second capacity"),
        (-32_000, "Too Many Requests"),
        (-32_603, "request limit reached"),
    ] {
        assert_eq!(error(code, message), Err(LIMITED), "{code} {message}");
    }
    let unattributed = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rate limited"}}"#;
    assert_eq!(meaning(200, unattributed), Err(LIMITED));
    for body in ["", "slow down", r#"{"id":1,"error":{"code":3,"message":"execution reverted","data":"0x"}}"#] {
        assert_eq!(meaning(429, body), Err(LIMITED), "{body}");
    }
}

#[test]
fn only_a_response_with_status_200_can_be_a_revert() {
    let body = r#"{"id":1,"error":{"code":3,"message":"execution reverted","data":"0x01"}}"#;
    assert_eq!(meaning(200, body), Err(Failure::Reverted { data: [1].into() }));
    for status in [400, 429, 500, 503] {
        assert!(meaning(status, body).is_err_and(|failure| !failure.is_of_the_contract()), "{status}");
    }
}

#[test]
fn a_revert_is_recognised_with_and_without_its_reason() {
    for (body, data) in [
        (r#"{"code":3,"message":"execution reverted: paused","data":"0x08c379a0"}"#, &[0x08, 0xc3, 0x79, 0xa0][..]),
        (r#"{"code":-32000,"message":"execution reverted"}"#, &[]),
        (r#"{"code":-32000,"message":"Execution reverted","data":"0xab"}"#, &[0xab]),
        (r#"{"code":-32015,"message":"VM execution error.","data":"Reverted 0xab"}"#, &[0xab]),
        (
            r#"{"code":-32000,"message":"VM Exception while processing transaction: revert","data":{"data":"0xab"}}"#,
            &[0xab],
        ),
        (r#"{"code":3,"message":"execution reverted: rate limit, out of gas, block range","data":"0x"}"#, &[]),
    ] {
        let body = format!(r#"{{"id":1,"error":{body}}}"#);
        assert_eq!(meaning(200, &body), Err(Failure::Reverted { data: data.into() }), "{body}");
    }
    for (code, message) in [
        (-32_603, "execution reverted"),
        (-32_000, "the call was execution reverted"),
        (3, "timeout"),
        (-32_015, "stopped"),
    ] {
        assert_eq!(error(code, message), Err(Failure::Transport), "{code} {message}");
    }
}

#[test]
fn too_large_a_range_and_too_little_gas_are_told_apart_from_throttling_with_the_same_code() {
    for message in [
        "query returned more than 10000 results",
        "eth_getLogs block range is too large, limited to 10000",
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range",
    ] {
        assert_eq!(error(-32_005, message), Err(Failure::RangeTooLarge), "{message}");
    }
    for message in
        ["out of gas", "EVM error OutOfGas", "intrinsic gas too low", "gas required exceeds allowance (50000000)"]
    {
        assert_eq!(error(-32_000, message), Err(Failure::Gas), "{message}");
    }
    assert_eq!(error(-32_000, "response too large"), Err(Failure::Size));
    assert_eq!(meaning(413, "<html>"), Err(Failure::Size));
}

#[test]
fn what_the_provider_does_not_serve_is_told_apart_from_a_passing_failure() {
    assert_eq!(error(-32_601, "the method eth_fly does not exist"), Err(Failure::Unsupported));
    assert_eq!(error(-32_602, "too many arguments, want at most 2"), Err(Failure::Unsupported));
    assert_eq!(meaning(403, "forbidden"), Err(Failure::Forbidden));
    assert_eq!(error(-32_000, "Unauthorized: invalid API key"), Err(Failure::Forbidden));
    assert_eq!(error(-32_603, "Internal error"), Err(Failure::Transport));
    assert_eq!(meaning(400, r#"{"id":1,"error":{"code":-32005,"message":"limit exceeded"}}"#), Err(LIMITED));
}

#[test]
fn the_waiting_time_is_read_in_seconds_and_bounded() {
    for (header, seconds) in [
        ("7", Some(7)),
        (" 7 ", Some(7)),
        ("99999999999999999999", Some(MAX_RETRY_AFTER)),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ] {
        let response = Response { status: 429, retry_after: Some(header), body: b"" };
        assert_eq!(read(response, 1).err(), Some(Failure::RateLimited { retry_after: seconds }), "{header}");
    }
}

#[test]
fn each_request_of_a_batch_has_an_outcome_of_its_own_in_whatever_order_they_come() {
    let body = r#"[{"id":8,"error":{"code":3,"message":"execution reverted","data":"0x01"}},{"id":7,"result":"0x2"},
                   {"id":9,"result":"0x3"},{"id":9,"result":"0x4"},{"id":11,"error":{"code":429,"message":""}}]"#;
    let outcomes =
        read_batch(Response { status: 200, retry_after: None, body: body.as_bytes() }, &[7, 8, 9, 10, 11]).unwrap();
    let [first, reverted, twice, missing, limited] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert_eq!(first.as_ref().map(|it| it.get()), Ok(r#""0x2""#));
    assert_eq!(reverted.as_ref().err(), Some(&Failure::Reverted { data: [1].into() }));
    assert_eq!((twice.as_ref().err(), missing.as_ref().err()), (Some(&Failure::Transport), Some(&Failure::Transport)));
    assert_eq!(limited.as_ref().err(), Some(&Failure::RateLimited { retry_after: None }));
}

#[test]
fn a_provider_without_batches_is_told_from_one_that_fails() {
    let batch = |status, body: &str| {
        read_batch(Response { status, retry_after: None, body: body.as_bytes() }, &[1, 2])
            .map(|outcomes| outcomes.len())
    };
    let error = r#"{"id":null,"error":{"code":-32600,"message":"batches are disabled"}}"#;
    for (status, body) in [(200, error), (200, r#"{"id":1,"result":"0x"}"#), (400, "no"), (405, "")] {
        assert_eq!(batch(status, body), Err(Failure::Unsupported), "{body}");
    }
    assert_eq!(batch(200, &std::format!("[{error}]")), Err(Failure::Unsupported));
    assert_eq!(
        batch(200, r#"{"error":{"code":-32005,"message":"rate limit"}}"#),
        Err(Failure::RateLimited { retry_after: None })
    );
    assert_eq!(batch(429, ""), Err(Failure::RateLimited { retry_after: None }));
    assert_eq!(batch(413, ""), Err(Failure::Size));
    assert_eq!(batch(403, "{}"), Err(Failure::Forbidden));
    for (status, body) in [(200, "<html>"), (502, "<html>"), (200, r#"[{"id":1,"result"#), (502, r#"[]"#)] {
        assert_eq!(batch(status, body), Err(Failure::Transport), "{body}");
    }
    // A list with no answer to any request.
    assert_eq!(batch(200, "[]"), Ok(2));
}
