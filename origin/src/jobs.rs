//! What runs beside the requests, and when: the catalog's refresh, the listening for changes, the scheduled score run, the
//! daily roll-up and the daily research run, the exposure graph, the baskets, the journal and its streams, what there is to do
//! for webhooks beside delivering, the samples of how the service does, the telling of changed
//! keys and facts to the edge, and what operators are told.

use crate::app::App;
use crate::baskets;
use crate::catalog::refresh;
use crate::edge_link::{self, EdgeLink, outbox};
use crate::graph::follow;
use crate::journal::{retention, sequence, tail};
use crate::metrics::{RunOutcome, process, standing};
use crate::panics::{caught, panic_text};
use crate::research;
use crate::scoring_run;
use crate::status::{sampler, writes};
use crate::store::{StoreError, edge_outbox, journal, publication, snapshots, spent_assertions, tags, vault_days};
use crate::stream::keeper;
use crate::symbol_days;
use crate::webhooks::{fanout, upkeep};
use sqlx::postgres::{PgListener, PgNotification};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long a lost listening connection is waited for before it is tried again.
const LISTEN_RETRY: Duration = Duration::from_secs(1);

/// How long a failed roll-up rests.
const ROLLUP_RETRY: Duration = Duration::from_secs(60);

/// How often it is asked whether a day has ended; as often, for the same reason.
const DAY_POLL: Duration = SCORE_POLL;

/// How often it is asked whether a research run is due: a chain that comes to be withheld is out of its figures this soon.
const RESEARCH_POLL: Duration = Duration::from_secs(5);

/// How often it is asked whether a score run is due: a moved test clock takes effect this soon.
const SCORE_POLL: Duration = Duration::from_secs(1);

/// How often spent assertions are forgotten, how old they are then, in seconds, and how many go at once. An assertion lives for a minute, by
/// clocks that are all nearly right; an hour bears clocks that are not.
const FORGET_EVERY: Duration = Duration::from_secs(60);
const FORGET_SECONDS: f64 = 3_600.0;
const FORGET_AT_ONCE: i64 = 10_000;

/// How often it is asked whether there are vaults without daily sums.
const SUM_POLL: Duration = Duration::from_secs(10);

/// How long summing rests between two steps, so that it never takes more than about half of the database's time.
const SUM_REST: Duration = Duration::from_millis(250);

/// Vaults of one step: a year of hourly readings of each takes a few hundred milliseconds where they are on disk.
const SUMMED_AT_ONCE: u32 = 2;

/// How long a job rests that panicked.
const RESTART: Duration = Duration::from_secs(1);

/// A job: it runs until the process ends, or returns at once where there is nothing for it to do.
type Job = for<'a> fn(&'a App, Option<&'a Arc<EdgeLink>>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// All of them, each with the name that it is logged under.
const JOBS: [(&str, Job); 24] = [
    ("catalog", |app, _| Box::pin(refresh::keep_current(app))),
    ("notices", |app, link| Box::pin(listen(app, link))),
    ("news of keys", |app, link| Box::pin(tell_of_keys(app, link))),
    ("news of facts", |app, link| Box::pin(tell_of_facts(app, link))),
    ("scores", |app, _| Box::pin(keep_scored(app))),
    ("samples", |app, link| Box::pin(sampler::keep_sampling(app, link))),
    ("writes", |app, _| Box::pin(writes::keep_probing(app))),
    ("research", |app, _| Box::pin(keep_researched(app))),
    ("graph", |app, _| Box::pin(follow::keep_current(app))),
    ("baskets", |app, _| Box::pin(baskets::timer::keep_current(app))),
    ("fan-out", |app, _| Box::pin(fanout::keep_fanned_out(app))),
    ("webhooks", |app, _| Box::pin(upkeep::keep_up(app))),
    ("sequencer", |app, link| Box::pin(sequence::keep_numbering(app, link.map(Arc::as_ref)))),
    ("tailer", |app, _| Box::pin(tail::keep_following(app))),
    ("partitions", |app, _| Box::pin(retention::keep_partitions(app))),
    ("places", |app, _| Box::pin(keeper::keep_giving_back(app))),
    ("liveness", |app, _| Box::pin(keeper::keep_alive(app))),
    ("revocations", |app, _| Box::pin(keeper::keep_revoking(app))),
    ("clock", |app, _| Box::pin(keeper::keep_time(app))),
    ("assertions", |app, _| Box::pin(keep_forgetting(app))),
    ("days", |app, _| Box::pin(keep_days(app))),
    ("daily sums", |app, _| Box::pin(keep_summed(app))),
    ("standing", |app, _| Box::pin(standing::keep_known(app))),
    ("delays", |app, _| Box::pin(process::keep_measuring(app))),
];

/// The running jobs.
#[derive(Debug)]
pub struct Jobs(JoinSet<()>);

impl Jobs {
    /// Starts them. With a `link`, changes of keys and of facts are told to the edge.
    pub fn start(app: &Arc<App>, link: Option<Arc<EdgeLink>>) -> Self {
        let mut jobs = JoinSet::new();
        for (name, job) in JOBS {
            let (app, link) = (app.clone(), link.clone());
            jobs.spawn(async move { keep(name, RESTART, || job(&app, link.as_ref())).await });
        }
        Jobs(jobs)
    }

    /// Stops them between two steps; what a step had begun in the database is rolled back there.
    pub async fn stop(mut self) {
        self.0.shutdown().await;
    }
}

/// Runs a job, and starts it anew where it panics: a service that goes on without one of them would look well and stand still. What
/// it had begun in the database was rolled back with its connection.
async fn keep<F: Future<Output = ()>>(name: &'static str, rest: Duration, job: impl Fn() -> F) {
    while let Err(panic) = caught(job()).await {
        tracing::error!(job = name, panic = panic_text(&*panic), "a job panicked; it is started anew");
        tokio::time::sleep(rest).await;
    }
}

/// Tells the edge of changed keys, where there is one to tell.
async fn tell_of_keys(app: &App, link: Option<&Arc<EdgeLink>>) {
    if let Some(link) = link {
        outbox::keep_told(app, link).await;
    }
}

/// Tells the edge of changed facts, where there is one to tell.
async fn tell_of_facts(app: &App, link: Option<&Arc<EdgeLink>>) {
    if let Some(link) = link {
        edge_link::tags::keep_told(app, link).await;
    }
}

/// Wakes the refresh when the database says that facts have changed, the tailer when operations were numbered, and the tellers
/// when facts or keys have. A lost connection costs nothing but speed: polling goes on.
async fn listen(app: &App, link: Option<&Arc<EdgeLink>>) {
    loop {
        if let Ok(mut listener) = PgListener::connect_with(&app.db.pool).await
            && listener
                .listen_all([
                    publication::CHANNEL,
                    tags::CHANNEL,
                    edge_outbox::CHANNEL,
                    journal::CHANNEL,
                    snapshots::CHANNEL,
                ])
                .await
                .is_ok()
        {
            while let Ok(notice) = listener.try_recv().await {
                wake(app, link, notice.as_ref().map(PgNotification::channel));
            }
        }
        tokio::time::sleep(LISTEN_RETRY).await;
    }
}

/// Wakes whoever waits for what this channel tells of. None is a connection that was lost and found: anything may have changed.
pub fn wake(app: &App, link: Option<&Arc<EdgeLink>>, channel: Option<&str>) {
    let about = |known| channel.is_none_or(|channel| channel == known);
    if about(publication::CHANNEL) || about(tags::CHANNEL) {
        app.catalog.facts_changed();
        // Where facts changed, operations may have been captured.
        app.journal.committed();
        // A chain that is withheld takes the snapshot with it.
        app.graph.signal();
        if let Some(link) = link {
            link.touched();
        }
    }
    if about(snapshots::CHANNEL) {
        app.graph.signal();
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

/// Runs the scores when they are due: freshness, dwell and the age of vaults move by time alone.
async fn keep_scored(app: &App) {
    if app.score_every_seconds == 0 {
        return;
    }
    loop {
        tokio::time::sleep(SCORE_POLL).await;
        match scoring_run::run_due(&app.db, &app.clock, i64::from(app.score_every_seconds)).await {
            Ok(None) => {}
            // Why it is held back was logged where that was found.
            Ok(Some(run)) if run.withheld.is_some() => app.metrics.scored(RunOutcome::Withheld),
            Ok(Some(run)) => {
                app.metrics.scored(RunOutcome::Completed);
                tracing::info!(vaults = run.vaults, changes = run.changes.len(), "a scheduled score run completed");
                app.catalog.facts_changed();
            }
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                app.metrics.scored(RunOutcome::Failed);
                tracing::error!(%error, "a scheduled score run failed");
            }
        }
    }
}

/// Puts the scores to the test when that is due; where scores are not run by themselves, neither is this.
async fn keep_researched(app: &App) {
    if app.score_every_seconds == 0 {
        return;
    }
    loop {
        tokio::time::sleep(RESEARCH_POLL).await;
        match research::run_due(&app.db, &app.clock).await {
            Ok(None) => {}
            Ok(Some(run)) => tracing::info!(records = run.records, samples = run.samples, "a research run completed"),
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                tracing::error!(%error, "a research run failed; it is tried again");
                tokio::time::sleep(ROLLUP_RETRY).await;
            }
        }
    }
}

/// Forgets spent assertions that nobody can use again.
async fn keep_forgetting(app: &App) {
    loop {
        match spent_assertions::forget(&app.db, FORGET_SECONDS, FORGET_AT_ONCE).await {
            // The catalog's refresh says when the database is down; once is enough.
            Ok(_) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "spent assertions could not be forgotten"),
        }
        tokio::time::sleep(FORGET_EVERY).await;
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

/// Sums the days of vaults that have no daily sums yet: all of them after the upgrade that brought the sums, and each new one.
async fn keep_summed(app: &App) {
    loop {
        match vault_days::fill(&app.db, SUMMED_AT_ONCE, app.clock.now().into()).await {
            Ok(0) => tokio::time::sleep(SUM_POLL).await,
            Ok(vaults) => {
                tracing::debug!(vaults, "vaults have daily sums now");
                tokio::time::sleep(SUM_REST).await;
            }
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(SUM_POLL).await,
            Err(error) => {
                tracing::error!(%error, "vaults could not be summed by days; it is tried again, and their readings are read until then");
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
    async fn a_job_that_panics_is_started_anew_and_one_that_is_done_is_not() {
        let runs = AtomicU32::new(0);
        let job = || async {
            tokio::task::yield_now().await;
            assert!(runs.fetch_add(1, Relaxed) >= 2, "not yet");
        };
        keep("a test", Duration::ZERO, job).await;
        assert_eq!(runs.load(Relaxed), 3);
    }
}
