//! When baskets are looked at by themselves: after every run over all scores, when a quarter ends, and when scores are no longer
//! withheld.

use super::Refreshed;
use crate::app::App;
use crate::store::{StoreError, scores};
use rds_shared::model::health::FailSafeMode;
use rds_shared::rules::baskets::refresh::latest_quarter_end;
use std::time::Duration;

/// How often it is asked whether there is a reason to look: a moved test clock takes effect this soon.
const POLL: Duration = Duration::from_secs(1);
/// How long a failed look rests.
const RETRY: Duration = Duration::from_secs(30);

/// Keeps baskets current until the process ends. Any number of processes may: a rebalance is made once.
pub async fn keep_current(app: &App) {
    let mut looked = None;
    loop {
        tokio::time::sleep(POLL).await;
        let outcome = match scores::last_whole_run(&app.db.pool).await {
            Ok(run) => {
                let is_closed = app.fail_safe() == FailSafeMode::FailClosed;
                let reason = Some((run, latest_quarter_end(app.clock.now())));
                if is_closed || looked == reason {
                    continue;
                }
                // Another process may know of a closure before this one does: then the look is still to come.
                look(app).await.map(|is_done| looked = if is_done { reason } else { looked })
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => {}
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                tracing::error!(%error, "the baskets could not be refreshed; it is tried again");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Whether every basket was looked at.
async fn look(app: &App) -> Result<bool, StoreError> {
    let mut is_done = true;
    for (basket, refreshed) in super::refresh(&app.db, &app.clock, app.signing_key.as_ref()).await? {
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
