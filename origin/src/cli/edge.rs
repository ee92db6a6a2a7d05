//! The edge, as far as a command that changes facts needs it: the command answers when what it did shows.

use super::Output;
use crate::clock::Clock;
use crate::config::{self, LinkConfig};
use crate::edge_link::EdgeLink;
use crate::edge_link::tags::{PATIENCE, Shown, until_shown};
use crate::store::Db;
use rds_shared::route::Tag;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Display;
use std::process::ExitCode;

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

    /// Ends a command: shows its result, after a success once no copy at the edge is older than what is committed of `tags`, and with
    /// the result how far that came.
    ///
    /// A command that found everything done before waits as well: the one that did it may have been stopped before the edge knew.
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
            let told = Told(until_shown(db, self.0.as_ref(), tags, PATIENCE).await?);
            let mut value = serde_json::to_value(value)?;
            told.add_to(&mut value);
            out.show(format!("{text}{}", told.remark()), &value)?;
        } else {
            out.show(text, value)?;
        }
        Ok(code)
    }
}

/// How far a change has come, for a command's output.
struct Told(Shown);

impl Told {
    /// What to add to the text of a result; empty when it shows everywhere.
    fn remark(&self) -> String {
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
    fn add_to(&self, result: &mut Value) {
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
