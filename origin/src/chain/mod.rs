//! Reads vaults from their chains and commits what was read as ordinary observations.
//!
//! | file | content |
//! |---|---|
//! | `cycle.rs` | one reading of one chain: the block, what is due, the commit |
//! | `vaults.rs` | what is read of the vaults in it |
//! | `adapters/` | what the contracts of a protocol show of its vaults |
//! | `asked.rs` | answers to the questions of adapters |
//! | `state.rs` | amounts, prices and limits of vaults |
//! | `gate.rs` | whether vaults take deposits, by simulating one |
//! | `exposures.rs` | what vaults hold |
//! | `markets.rs` | lending pools as markets |
//! | `feeds.rs` | price feeds |
//! | `holders.rs` | who holds a vault's shares |
//! | `discovery.rs` | vaults that the registry does not have |
//! | `control.rs` | who controls a vault |
//! | `powers/` | who has which powers over the tokens that vaults hold, as answers of the questionnaire |
//! | `observed.rs` | answers as readings with their evidence |
//! | `backfill/` | the past of the vaults, read once |
//! | `verify.rs` | readings, read again |
//! | `halt.rs` | what happens when a final block was replaced, and how an operator resumes |
//! | `meters.rs` | what operators see of it |
//!
//! # Invariants
//!
//! - One process at a time reads a chain: it holds the chain's advisory lock.
//! - Readings and the cursor are committed together, through `rds_engine::ingest::commit`. A block read twice is one observation.
//! - A failure of a provider is never a reading, and a value counts only if enough operators name it.

mod adapters;
mod asked;
pub mod backfill;
mod control;
mod cycle;
mod discovery;
mod exposures;
mod feeds;
mod gate;
pub mod halt;
mod holders;
mod markets;
#[cfg(test)]
mod markets_tests;
mod meters;
mod observed;
mod powers;
mod state;
mod vaults;
pub mod verify;

pub use meters::ChainMeters;

use crate::app::App;
use futures_util::future::join_all;
use rds_rpc::agree::Reader;
use rds_rpc::file::Chain;
use rds_rpc::reads::Reads;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::sleep;

/// Shortest and longest pause between two looks at a chain. A chain that is read every few seconds is a local one.
const POLL: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// Reads every configured chain until the process ends.
pub async fn keep_reading(app: &App) {
    join_all(of_chains(app)).await;
}

fn of_chains<'a>(app: &'a App) -> Vec<Pin<Box<dyn Future<Output = ()> + Send + 'a>>> {
    let mut chains: Vec<Pin<Box<dyn Future<Output = ()> + Send + 'a>>> = Vec::new();
    for chain in &app.chains {
        if let Some(reads) = &chain.reads {
            chains.push(Box::pin(keep_chain(app, chain, reads)));
        }
    }
    chains
}

async fn keep_chain(app: &App, chain: &Chain, reads: &Reads) {
    let meters = app.chain_meters.of(chain.chain_id);
    let mut reader = match Reader::new(chain) {
        Ok(reader) => reader,
        Err(error) => return tracing::error!(chain = chain.chain_id, %error, "the chain is not read"),
    };
    // One task reads a chain, so nothing is set already.
    let _ = meters.providers.set(reader.meters().clone());
    let pause = Duration::from_secs(reads.every_seconds.into()).clamp(POLL.0, POLL.1);
    // Logged once when reading fails, and once when it works again.
    let mut is_working = true;
    let mut remembered = cycle::Remembered::default();
    loop {
        match cycle::run(&app.db, &app.clock, &mut reader, reads, meters, &mut remembered).await {
            Ok(_) => {
                if !std::mem::replace(&mut is_working, true) {
                    tracing::info!(chain = chain.chain_id, "the chain is read again");
                }
            }
            Err(error) => {
                meters.failed(&error);
                if std::mem::replace(&mut is_working, false) {
                    tracing::warn!(chain = chain.chain_id, %error, "the chain cannot be read");
                }
            }
        }
        sleep(pause).await;
    }
}
