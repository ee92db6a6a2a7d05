//! The edge, as far as a command that changes facts needs it: the command answers when what it did shows.

use crate::clock::Clock;
use crate::config::{self, LinkConfig};
use crate::edge_link::EdgeLink;
use crate::edge_link::tags::{PATIENCE, Shown, until_shown};
use crate::store::Db;
use rds_shared::route::Tag;
use serde_json::{Value, json};

/// The way to the edge, if the environment names one.
///
/// Read it before anything is changed: a link that cannot work is told first.
pub(super) struct Edge(Option<EdgeLink>);

impl Edge {
    /// The edge of the environment.
    pub(super) fn configured(clock: &Clock) -> anyhow::Result<Self> {
        let link =
            LinkConfig::read(config::environment)?.map(|link| EdgeLink::new(&link, clock.clone())).transpose()?;
        Ok(Edge(link))
    }

    /// Waits until no copy at the edge is older than what was just committed of `tags`, and says how far that came.
    pub(super) async fn shown(&self, db: &Db, clock: &Clock, tags: &[Tag]) -> anyhow::Result<Told> {
        Ok(Told(until_shown(db, self.0.as_ref(), clock, tags, PATIENCE).await?))
    }
}

/// How far a change has come, for a command's output.
pub(super) struct Told(Shown);

impl Told {
    /// What to add to the text of a result; empty when it shows everywhere.
    pub(super) fn remark(&self) -> String {
        match &self.0 {
            Shown::Everywhere => String::new(),
            Shown::NoEdge => "; no edge is known here (RDS_EDGE_URL), and no service says that it tells one".to_owned(),
            Shown::CopiesFor { seconds, why } => {
                let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
                format!(
                    "; the edge has not acknowledged it{why}; it is told again, and copies until then are at most {seconds} s old"
                )
            }
        }
    }

    /// The same as a value: `edge` is `acknowledged`, `none` or `waiting`, and `copies_for_seconds` says how old copies may be.
    pub(super) fn add_to(&self, result: &mut Value) {
        let (edge, seconds) = match &self.0 {
            Shown::Everywhere => ("acknowledged", None),
            Shown::NoEdge => ("none", None),
            Shown::CopiesFor { seconds, .. } => ("waiting", Some(*seconds)),
        };
        if let Value::Object(fields) = result {
            fields.insert("edge".to_owned(), json!(edge));
            fields.insert("copies_for_seconds".to_owned(), json!(seconds));
        }
    }
}
