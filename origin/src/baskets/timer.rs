//! When baskets are looked at by themselves: after every run over all scores, and when a quarter ends.

use super::Refreshed;
use crate::app::App;
use crate::store::{StoreError, scores};
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
                let reason = Some((run, latest_quarter_end(app.clock.now())));
                if looked == reason {
                    continue;
                }
                look(app).await.map(|()| looked = reason)
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

async fn look(app: &App) -> Result<(), StoreError> {
    for (basket, refreshed) in super::refresh(&app.db, &app.clock, app.signing_key.as_ref()).await? {
        match refreshed {
            Refreshed::Rebalanced { version_id, trigger } => {
                tracing::info!(%basket, %version_id, %trigger, "a basket was rebalanced");
            }
            Refreshed::Halted { reason } => tracing::warn!(%basket, %reason, "a basket cannot be rebalanced"),
            Refreshed::NotDue | Refreshed::NoRules | Refreshed::Unchanged => {}
        }
    }
    Ok(())
}
