//! Waiting for the answers of several providers, no longer than they are needed.
//!
//! All providers are asked at once. When enough operators have answered alike, or when the outstanding ones can no longer change that too
//! few do, the outstanding ones get a short time more, so that a liar is still noticed; then they are left out. A quorum is more than half
//! of the operators (see [`crate::file`]), so what is agreed by then cannot be overturned by an answer that was not waited for.

use crate::provider::Provider;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rds_chain::BlockHash;
use rds_chain::quorum::{Answers, Quorum, Verdict, decide};
use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long the outstanding providers are waited for, as a part of the time that the others took.
const PART_OF_TIME: u32 = 4;

/// The providers that have not answered yet, as often as something is outstanding.
#[derive(Debug, Default)]
pub(crate) struct Waiting<'a>(Vec<&'a Provider>);

impl<'a> Waiting<'a> {
    pub(crate) fn add(&mut self, provider: &'a Provider) {
        self.0.push(provider);
    }

    pub(crate) fn remove(&mut self, provider: &Provider) {
        if let Some(at) = self.0.iter().position(|it| std::ptr::eq(*it, provider)) {
            self.0.swap_remove(at);
        }
    }

    /// Until when they are waited for, if the others have been asked at `since` and suffice now.
    pub(crate) fn until(&self, since: Instant) -> Instant {
        let of_time = since.elapsed() / PART_OF_TIME;
        let usual = self.0.iter().map(|provider| provider.patience()).max().unwrap_or(Duration::ZERO);
        now() + of_time.max(usual)
    }

    fn operators(&self) -> usize {
        self.0.iter().map(|provider| provider.operator()).collect::<BTreeSet<_>>().len()
    }
}

/// What the providers answered, in the order in which they did. `suffices` is asked after each answer, with the number of operators of whom
/// something is outstanding.
pub(crate) async fn gather<T, F: Future<Output = T>>(
    asked: Vec<(&Provider, F)>,
    suffices: impl Fn(&[T], usize) -> bool,
) -> Vec<T> {
    let since = now();
    let (mut open, mut waiting, mut answers) = (FuturesUnordered::new(), Waiting::default(), Vec::new());
    for (provider, answer) in asked {
        waiting.add(provider);
        open.push(async move { (provider, answer.await) });
    }
    let mut until = None;
    loop {
        let next = match until {
            None => open.next().await,
            Some(until) => timeout_at(until, open.next()).await.unwrap_or(None),
        };
        let Some((provider, answer)) = next else { return answers };
        waiting.remove(provider);
        answers.push(answer);
        if until.is_none() && suffices(&answers, waiting.operators()) {
            until = Some(waiting.until(since));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "only differences of it count")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Whether every value is agreed, or cannot be agreed whatever the `open` outstanding operators answer.
pub(crate) fn is_settled<V: Ord + Clone>(
    quorum: Quorum,
    block: BlockHash,
    values: usize,
    answers: &[Answers<String, V>],
    open: usize,
) -> bool {
    decide(quorum, block, values, answers).iter().all(|verdict| match verdict {
        Verdict::Agreed { .. } => true,
        Verdict::Disputed { values, .. } => {
            let most = values.first().map_or(0, |(_, operators)| operators.len());
            most.saturating_add(open) < quorum.needed()
        }
        Verdict::Missing { answered_by } => answered_by.len().saturating_add(open) < quorum.needed(),
    })
}
