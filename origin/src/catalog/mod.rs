//! The read model in memory ([`rds_shared::read_model`]) with what details need, built from Postgres and swapped as a whole; each catalog has one
//! data version.
//!
//! Readers take a reference to the current catalog and may keep it; a swap does not wait for them. While the database is down, the last
//! catalog stays in use.
//!
//! # Invariants
//!
//! - Lists come from the catalog, filtered, sorted and paged by `shared::select` alone. SQL serves details, series, writes, and the two feeds that grow
//!   without end: events and signals.
//! - A catalog belongs to one timeline of the database, identified by the Postgres cluster, its timeline, the database and the last step of
//!   the journal's cursors. If the timeline changes, the catalog is rebuilt completely (`origin/tests/it/push/journal_restores.rs`).

pub mod assets;
mod build;
mod changes;
mod feeds;
pub mod histories;
mod markets;
pub mod refresh;
mod rollup;
mod rows;
mod security;
mod stats;
mod symbols;
mod vault;

pub use build::Changes;
pub use changes::{Changed, Since};
pub use markets::{MarketEntry, Markets};
pub use rollup::{Chain, Curator, Protocol};
pub use security::SecurityFacts;
pub use symbols::Symbols;
pub use vault::{Vault, row_of};

use arc_swap::ArcSwapOption;
use changes::ChangeFeeds;
use rds_shared::model::EncodedRow;
use rds_shared::model::health::FailSafeMode;
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use rds_shared::read_model::ReadModel;
use rds_shared::route::TagVersions;
use rds_shared::select::vault_filters::{VaultFilter, VaultSort};
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use rds_store::push::journal::Timeline;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// How long an answer waits for tag versions that the edge knows and this process does not. The wait must be far shorter than the time for
/// which the edge waits for the answer.
pub const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// The catalog in use, replaced as a whole at each refresh.
#[derive(Debug, Default)]
pub struct LiveCatalog {
    current: ArcSwapOption<Catalog>,
    /// Number of swaps.
    generation: AtomicU64,
    changed: Notify,
    /// Number of refreshes begun.
    rounds: AtomicU64,
    /// Number of the latest refresh that ended, and the tag versions up to which the catalog is complete.
    ended: watch::Sender<(u64, TagVersions)>,
}

impl LiveCatalog {
    /// The current catalog; `None` before the first refresh.
    pub fn current(&self) -> Option<Arc<Catalog>> {
        self.current.load_full()
    }

    /// The address namespaces of the chains in the current catalog.
    pub fn namespaces(&self) -> impl Fn(ChainId) -> Option<Namespace> + use<> {
        let catalog = self.current();
        move |chain| catalog.as_ref()?.rollup.namespace(chain)
    }

    /// The current catalog, or 503 before the first refresh.
    pub fn get(&self) -> Result<Arc<Catalog>, ApiError> {
        let starting = || ApiError::new(ErrorCode::ServiceUnavailable, "the service is starting; try again shortly");
        self.current().ok_or_else(starting)
    }

    /// The fail-safe mode of the current catalog's facts.
    pub fn fail_safe(&self) -> FailSafeMode {
        self.tags().fail_safe().unwrap_or(FailSafeMode::Normal)
    }

    pub fn swap(&self, next: Catalog) {
        self.current.store(Some(Arc::new(next)));
        // The generation is raised after the store, so a reader that reads generation N and then loads the catalog gets catalog N or a
        // later one.
        self.generation.fetch_add(1, SeqCst);
    }

    /// A number that changes with every swap.
    pub fn generation(&self) -> u64 {
        self.generation.load(SeqCst)
    }

    /// Wakes the refresh task, because facts have changed.
    pub fn facts_changed(&self) {
        self.changed.notify_one();
    }

    /// The tag versions whose facts every later response includes, whether it is made from the catalog or from the database. Call this
    /// before taking the catalog.
    pub fn tags(&self) -> TagVersions {
        self.ended.borrow().1
    }

    /// Like [`Self::tags`], but first waits until the catalog covers `wanted` or a refresh that begins after this call has ended.
    ///
    /// Waits at most `patience`; the returned versions may be older than `wanted`.
    pub async fn tags_since(&self, wanted: &TagVersions, patience: Duration) -> TagVersions {
        if !self.tags().covers(wanted) {
            let next = self.rounds.load(SeqCst) + 1;
            self.facts_changed();
            let mut ended = self.ended.subscribe();
            let there = ended.wait_for(|(round, tags)| *round >= next || tags.covers(wanted));
            let _ = timeout(patience, there).await;
        }
        self.tags()
    }

    /// The refreshes that ended: changes after each.
    pub fn refreshes(&self) -> watch::Receiver<(u64, TagVersions)> {
        self.ended.subscribe()
    }

    /// Begins a refresh; returns its number.
    fn begin_round(&self) -> u64 {
        self.rounds.fetch_add(1, SeqCst) + 1
    }

    /// Ends a refresh. `tags` are the versions that the catalog has reached; `None` if the refresh failed.
    fn end_round(&self, round: u64, tags: Option<TagVersions>) {
        self.ended.send_modify(|(latest, known)| {
            *latest = round.max(*latest);
            *known = tags.unwrap_or(*known);
        });
    }

    /// Waits for the next call of [`Self::facts_changed`].
    pub async fn until_facts_change(&self) {
        self.changed.notified().await;
    }
}

/// The data of all lists, as of one data version.
#[derive(Debug)]
pub struct Catalog {
    /// The timeline of the database to which the facts belong. Data versions of different timelines cannot be compared.
    pub timeline: Timeline,
    /// The data version from which the catalog was built.
    pub version: i64,
    /// Every vault, in ascending order of ids.
    vaults: Vec<Arc<Vault>>,
    /// The active vaults, in the same order; these are the vaults of `model`.
    active: Vec<Arc<Vault>>,
    /// The lists, encoded.
    pub model: ReadModel,
    by_address: HashMap<Address, Vec<Arc<Vault>>>,
    changes: ChangeFeeds,
    /// Chains, protocols and curators with the totals of their vaults.
    pub rollup: rollup::Rollup,
    pub markets: Markets,
    /// Symbols of deposit assets.
    pub symbols: Symbols,
    /// Assets, reviewers and real-world assets' sources.
    pub assets: Arc<assets::Assets>,
    /// The chains that were withheld before the facts were read, in ascending order. A chain that was served again meanwhile may have rows.
    pub withheld: Vec<ChainId>,
}

/// A page of active vaults.
#[derive(Debug)]
pub struct Found<'a> {
    pub rows: Vec<&'a EncodedRow>,
    /// Number of matches on all pages.
    pub total: usize,
}

impl Catalog {
    /// The list rows of a page of the active vaults that match `filter`, in the order of `sort`.
    pub fn select(&self, filter: &VaultFilter<'_>, sort: VaultSort, page: PageRequest) -> Found<'_> {
        let selection = self.model.vaults.select(filter, sort, page);
        let vault = |number: &u32| Some(&self.active.get(*number as usize)?.encoded.listed);
        Found { rows: selection.rows.iter().filter_map(vault).collect(), total: selection.total }
    }

    /// The vault with this id, active or not.
    pub fn vault(&self, id: &VaultId) -> Option<&Arc<Vault>> {
        self.vaults.binary_search_by(|vault| vault.row.id.cmp(id)).ok().and_then(|place| self.vaults.get(place))
    }

    /// The vaults at this address on any chain, active or not, in ascending order of ids.
    pub fn vaults_at(&self, address: &Address) -> &[Arc<Vault>] {
        self.by_address.get(address).map_or(&[], Vec::as_slice)
    }

    /// The vault at this address of one chain, active or not.
    pub fn vault_on(&self, chain: ChainId, address: &Address) -> Option<&Arc<Vault>> {
        self.vaults_at(address).iter().find(|vault| vault.row.chain_id == chain)
    }

    /// The active vaults, in ascending order of ids.
    pub fn actives(&self) -> impl Iterator<Item = &Vault> {
        self.active.iter().map(AsRef::as_ref)
    }

    /// Number of active vaults.
    pub fn active_vaults(&self) -> usize {
        self.active.len()
    }

    /// Minimum and median age at `now` of the active vaults' last readings, in seconds. Vaults that were never read are left out; zeros if
    /// none was read.
    pub fn reading_ages(&self, now: Timestamp) -> (i64, i64) {
        let read_at = self.actives().filter_map(|vault| vault.row.last_synced_at);
        let mut ages: Vec<i64> = read_at.map(|at| now.seconds_since(at).max(0)).collect();
        ages.sort_unstable();
        (ages.first().copied().unwrap_or(0), ages.get(ages.len() / 2).copied().unwrap_or(0))
    }
}
