//! Who is calling: a page of the service's own, or nobody in particular.

use rds_shared::access::Principal;
use rds_shared::wire::{ApiError, ErrorCode};

/// The caller behind a request.
///
/// `own_origin` is the configured origin that the request's `Origin` names. A presented credential never falls back to
/// anonymous access: as no key is valid here yet, every one is rejected.
/// Source: interface, "Authentication", 4 and 9; "Errors".
pub fn identify(authorization: Option<&str>, own_origin: Option<&str>) -> Result<Principal, ApiError> {
    match (authorization, own_origin) {
        (Some(_), _) => Err(ApiError {
            legacy_code: Some("invalid_api_key"),
            ..ApiError::new(ErrorCode::Unauthorized, "the API key is not valid")
        }),
        (None, Some(origin)) => Ok(Principal::FirstParty { origin: origin.to_owned() }),
        (None, None) => Ok(Principal::Anonymous),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_key_never_becomes_an_anonymous_caller() {
        for credential in ["Bearer pk_live_0123456789abcdef0123456789abcdef", "Bearer", "Basic eA==", ""] {
            let error = identify(Some(credential), Some("https://app.example")).unwrap_err();
            assert_eq!((error.code, error.legacy_code), (ErrorCode::Unauthorized, Some("invalid_api_key")));
        }
    }

    #[test]
    fn a_page_of_ours_is_told_from_everybody_else() {
        let ours = Principal::FirstParty { origin: "https://app.example".to_owned() };
        assert_eq!(identify(None, Some("https://app.example")), Ok(ours));
        assert_eq!(identify(None, None), Ok(Principal::Anonymous));
    }
}
