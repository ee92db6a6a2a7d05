//! Bodies that are assets: files of the deployment, stored beside the Worker's module under names that are hashes of their content.
//!
//! The module itself has only the tables of such files, with their names, sizes and ETags (`rds_docs`). So it answers HEAD and conditional
//! requests without the file, and asks the host for the content only if the response has a body.

use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{self, Answer, Exchange, Reply, ReplyBody};
use rds_shared::wire::{ApiError, ErrorCode};

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Makes the host load the asset that `reply` consists of, if any. If the asset cannot be loaded, the reply becomes an error.
    pub(crate) async fn with_asset(&self, reply: Reply, exchange: Exchange<'_>) -> Reply {
        let Some(ReplyBody::Asset(asset)) = reply.body else { return reply };
        let Err(fault) = self.host.load_asset(asset).await else { return reply };
        self.host.log(&format!("{} the asset {} could not be loaded: {}", self.request_id, asset.name, fault.0));
        let error = match reply.status {
            // The page about a missing page.
            404 => ApiError::not_found("page"),
            _ => ErrorCode::ServiceUnavailable.into(),
        };
        respond::finish(Answer::Error(error), exchange)
    }
}
