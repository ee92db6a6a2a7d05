//! The link to the edge for commands: a command that changes facts waits until the edge serves the change, up to a time limit.

use super::Output;
use crate::config::{self, LinkConfig};
use crate::edge_link::EdgeLink;
use crate::edge_link::tags::{MAX_WAIT, Visibility, until_visible};
use rds_engine::clock::Clock;
use rds_shared::route::Tag;
use rds_store::Db;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Display;
use std::process::ExitCode;

/// The link to the edge, if the environment names one.
///
/// It is read before anything is changed, so that an invalid link is reported first.
pub(super) struct Edge(Option<EdgeLink>);

impl Edge {
    /// Reads the link from the environment.
    pub(super) fn configured(clock: &Clock) -> anyhow::Result<Self> {
        let link =
            LinkConfig::read(config::environment)?.map(|link| EdgeLink::new(&link, clock.clone())).transpose()?;
        Ok(Edge(link))
    }

    /// Ends a command by printing its result. After a success, it first waits until the edge serves no cached response that is older than
    /// the committed state of `tags`. The result then also says whether the edge has acknowledged the change.
    ///
    /// A command that changed nothing waits, too: an earlier command may have been stopped before the edge was notified.
    pub(super) async fn end(
        &self,
        db: &Db,
        tags: &[Tag],
        text: impl Display,
        value: &impl Serialize,
        code: ExitCode,
        out: Output,
    ) -> anyhow::Result<ExitCode> {
        if code == ExitCode::SUCCESS {
            let visibility = VisibilityReport(until_visible(db, self.0.as_ref(), tags, MAX_WAIT).await?);
            let mut value = serde_json::to_value(value)?;
            visibility.add_to(&mut value);
            out.show(format!("{text}{}", visibility.remark()), &value)?;
        } else {
            out.show(text, value)?;
        }
        Ok(code)
    }
}

/// How far a change has become visible, for a command's output.
struct VisibilityReport(Visibility);

impl VisibilityReport {
    /// Text to append to a result; empty if the change is visible everywhere.
    fn remark(&self) -> String {
        match &self.0 {
            Visibility::Everywhere => String::new(),
            Visibility::NoEdge => {
                "; RDS_EDGE_URL is not set, and no service has recorded that it notifies an edge".to_owned()
            }
            Visibility::CachedFor { seconds, why } => {
                let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
                format!(
                    "; the edge has not acknowledged it{why}; it is notified again, and cached responses are at most {seconds} s old until then"
                )
            }
        }
    }

    /// Adds `edge` (`acknowledged`, `none` or `waiting`) and `copies_for_seconds` (the maximum age of a cached response) to a JSON result.
    fn add_to(&self, result: &mut Value) {
        let (edge, seconds) = match &self.0 {
            Visibility::Everywhere => ("acknowledged", None),
            Visibility::NoEdge => ("none", None),
            Visibility::CachedFor { seconds, .. } => ("waiting", Some(*seconds)),
        };
        if let Value::Object(fields) = result {
            fields.insert("edge".to_owned(), json!(edge));
            fields.insert("copies_for_seconds".to_owned(), json!(seconds));
        }
    }
}
