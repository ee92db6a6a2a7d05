//! Responses in fail-closed mode (scores are withheld) and the status response while the origin is down.
//!
//! The edge reads the fail-safe mode from the version of the mode's tag, so a change takes effect within one tag lease (one second) and for
//! every cached response. In fail-closed mode no cached score is served. The edge still calls the origin for each request, because an
//! isolate that receives no tag versions detects the end of the mode only by the origin's answers.

use crate::cache_or_origin::Failure;
use crate::origin_link::signed_call::{OriginAnswer, ReadHeaders};
use crate::pipeline::{OriginRequest, RequestContext};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content, Served};
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::{Route, Tag, TagVersions};
use rds_shared::rules::component_status;
use rds_shared::wire::ErrorCode;
use rds_shared::wire::headers::{self, XCache};

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// The fail-safe mode as this isolate knows it. If `None`, the mode stated in the origin's answer counts.
    pub(crate) fn fail_safe(&self) -> Option<FailSafeMode> {
        self.isolate.tag_lease.borrow().known().fail_safe()
    }

    /// Whether responses of `route` are withheld, as far as this isolate knows.
    pub(crate) fn is_closed(&self, route: &Route) -> bool {
        route.scores && self.fail_safe() == Some(FailSafeMode::FailClosed)
    }

    /// The response of a route in fail-closed mode: an error, unless the origin's answer says that the mode has ended.
    pub(crate) async fn closed(&self, asked: &OriginRequest) -> Answer {
        match self.ask(asked, None, &TagVersions::default()).await {
            Ok(answer) => {
                self.record_tag_versions(asked.route, &answer);
                match self.is_closed(asked.route) {
                    true => Answer::Error(ErrorCode::FailClosed.into()),
                    false => self.keep(asked, answer, None, &TagVersions::default()),
                }
            }
            Err(_) => Answer::Error(ErrorCode::FailClosed.into()),
        }
    }

    /// Records the tag versions stated in an answer: those of `route` and the fail-safe mode. Returns those of `route`.
    pub(crate) fn record_tag_versions(&self, route: &Route, answer: &OriginAnswer) -> TagVersions {
        let stated = answer.tags();
        let facts = stated.only(route.tags);
        let mut lease = self.isolate.tag_lease.borrow_mut();
        lease.record_versions(&facts);
        lease.record_versions(&stated.only(&[Tag::FailSafe]));
        facts
    }

    /// The status feed while the origin cannot provide one. It is generated here and not cached.
    pub(crate) fn status_unavailable(&self, failure: &Failure) -> Answer {
        let feed = component_status::unavailable_feed(matches!(failure, Failure::Unable(_)), self.host.now());
        let json = |name: &str| (name == "content-type").then(|| headers::JSON.to_owned());
        match serde_json::to_vec(&feed) {
            Ok(body) => Answer::Content(Content {
                status: 200,
                headers: ReadHeaders::read(json),
                body: body.into(),
                served: Served {
                    x_cache: XCache::Bypass,
                    age: None,
                    cache_status: "rds-edge; fwd=bypass".to_owned(),
                    is_outdated: false,
                },
            }),
            Err(_) => Answer::Error(ErrorCode::ServiceUnavailable.into()),
        }
    }
}

impl Failure {
    /// Whether the origin withholds its answer because of fail-closed mode; then no stale response may be served.
    pub(crate) fn is_fail_closed(&self) -> bool {
        match self {
            Failure::Unable(answer) => {
                answer.header(headers::FAIL_SAFE_MODE) == Some(FailSafeMode::FailClosed.as_str())
            }
            Failure::HeldOff { .. } | Failure::Timeout | Failure::Unreachable => false,
        }
    }
}
