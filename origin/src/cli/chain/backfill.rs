//! `chain backfill`: reads the past of a chain's vaults.

use super::super::Output;
use super::super::edge::Edge;
use super::configured;
use crate::chain::backfill::{self, BackfillReport, Progress, Stage, Wanted};
use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rds_engine::clock::Clock;
use rds_rpc::agree::Reader;
use rds_shared::route::Tag;
use rds_store::Db;
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(in crate::cli) struct Backfill {
    /// The chain's id; it must stand in the file that RDS_CHAIN_PROVIDERS names.
    #[arg(long)]
    chain: u64,
    /// Only this vault; may be given several times.
    #[arg(long, value_name = "ID")]
    vault: Vec<String>,
    /// Only this many days before today. Default: back to the deployment.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
}

pub(super) async fn run(db: &Db, clock: &Clock, command: Backfill, out: Output) -> anyhow::Result<ExitCode> {
    let Backfill { chain: id, vault: vaults, days } = command;
    let edge = Edge::configured(clock)?;
    let mut chain = configured()?
        .into_iter()
        .find(|chain| chain.chain_id == id)
        .with_context(|| format!("--chain: the file that RDS_CHAIN_PROVIDERS names does not have chain {id}"))?;
    let Some(reads) = chain.reads.clone() else {
        bail!("--chain: nothing is read of chain {id}; its entry in the file of providers needs `read`");
    };
    // The other half is for the service, which may read the chain at the same time.
    chain.providers.iter_mut().for_each(|it| it.requests_per_second = it.requests_per_second.div_ceil(2));
    let mut reader = Reader::new(&chain)?;
    let mut shown = Shown::new(out);
    let wanted = Wanted { vaults, days };
    let report = backfill::run(db, clock, &mut reader, &reads, &wanted, &mut |progress| shown.tell(progress)).await?;
    shown.end();
    let is_complete = report.stopped.is_none() && report.unknown_vaults.is_empty() && report.state_since.is_some();
    let code = if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    edge.end(db, &Tag::ALL, text(&report), &report, code, out).await
}

/// The progress: a bar on a terminal, and otherwise a line for each tenth of a stage.
struct Shown {
    out: Output,
    bar: Option<ProgressBar>,
    last: Option<(Stage, u64)>,
}

impl Shown {
    fn new(out: Output) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            // Without this style the bar has the library's own one.
            if let Ok(style) = ProgressStyle::with_template("{msg:12} [{wide_bar}] {pos}/{len} {eta}") {
                bar.set_style(style);
            }
            bar
        });
        Shown { out, bar, last: None }
    }

    fn tell(&mut self, Progress { stage, done, total }: Progress) {
        let name = match stage {
            Stage::Deployments => "deployments",
            Stage::Days => "days",
        };
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(name);
            return;
        }
        let tenth = done.saturating_mul(10).checked_div(total).unwrap_or(10);
        if self.last.replace((stage, tenth)) != Some((stage, tenth)) {
            self.out.progress(&format!("{name} {done}/{total}"));
        }
    }

    fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The report in lines.
fn text(report: &BackfillReport) -> String {
    let BackfillReport { chain_id, head, vaults, deployments, days, readings, .. } = report;
    let mut lines = vec![format!("chain {chain_id}: {vaults} vaults, looked back from block {head}")];
    match report.state_since {
        None => lines.push("the providers have no state of earlier blocks: nothing of the past can be read".to_owned()),
        Some(_) if report.is_archive => {}
        Some(block) => lines.push(format!("no archive: enough providers have state only since about block {block}")),
    }
    lines.push(format!("deployments: {} found, {} known before", deployments.found, deployments.known));
    let lists = [
        (&deployments.no_code, "there is no contract at the address now"),
        (&deployments.before_state, "deployed at or before the oldest block whose state the providers have"),
        (&deployments.made_again, "the contract was destroyed and made again: its age stays unknown"),
        (&deployments.unread, "the operators did not agree on an answer"),
        (&days.without_price, "there is no price now: the past of a vault is read only as far as its present is"),
        (&report.unknown_vaults, "not among the vaults that are read on the chain"),
    ];
    for (ids, why) in lists {
        lines.extend(ids.iter().map(|id| format!("  {id}: {why}")));
    }
    if let (Some(first), Some(last)) = (days.first, days.last) {
        let (first, last) = (first.start(), last.start());
        lines.push(format!(
            "days {} to {}: {} read, {} known before, {} without a block, {} without an answer, {} answers disputed",
            date(first),
            date(last),
            days.read,
            days.known,
            days.without_block,
            days.without_answer,
            days.disputed
        ));
    }
    if let Some(day) = days.no_state_until {
        lines.push(format!("{} and earlier: the providers have no state of these days", date(day.start())));
    }
    lines.push(format!("{readings} new readings, {} changed scores", report.score_changes));
    if let Some(reason) = report.scores_withheld {
        lines.push(format!("scores were not published: {reason}; run: rds-origin score run"));
    }
    if let Some(reason) = &report.stopped {
        lines.push(format!("ended early: {reason}; run the command again to go on"));
    }
    lines.join("\n")
}

fn date(at: rds_shared::wire::Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}
