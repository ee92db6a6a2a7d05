//! Thins old histories in small steps while the service runs, as the operator's policy says.

pub mod meters;

use crate::app::App;
use crate::config::KeepDays;
use rds_store::StoreError;
use rds_store::thinning::{self as table, History};
use std::time::Duration;

/// How often to look whether another day can be thinned; short, so that a moved test clock takes effect.
const POLL: Duration = Duration::from_secs(10);
/// Pause between two steps, a multiple of what a step takes.
const REST: Duration = Duration::from_millis(250);
/// Pause after a failed step.
const RETRY: Duration = Duration::from_secs(60);
/// Vaults of a step: a day of hourly readings of a hundred vaults takes some ten milliseconds.
const VAULTS: u32 = 100;

/// Thins until the process ends; returns at once if everything is kept for ever.
pub async fn keep_thinning(app: &App) {
    if app.keep_days == KeepDays::default() {
        return;
    }
    loop {
        let pause = match round(app).await {
            Ok(true) => REST,
            // The catalog refresh already logs that the database is unavailable.
            Ok(false) | Err(StoreError::Unavailable(_)) => POLL,
            Err(error) => {
                tracing::error!(%error, "old histories could not be thinned; retried in a minute");
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Makes one step of each history; returns whether one of them has more to thin.
pub async fn round(app: &App) -> Result<bool, StoreError> {
    let mut more = false;
    for history in History::ALL {
        let Some(before) = app.keep_days.before(history, app.clock.now()) else { continue };
        if let Some(step) = table::step(&app.db, history, before, VAULTS).await? {
            app.thinning.note(history, step);
            more |= step.more;
        }
    }
    Ok(more)
}
