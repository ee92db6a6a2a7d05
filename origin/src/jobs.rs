//! What runs beside the requests, and when: the catalog's refresh, the listening for changes, the scheduled score run, the
//! daily roll-up, the baskets, the journal and its streams, what there is to do for webhooks beside delivering, and the telling of changed
//! keys and facts to the edge.

use crate::app::App;
use crate::baskets;
use crate::catalog::refresh;
use crate::edge_link::{self, EdgeLink, outbox};
use crate::journal::{retention, sequence, tail};
use crate::scoring_run;
use crate::store::{StoreError, edge_outbox, journal, publication, tags};
use crate::stream::keeper;
use crate::symbol_days;
use crate::webhooks::{fanout, upkeep};
use sqlx::postgres::PgListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long a lost listening connection is waited for before it is tried again.
const LISTEN_RETRY: Duration = Duration::from_secs(1);

/// How long a failed roll-up rests.
const ROLLUP_RETRY: Duration = Duration::from_secs(60);

/// How often it is asked whether a day has ended; as often, for the same reason.
const DAY_POLL: Duration = SCORE_POLL;

/// How often it is asked whether a score run is due: a moved test clock takes effect this soon.
const SCORE_POLL: Duration = Duration::from_secs(1);

/// The running jobs.
#[derive(Debug)]
pub struct Jobs(JoinSet<()>);

impl Jobs {
    /// Starts them. With a `link`, changes of keys and of facts are told to the edge.
    pub fn start(app: &Arc<App>, link: Option<Arc<EdgeLink>>) -> Self {
        let mut jobs = JoinSet::new();
        let serving = app.clone();
        jobs.spawn(async move { refresh::keep_current(&serving).await });
        let (listening, woken) = (app.clone(), link.clone());
        jobs.spawn(async move { listen(&listening, woken.as_deref()).await });
        if let Some(link) = link {
            let (telling, keys) = (app.clone(), link.clone());
            jobs.spawn(async move { outbox::keep_told(&telling, &keys).await });
            let telling = app.clone();
            jobs.spawn(async move { edge_link::tags::keep_told(&telling, &link).await });
        }
        if app.score_every_seconds > 0 {
            let scoring = app.clone();
            jobs.spawn(async move { keep_scored(&scoring).await });
        }
        let fanning = app.clone();
        jobs.spawn(async move { fanout::keep_fanned_out(&fanning).await });
        let tending = app.clone();
        jobs.spawn(async move { upkeep::keep_up(&tending).await });
        let numbering = app.clone();
        jobs.spawn(async move { sequence::keep_numbering(&numbering).await });
        let following = app.clone();
        jobs.spawn(async move { tail::keep_following(&following).await });
        let keeping = app.clone();
        jobs.spawn(async move { retention::keep_partitions(&keeping).await });
        let (giving, living, revoking, timing) = (app.clone(), app.clone(), app.clone(), app.clone());
        jobs.spawn(async move { keeper::keep_giving_back(&giving).await });
        jobs.spawn(async move { keeper::keep_alive(&living).await });
        jobs.spawn(async move { keeper::keep_revoking(&revoking).await });
        jobs.spawn(async move { keeper::keep_time(&timing).await });
        let weighing = app.clone();
        jobs.spawn(async move { baskets::timer::keep_current(&weighing).await });
        let rolling = app.clone();
        jobs.spawn(async move { keep_days(&rolling).await });
        Jobs(jobs)
    }

    /// Stops them between two steps; what a step had begun in the database is rolled back there.
    pub async fn stop(mut self) {
        self.0.shutdown().await;
    }
}

/// Wakes the refresh when the database says that facts have changed, the tailer when operations were numbered, and the tellers
/// when facts or keys have. A lost connection costs nothing but speed: polling goes on.
async fn listen(app: &App, link: Option<&EdgeLink>) {
    loop {
        if let Ok(mut listener) = PgListener::connect_with(&app.db.pool).await
            && listener
                .listen_all([publication::CHANNEL, tags::CHANNEL, edge_outbox::CHANNEL, journal::CHANNEL])
                .await
                .is_ok()
        {
            while let Ok(notice) = listener.try_recv().await {
                // None is a connection that was lost and found: anything may have changed.
                let about = |channel| notice.as_ref().is_none_or(|notice| notice.channel() == channel);
                if about(publication::CHANNEL) || about(tags::CHANNEL) {
                    app.catalog.facts_changed();
                    // Where facts changed, operations may have been captured.
                    app.journal.committed();
                    if let Some(link) = link {
                        link.touched();
                    }
                }
                if about(journal::CHANNEL) {
                    app.journal.numbered();
                }
                if about(edge_outbox::CHANNEL) {
                    app.streams.keys_changed();
                    if let Some(link) = link {
                        link.queued();
                    }
                }
            }
        }
        tokio::time::sleep(LISTEN_RETRY).await;
    }
}

/// Runs the scores when they are due: freshness, dwell and the age of vaults move by time alone.
async fn keep_scored(app: &App) {
    loop {
        tokio::time::sleep(SCORE_POLL).await;
        match scoring_run::run_due(&app.db, &app.clock, i64::from(app.score_every_seconds)).await {
            Ok(None) => {}
            Ok(Some(run)) => {
                tracing::info!(vaults = run.vaults, changes = run.changes.len(), "a scheduled score run completed");
                app.catalog.facts_changed();
            }
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "a scheduled score run failed"),
        }
    }
}

/// Keeps every day when it has ended.
async fn keep_days(app: &App) {
    let mut kept = None;
    loop {
        tokio::time::sleep(DAY_POLL).await;
        let now = app.clock.now();
        let day = symbol_days::due(now);
        if kept == Some(day) {
            continue;
        }
        match symbol_days::keep_due(&app.db, now).await {
            Ok(_) => kept = Some(day),
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                tracing::error!(%error, %day, "a day's roll-up failed; it is tried again");
                tokio::time::sleep(ROLLUP_RETRY).await;
            }
        }
    }
}
