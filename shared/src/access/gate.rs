//! Authorisation: whether an authenticated and metered caller may use a route, the error otherwise, and the rate-limit headers.

use super::budget::{Allowance, Verdict, WINDOW_SECONDS};
use super::plan::Plan;
use super::principal::Principal;
use crate::route::Access;
use crate::wire::error::{ApiError, ErrorCode, legacy};
use crate::wire::headers;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Checks that `principal` may use a route of `access`; the error states the credential or plan that the route needs.
pub fn admit(access: Access, principal: &Principal) -> Result<(), ApiError> {
    let required = match (access, principal) {
        (Access::Index, Principal::IndexToken { .. }) => return Ok(()),
        // An index token is valid on the index routes only.
        (_, Principal::IndexToken { .. }) => return Err(rejected_key()),
        (Access::Index, _) => return Err(credential_missing(needs_token())),
        (Access::Public, _) => return Ok(()),
        // Every key's plan is at least `data`.
        (Access::Key | Access::Data, _) => Plan::Data,
        (Access::Decisioning, _) => Plan::Decisioning,
    };
    match principal {
        Principal::Anonymous | Principal::FirstParty { .. } | Principal::IndexToken { .. } => {
            Err(credential_missing(needs(required)))
        }
        Principal::Key { plan, .. } if *plan < required => {
            let mut message = needs(required);
            message.push_str("; this key's plan is ");
            message.push_str(plan.as_str());
            Err(ApiError::new(ErrorCode::Forbidden, message))
        }
        Principal::Key { .. } => Ok(()),
    }
}

fn credential_missing(message: String) -> ApiError {
    ApiError { legacy_code: Some(legacy::TIER_REQUIRED), ..ApiError::new(ErrorCode::Unauthorized, message) }
}

fn needs_token() -> String {
    String::from("this route needs an index token; API keys are not accepted")
}

fn needs(plan: Plan) -> String {
    let mut message = String::from("this route needs an API key of plan ");
    message.push_str(plan.as_str());
    if plan < Plan::Embedded {
        message.push_str(" or higher");
    }
    message
}

/// The error for an invalid key or index token. It is the same for every reason, so it does not reveal which credentials exist.
pub fn rejected_key() -> ApiError {
    ApiError {
        legacy_code: Some(legacy::INVALID_API_KEY),
        ..ApiError::new(ErrorCode::Unauthorized, "the key or token is invalid, or not accepted on this route")
    }
}

/// The error for a key or an index token that cannot be checked now. Such a caller never gets anonymous access instead.
pub fn unverifiable_key() -> ApiError {
    let message = "the key or token cannot be checked at the moment; try again shortly";
    ApiError::new(ErrorCode::ServiceUnavailable, message)
}

/// The error for a request that exceeds a rate limit.
pub fn spent(verdict: &Verdict, now_seconds: i64) -> ApiError {
    let client_is_spent = verdict.subclient.is_some_and(|client| client.remaining == 0);
    let (code, message) = match (verdict.daily, client_is_spent && verdict.allowance.remaining > 0) {
        (true, _) if verdict.of_neighbourhood => (
            ErrorCode::DailyLimitExceeded,
            "the daily limit of this network (an IPv4 /24 or an IPv6 /48) is used up; a key has no daily limit",
        ),
        (_, false) if verdict.of_neighbourhood => (
            ErrorCode::RateLimited,
            "the rate limit of this network (an IPv4 /24 or an IPv6 /48) is used up; it resets when the window ends. A key has its own limit",
        ),
        (true, _) => {
            (ErrorCode::DailyLimitExceeded, "the daily limit of this IP address is used up; a key has no daily limit")
        }
        (_, true) => (
            ErrorCode::RateLimited,
            "this client's share of the key's rate limit is used up; it resets when the window ends",
        ),
        _ => (ErrorCode::RateLimited, "the rate limit is used up; it resets when the window ends"),
    };
    let wait = verdict.allowance.reset.saturating_sub(now_seconds).max(1);
    ApiError::new(code, message).retry_after(u32::try_from(wait).unwrap_or(u32::MAX))
}

/// The rate-limit headers of an answer, by lower-case name.
pub fn rate_limit_headers(verdict: &Verdict) -> Vec<(&'static str, String)> {
    let Allowance { limit, remaining, reset } = verdict.allowance;
    let mut all = Vec::with_capacity(6);
    all.push((headers::RATE_LIMIT, limit.to_string()));
    all.push((headers::RATE_REMAINING, remaining.to_string()));
    all.push((headers::RATE_RESET, reset.to_string()));
    all.push((headers::RATE_WINDOW, alloc::format!("{WINDOW_SECONDS}s")));
    if let Some(client) = verdict.subclient {
        all.push((headers::SUBCLIENT_LIMIT, client.limit.to_string()));
        all.push((headers::SUBCLIENT_REMAINING, client.remaining.to_string()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(plan: Plan) -> Principal {
        Principal::Key { id: 1, org_id: 1, plan }
    }

    fn code(access: Access, principal: &Principal) -> Option<(u16, Option<&'static str>)> {
        admit(access, principal).err().map(|error| (error.status(), error.legacy_code))
    }

    #[test]
    fn a_keyed_route_is_401_without_a_key_and_403_with_too_low_a_plan() {
        let page = Principal::FirstParty { origin: "https://app.example".into() };
        for access in [Access::Key, Access::Data, Access::Decisioning] {
            assert_eq!(code(access, &Principal::Anonymous), Some((401, Some("tier_required"))));
            assert_eq!(code(access, &page), Some((401, Some("tier_required"))));
        }
        assert_eq!(code(Access::Decisioning, &key(Plan::Data)), Some((403, None)));
        for (access, plan) in [
            (Access::Key, Plan::Data),
            (Access::Data, Plan::Data),
            (Access::Decisioning, Plan::Decisioning),
            (Access::Decisioning, Plan::Embedded),
            (Access::Public, Plan::Data),
        ] {
            assert_eq!(code(access, &key(plan)), None);
        }
        assert_eq!(code(Access::Public, &Principal::Anonymous), None);
    }

    #[test]
    fn an_index_token_is_valid_only_on_index_routes_and_they_accept_nothing_else() {
        let token = Principal::IndexToken { id: 1 };
        let page = Principal::FirstParty { origin: "https://app.example".into() };
        assert_eq!(code(Access::Index, &token), None);
        for caller in [Principal::Anonymous, page, key(Plan::Data), key(Plan::Embedded)] {
            assert_eq!(code(Access::Index, &caller), Some((401, Some("tier_required"))), "{caller:?}");
        }
        for access in [Access::Public, Access::Key, Access::Data, Access::Decisioning] {
            assert_eq!(code(access, &token), Some((401, Some("invalid_api_key"))), "{access:?}");
        }
    }

    #[test]
    fn the_error_for_an_index_token_on_another_route_covers_keys_and_tokens() {
        let refused = admit(Access::Public, &Principal::IndexToken { id: 1 }).unwrap_err();
        assert_eq!(refused.message, "the key or token is invalid, or not accepted on this route");
    }

    #[test]
    fn a_refusal_names_the_plan_that_the_route_needs() {
        let error = admit(Access::Decisioning, &key(Plan::Data)).unwrap_err();
        assert_eq!(error.message, "this route needs an API key of plan decisioning or higher; this key's plan is data");
    }

    #[test]
    fn a_rate_limit_error_says_when_to_retry() {
        let allowance = Allowance { limit: 10, remaining: 0, reset: 120 };
        let verdict = Verdict { admitted: false, allowance, subclient: None, daily: false, of_neighbourhood: false };
        let error = spent(&verdict, 77);
        assert_eq!((error.code, error.retry_after), (ErrorCode::RateLimited, Some(43)));
        assert_eq!(spent(&verdict, 500).retry_after, Some(1), "never zero, which would invite an immediate retry");
        let daily = spent(&Verdict { daily: true, ..verdict }, 77);
        assert_eq!((daily.status(), daily.code), (429, ErrorCode::DailyLimitExceeded));
        for (daily, code) in [(false, ErrorCode::RateLimited), (true, ErrorCode::DailyLimitExceeded)] {
            let network = spent(&Verdict { daily, of_neighbourhood: true, ..verdict }, 77);
            assert!(network.code == code && network.message.contains("/48"), "network not named: {}", network.message);
        }
    }

    #[test]
    fn an_answer_to_a_shared_key_also_reports_the_clients_share() {
        let allowance = Allowance { limit: 40, remaining: 39, reset: 60 };
        let alone = Verdict { admitted: true, allowance, subclient: None, daily: false, of_neighbourhood: false };
        assert_eq!(
            rate_limit_headers(&alone).into_iter().map(|(_, value)| value).collect::<Vec<_>>(),
            ["40", "39", "60", "60s"]
        );
        let shared = Verdict { subclient: Some(Allowance { limit: 10, remaining: 9, reset: 60 }), ..alone };
        let names: Vec<_> = rate_limit_headers(&shared).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names[4..], ["x-ratelimit-subclient-limit", "x-ratelimit-subclient-remaining"]);
    }
}
