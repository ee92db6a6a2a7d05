//! Automatic refreshes of baskets: after every full score run, when a quarter ends, and when scores are no longer withheld.

use crate::app::App;
use rds_engine::baskets::{self, Refreshed};
use rds_shared::model::health::FailSafeMode;
use rds_shared::rules::baskets::rebalance_triggers::latest_quarter_end;
use rds_store::StoreError;
use rds_store::scoring::scores;
use std::time::Duration;

/// Poll interval; short, so that a moved test clock takes effect soon.
const POLL: Duration = Duration::from_secs(1);
/// Pause after a failed refresh.
const RETRY: Duration = Duration::from_secs(30);

/// Refreshes baskets until the process ends. Any number of processes may run this; a rebalance happens once.
pub async fn keep_current(app: &App) {
    let mut done_for = None;
    loop {
        tokio::time::sleep(POLL).await;
        let outcome = match scores::last_whole_run(&app.db.pool).await {
            Ok(run) => {
                let is_closed = app.catalog.fail_safe() == FailSafeMode::FailClosed;
                let reason = Some((run, latest_quarter_end(app.clock.now())));
                if is_closed || done_for == reason {
                    continue;
                }
                // Another process may have set `fail_closed` before this one noticed; then the refresh is still pending.
                refresh_all(app).await.map(|is_done| done_for = if is_done { reason } else { done_for })
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => {}
            // The catalog's refresh already logs that the database is down.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                tracing::error!(%error, "the baskets could not be refreshed; the refresh is retried");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Refreshes every basket; `false` if scores are withheld, so that the refresh is still pending.
async fn refresh_all(app: &App) -> Result<bool, StoreError> {
    let mut is_done = true;
    for (basket, refreshed) in baskets::refresh(&app.db, &app.clock, app.signing_key.as_ref()).await? {
        match refreshed {
            Refreshed::Rebalanced { version_id, trigger } => {
                tracing::info!(%basket, %version_id, %trigger, "a basket was rebalanced");
            }
            Refreshed::Halted { reason } => tracing::warn!(%basket, %reason, "a basket cannot be rebalanced"),
            Refreshed::Closed => is_done = false,
            Refreshed::NotDue | Refreshed::NoRules | Refreshed::Unchanged => {}
        }
    }
    Ok(is_done)
}
