//! `POST /ingest`: a batch of observations, committed completely or not at all.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::body;
use crate::http::server::Server;
use axum::body::Body;
use rds_engine::ingest::{self, Batch, Fault, IngestError, IngestReport, MAX_BATCH_BYTES};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode};
use serde::Serialize;
use std::sync::atomic::Ordering::Relaxed;

/// Reads, checks and commits one batch, notifies the catalog, then responds.
pub async fn take(server: &Server, body: Body) -> Result<Answer, Failure> {
    match committed(server, body).await {
        Ok(report) => {
            server.app.metrics.ingest_batches.fetch_add(1, Relaxed);
            server.app.metrics.ingest_observations.fetch_add(report.lines, Relaxed);
            server.app.catalog.facts_changed();
            server.app.journal.committed();
            #[derive(Serialize)]
            struct Taken {
                data: IngestReport,
            }
            Answer::value(&Taken { data: report })
        }
        Err(failure) => {
            server.app.metrics.ingest_refused.fetch_add(1, Relaxed);
            Err(failure)
        }
    }
}

async fn committed(server: &Server, body: Body) -> Result<IngestReport, Failure> {
    let held = body::read(body, MAX_BATCH_BYTES as usize, &server.limits.operators_bodies).await?;
    let text = held.bytes.clone();
    // Reading a large batch takes seconds of processor time, so it does not run on a thread that answers requests.
    let read = tokio::task::spawn_blocking(move || Batch::read(&text[..])).await;
    let batch = read.map_err(|error| Failure::Internal(error.to_string()))?.map_err(refused)?;
    ingest::commit(&server.app.db, &server.app.clock, batch).await.map_err(refused)
}

fn refused(error: IngestError) -> Failure {
    match error {
        IngestError::Faults(faults) => {
            let total = faults.total();
            let told: Vec<Detail> = faults.into_listed().into_iter().map(detail).collect();
            let shown = told.len();
            let mut refused = ApiError::invalid(ErrorCode::InvalidBody, told);
            if total > shown as u64 {
                refused.message = format!("{total} faults, the first {shown} of them: {}", refused.message).into();
            }
            refused.into()
        }
        IngestError::TooLarge => ApiError::new(ErrorCode::PayloadTooLarge, error.to_string()).into(),
        IngestError::Store(error) => error.into(),
        IngestError::Read(error) => Failure::Internal(error.to_string()),
    }
}

/// A fault as a detail of the error: `line 3, tvl_usd` and the reason.
fn detail(fault: Fault) -> Detail {
    let name = match fault.field {
        Some(field) => format!("line {}, {field}", fault.line),
        None => format!("line {}", fault.line),
    };
    Detail::new(In::Body, name, fault.reason)
}
