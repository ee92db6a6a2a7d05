//! What is answered when the origin's usual answer is not to be had on purpose, or about the origin itself: scores while the platform
//! is fail-closed, and the status of a service that gave none.
//!
//! The mode is known here by the version of its tag, so it takes effect within a lease, and on every copy. While it is fail-closed no
//! copy of a score is served; the origin is still asked each time, so that an isolate that hears of nothing else hears
//! that this is over.

use crate::answering::Failure;
use crate::origin::{OriginAnswer, Passed};
use crate::pipeline::{Asked, Walk};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content, Served};
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::{Route, Tag, TagVersions};
use rds_shared::rules::platform;
use rds_shared::wire::ErrorCode;
use rds_shared::wire::headers::{self, XCache};

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// The platform's mode, as far as this isolate knows; where it says nothing, what the origin says with an answer counts.
    pub(crate) fn fail_safe(&self) -> Option<FailSafeMode> {
        self.isolate.epochs.borrow().known().fail_safe()
    }

    /// Whether answers of `route` are withheld, as far as this isolate knows.
    pub(crate) fn is_closed(&self, route: &Route) -> bool {
        route.scores && self.fail_safe() == Some(FailSafeMode::FailClosed)
    }

    /// The answer on a route whose answers are withheld: none, unless the origin says that they no longer are.
    pub(crate) async fn closed(&self, asked: &Asked) -> Answer {
        match self.ask(asked, None, &TagVersions::default()).await {
            Ok(answer) => {
                self.hear(asked.route, &answer);
                match self.is_closed(asked.route) {
                    true => Answer::Error(ErrorCode::FailClosed.into()),
                    false => self.keep(asked, answer, None),
                }
            }
            Err(_) => Answer::Error(ErrorCode::FailClosed.into()),
        }
    }

    /// Takes up what an answer says of the facts behind `route`, and of the mode. Answers the former.
    pub(crate) fn hear(&self, route: &Route, answer: &OriginAnswer) -> TagVersions {
        let told = answer.tags();
        let facts = told.only(route.tags);
        let mut epochs = self.isolate.epochs.borrow_mut();
        epochs.heard(&facts);
        epochs.heard(&told.only(&[Tag::FailSafe]));
        facts
    }

    /// The status feed of a service that gave none. It is made here, and nobody keeps it.
    pub(crate) fn untold(&self, failure: &Failure) -> Answer {
        let feed = platform::untold(matches!(failure, Failure::Unable(_)), self.host.now());
        let json = |name: &str| (name == "content-type").then(|| headers::JSON.to_owned());
        match serde_json::to_vec(&feed) {
            Ok(body) => Answer::Content(Content {
                status: 200,
                headers: Passed::read(json),
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
    /// Whether the origin withholds its answer on purpose: nothing stands in for it.
    pub(crate) fn is_fail_closed(&self) -> bool {
        match self {
            Failure::Unable(answer) => {
                answer.header(headers::FAIL_SAFE_MODE) == Some(FailSafeMode::FailClosed.as_str())
            }
            Failure::HeldOff { .. } | Failure::Timeout | Failure::Unreachable => false,
        }
    }
}
