//! The background jobs: catalog refresh, states for replicas, database notifications, scheduled score and research runs, the daily roll-up, the exposure
//! graph, baskets, the journal and its streams, webhook fan-out and upkeep, samples of the service's status, updates of keys and
//! facts for the edge, and operators' metrics.

use crate::app::App;
use crate::basket_refresh;
use crate::catalog::refresh;
use crate::chain;
use crate::edge_link::{self, EdgeLink, outbox};
use crate::graph::follow;
use crate::journal::{retention, sequence, tail};
use crate::metrics::{RunOutcome, database_metrics, process};
use crate::panics::{caught, panic_text};
use crate::replica;
use crate::status::{sampler, writes};
use crate::stream::maintenance;
use crate::thinning;
use crate::traces::{self, Span};
use crate::webhooks::{fanout, upkeep};
use rds_engine::research;
use rds_engine::scoring_run;
use rds_engine::symbol_days;
use rds_store::StoreError;
use rds_store::graph::snapshots;
use rds_store::ingest::publication;
use rds_store::keys::{edge_outbox, spent_assertions};
use rds_store::push::{journal, operations};
use rds_store::service::tags;
use rds_store::vaults::days;
use sqlx::postgres::PgListener;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Pause before a lost `LISTEN` connection is reopened.
const LISTEN_RETRY: Duration = Duration::from_secs(1);

/// Pause after a failed roll-up, research run or daily sum.
const ROLLUP_RETRY: Duration = Duration::from_secs(60);

/// How often to check whether a day has ended: every second, so that a moved test clock takes effect.
const DAY_POLL: Duration = SCORE_POLL;

/// How often to check whether a research run is due. A newly withheld chain leaves the research figures within this time.
const RESEARCH_POLL: Duration = Duration::from_secs(5);

/// How often to check whether a score run is due: every second, so that a moved test clock takes effect.
const SCORE_POLL: Duration = Duration::from_secs(1);

/// Deletion of spent edge assertions: interval, age in seconds, and rows per statement. An assertion is valid for a minute if the
/// clocks are nearly right; an hour allows for wrong clocks.
const FORGET_EVERY: Duration = Duration::from_secs(60);
const FORGET_SECONDS: f64 = 3_600.0;
const FORGET_BATCH: i64 = 10_000;

/// How often to look for vaults without daily sums.
const SUM_POLL: Duration = Duration::from_secs(10);

/// Pause between two steps of summing, so that summing uses at most about half of the database's time.
const SUM_REST: Duration = Duration::from_millis(250);

/// Vaults summed per step: a year of one vault's hourly readings takes a few hundred milliseconds when read from disk.
const SUM_BATCH: u32 = 2;

/// Pause before a job that panicked is restarted.
const RESTART: Duration = Duration::from_secs(1);

/// A background job: runs until it is cancelled, or returns at once if it is not configured (for example, without a link to the edge).
type Job = for<'a> fn(&'a App, Option<&'a Arc<EdgeLink>>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// All jobs, each with its name in the log.
const JOBS: [(&str, Job); 27] = [
    ("catalog", |app, _| Box::pin(refresh::keep_current(app))),
    ("replica", |app, _| Box::pin(replica::keep_following(&app.catalog, &app.replica))),
    ("database notifications", |app, link| Box::pin(listen(app, link))),
    ("key updates", |app, link| Box::pin(send_key_updates(app, link))),
    ("tag versions", |app, link| Box::pin(send_tag_versions(app, link))),
    ("scores", |app, _| Box::pin(keep_scored(app))),
    ("samples", |app, link| Box::pin(sampler::keep_sampling(app, link))),
    ("writes", |app, _| Box::pin(writes::keep_probing(&app.db, &app.writes))),
    ("research", |app, _| Box::pin(keep_researched(app))),
    ("graph", |app, _| Box::pin(follow::keep_current(app))),
    ("baskets", |app, _| Box::pin(basket_refresh::keep_current(app))),
    ("fan-out", |app, _| Box::pin(fanout::keep_fanned_out(app))),
    ("webhooks", |app, _| Box::pin(upkeep::keep_up(app))),
    ("sequencer", |app, link| {
        Box::pin(sequence::keep_numbering(&app.db, &app.clock, &app.journal, &app.traces, link.map(Arc::as_ref)))
    }),
    ("tailer", |app, _| Box::pin(tail::keep_following(&app.db, &app.clock, &app.journal))),
    ("partitions", |app, _| Box::pin(retention::keep_partitions(&app.db, &app.clock, &app.journal))),
    ("stream slots", |app, _| Box::pin(maintenance::keep_giving_back(&app.db, &app.streams))),
    ("liveness", |app, _| Box::pin(maintenance::keep_alive(&app.db, &app.journal, &app.streams))),
    ("revocations", |app, _| Box::pin(maintenance::keep_revoking(&app.db, &app.journal, &app.streams))),
    ("clock", |app, _| Box::pin(maintenance::keep_time(&app.clock, &app.journal))),
    ("assertions", |app, _| Box::pin(keep_forgetting(app))),
    ("days", |app, _| Box::pin(keep_days(app))),
    ("daily sums", |app, _| Box::pin(keep_summed(app))),
    ("thinning", |app, _| Box::pin(thinning::keep_thinning(app))),
    ("backlog metrics", |app, _| Box::pin(database_metrics::keep_reading(&app.db, &app.metrics))),
    ("chains", |app, _| Box::pin(chain::keep_reading(app))),
    ("delays", |app, _| Box::pin(process::keep_measuring(&app.metrics))),
];

/// The running jobs.
#[derive(Debug)]
pub struct Jobs(JoinSet<()>);

impl Jobs {
    /// Starts all jobs. With a `link`, the edge is notified of changed keys and facts.
    pub fn start(app: &Arc<App>, link: Option<Arc<EdgeLink>>) -> Self {
        let mut jobs = JoinSet::new();
        for (name, job) in JOBS {
            let (app, link) = (app.clone(), link.clone());
            jobs.spawn(async move { keep(name, RESTART, || job(&app, link.as_ref())).await });
        }
        Jobs(jobs)
    }

    /// Cancels all jobs; the database rolls back their open transactions.
    pub async fn stop(mut self) {
        self.0.shutdown().await;
    }
}

/// Runs a job and restarts it when it panics: a service that lost a job would look healthy but stop making progress. The database
/// rolls back the job's open transaction when the job's connection closes.
async fn keep<F: Future<Output = ()>>(name: &'static str, rest: Duration, job: impl Fn() -> F) {
    while let Err(panic) = caught(job()).await {
        tracing::error!(job = name, panic = panic_text(&*panic), "a job panicked; it is restarted");
        tokio::time::sleep(rest).await;
    }
}

/// Notifies the edge of changed keys, if an edge is configured.
async fn send_key_updates(app: &App, link: Option<&Arc<EdgeLink>>) {
    if let Some(link) = link {
        outbox::keep_sending(&app.db, &app.metrics, link).await;
    }
}

/// Notifies the edge of changed facts, if an edge is configured.
async fn send_tag_versions(app: &App, link: Option<&Arc<EdgeLink>>) {
    if let Some(link) = link {
        edge_link::tags::keep_sending(app, link).await;
    }
}

/// Listens for database notifications and wakes the jobs that they concern. While the connection is lost, the jobs still poll, so
/// changes are only seen later.
async fn listen(app: &App, link: Option<&Arc<EdgeLink>>) {
    loop {
        if let Ok(mut listener) = PgListener::connect_with(&app.db.pool).await
            && listener
                .listen_all([
                    publication::CHANNEL,
                    tags::CHANNEL,
                    edge_outbox::CHANNEL,
                    operations::CHANNEL,
                    journal::CHANNEL,
                    snapshots::CHANNEL,
                ])
                .await
                .is_ok()
        {
            while let Ok(notice) = listener.try_recv().await {
                wake(app, link, notice.as_ref().map(|notice| (notice.channel(), notice.payload())));
            }
        }
        tokio::time::sleep(LISTEN_RETRY).await;
    }
}

/// Wakes the jobs that wait for this notification, a channel and a payload. `None` means that the connection was lost and reopened: anything
/// may have changed.
pub fn wake(app: &App, link: Option<&Arc<EdgeLink>>, notice: Option<(&str, &str)>) {
    let about = |known| notice.is_none_or(|(channel, _)| channel == known);
    if about(operations::CHANNEL) {
        app.journal.committed();
    }
    if about(publication::CHANNEL) || about(tags::CHANNEL) {
        app.catalog.facts_changed();
        // Withholding a chain invalidates the exposure graph snapshot.
        app.graph.signal();
        if let Some(link) = link {
            link.facts_changed();
        }
    }
    if about(snapshots::CHANNEL) {
        app.graph.signal();
    }
    if about(journal::CHANNEL) {
        app.journal.numbered(notice.and_then(|(_, head)| head.parse().ok()).unwrap_or(u64::MAX));
    }
    if about(edge_outbox::CHANNEL) {
        app.streams.keys_changed();
        if let Some(link) = link {
            link.key_queued();
        }
    }
}

/// Makes scheduled score runs: freshness, dwell and the age of vaults change with time alone.
async fn keep_scored(app: &App) {
    if app.score_every_seconds == 0 {
        return;
    }
    loop {
        tokio::time::sleep(SCORE_POLL).await;
        let span = app.traces.of_job("score run");
        let running = scoring_run::run_due(&app.db, &app.clock, i64::from(app.score_every_seconds));
        let ended = traces::within(span.as_ref().map(Span::context), running).await;
        if let Some(mut span) = span.filter(|_| !matches!(ended, Ok(None))) {
            span.keep();
            if ended.is_err() {
                span.fail();
            }
        }
        match ended {
            Ok(None) => {}
            // The sanity check has logged the reason.
            Ok(Some(run)) if run.withheld.is_some() => app.metrics.scored(RunOutcome::Withheld),
            Ok(Some(run)) => {
                app.metrics.scored(RunOutcome::Completed);
                tracing::info!(vaults = run.vaults, changes = run.changes.len(), "a scheduled score run completed");
                app.catalog.facts_changed();
            }
            // The catalog refresh already logs that the database is unavailable.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                app.metrics.scored(RunOutcome::Failed);
                tracing::error!(%error, "a scheduled score run failed");
            }
        }
    }
}

/// Makes scheduled research runs, which test the scores. Disabled if scheduled score runs are disabled.
async fn keep_researched(app: &App) {
    if app.score_every_seconds == 0 {
        return;
    }
    loop {
        tokio::time::sleep(RESEARCH_POLL).await;
        match research::run_due(&app.db, &app.clock).await {
            Ok(None) => {}
            Ok(Some(run)) => tracing::info!(records = run.records, samples = run.samples, "a research run completed"),
            // The catalog refresh already logs that the database is unavailable.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                tracing::error!(%error, "a research run failed; it is retried in a minute");
                tokio::time::sleep(ROLLUP_RETRY).await;
            }
        }
    }
}

/// Deletes spent edge assertions that have expired.
async fn keep_forgetting(app: &App) {
    loop {
        match spent_assertions::forget(&app.db, FORGET_SECONDS, FORGET_BATCH).await {
            // The catalog refresh already logs that the database is unavailable.
            Ok(_) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "expired edge assertions could not be deleted"),
        }
        tokio::time::sleep(FORGET_EVERY).await;
    }
}

/// Stores the daily totals of the asset symbols after each day has ended.
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
            // The catalog refresh already logs that the database is unavailable.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                tracing::error!(%error, %day, "a day's roll-up failed; it is retried in a minute");
                tokio::time::sleep(ROLLUP_RETRY).await;
            }
        }
    }
}

/// Computes daily sums for vaults without any. After the upgrade that introduced the sums these are all vaults; later, each new vault.
async fn keep_summed(app: &App) {
    loop {
        match days::fill(&app.db, SUM_BATCH, app.clock.now().into()).await {
            Ok(0) => tokio::time::sleep(SUM_POLL).await,
            Ok(vaults) => {
                tracing::debug!(vaults, "daily sums were computed for these vaults");
                tokio::time::sleep(SUM_REST).await;
            }
            // The catalog refresh already logs that the database is unavailable.
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(SUM_POLL).await,
            Err(error) => {
                tracing::error!(%error, "daily sums of vaults could not be computed; retried in a minute, and raw readings are used until then");
                tokio::time::sleep(ROLLUP_RETRY).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[tokio::test]
    async fn a_job_that_panics_is_restarted_and_one_that_ends_is_not() {
        let runs = AtomicU32::new(0);
        let job = || async {
            tokio::task::yield_now().await;
            assert!(runs.fetch_add(1, Relaxed) >= 2, "not yet");
        };
        keep("a test", Duration::ZERO, job).await;
        assert_eq!(runs.load(Relaxed), 3);
    }
}
