//! The read model in memory: built from Postgres, swapped as a whole, one version number.
//!
//! Readers take the current catalog and keep it as long as they like; a swap waits for nobody. When the database is down the last
//! catalog stays.
//!
//! # Invariants
//!
//! - Lists come from the catalog, filtered, sorted and paged by `shared::select` alone. SQL serves details, series, writes, and the two feeds that grow
//!   without end: events and signals.
//! - A catalog belongs to one past of the database: cluster, timeline, database and last step. In another past it is read anew, whole
//!   (`tests/it/journal_restores.rs`).

pub mod assets;
mod build;
mod changes;
mod feeds;
pub mod histories;
mod markets;
mod preencoded;
pub mod refresh;
mod rollup;
mod security;
mod stats;
mod symbols;
mod vault;

pub use build::Changes;
pub use changes::{Changed, Since};
pub use feeds::Feeds;
pub use markets::{MarketEntry, Markets};
pub use preencoded::PreencodedBody;
pub use rollup::{Chain, Curator, Protocol};
pub use security::{Security, SecurityFacts};
pub use symbols::Symbols;
pub use vault::{REWARDED_PROTOCOL, Vault, row_of};

use crate::store::journal::Past;
use arc_swap::ArcSwapOption;
use changes::ChangeFeeds;
use rds_shared::model::EncodedRow;
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use rds_shared::route::TagVersions;
use rds_shared::select::Selection;
use rds_shared::select::vault_query::{VaultFilter, VaultSort};
use rds_shared::select::vaults::VaultIndex;
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// Where the current catalog is found.
#[derive(Debug, Default)]
pub struct Holder {
    current: ArcSwapOption<Catalog>,
    /// How often there was another one.
    generation: AtomicU64,
    changed: Notify,
    /// Refreshes begun.
    rounds: AtomicU64,
    /// The latest refresh that ended, and the tags of whose versions the catalog has everything.
    ended: watch::Sender<(u64, TagVersions)>,
}

impl Holder {
    /// The current catalog; none before the first refresh.
    pub fn current(&self) -> Option<Arc<Catalog>> {
        self.current.load_full()
    }

    /// How chains write addresses, as far as that is known now.
    pub fn namespaces(&self) -> impl Fn(ChainId) -> Option<Namespace> + use<> {
        let catalog = self.current();
        move |chain| catalog.as_ref()?.rollup.namespace(chain)
    }

    /// The current catalog, or 503 before the first refresh.
    pub fn get(&self) -> Result<Arc<Catalog>, ApiError> {
        let starting = || ApiError::new(ErrorCode::ServiceUnavailable, "the service is starting; try again shortly");
        self.current().ok_or_else(starting)
    }

    /// Puts `next` in the place of the current catalog.
    pub fn swap(&self, next: Catalog) {
        self.current.store(Some(Arc::new(next)));
        // Behind it: whoever reads a generation and then takes the catalog has that one or a later one.
        self.generation.fetch_add(1, SeqCst);
    }

    /// Another number once there is another catalog.
    pub fn generation(&self) -> u64 {
        self.generation.load(SeqCst)
    }

    /// Says that facts have changed, so that the next refresh need not wait for its turn.
    pub fn facts_changed(&self) {
        self.changed.notify_one();
    }

    /// Up to which version of each tag whatever is answered from now on has the facts: the catalog, and the database all the
    /// more. Ask before the catalog is taken.
    pub fn tags(&self) -> TagVersions {
        self.ended.borrow().1
    }

    /// The same, once the catalog has `wanted` or a refresh from now on has found that there is no such version.
    ///
    /// Waits no longer than `patience`: then a caller gets what there is, which says that it is older.
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

    /// A refresh begins: its number.
    fn begin_round(&self) -> u64 {
        self.rounds.fetch_add(1, SeqCst) + 1
    }

    /// It has ended; the catalog has everything up to `tags`, or what it had before if it failed.
    fn end_round(&self, round: u64, tags: Option<TagVersions>) {
        self.ended.send_modify(|(latest, known)| {
            *latest = round.max(*latest);
            *known = tags.unwrap_or(*known);
        });
    }

    /// Waits until somebody says so.
    pub async fn until_facts_change(&self) {
        self.changed.notified().await;
    }
}

/// All that lists are answered from, as of one data version.
#[derive(Debug)]
pub struct Catalog {
    /// The past that its facts have. Versions of another past say nothing of these.
    pub past: Past,
    /// The data version it was made from.
    pub version: i64,
    /// Every vault, in ascending order of ids.
    vaults: Vec<Arc<Vault>>,
    /// The active ones among them, in the same order: the index's rows.
    active: Vec<Arc<Vault>>,
    index: VaultIndex,
    by_address: HashMap<Address, Vec<Arc<Vault>>>,
    changes: ChangeFeeds,
    /// Chains, protocols and curators with what their vaults add up to.
    pub rollup: rollup::Rollup,
    /// Lending markets.
    pub markets: Markets,
    /// Price feeds.
    pub feeds: Arc<Feeds>,
    /// The security registry and the loss board.
    pub security: Arc<Security>,
    /// Symbols of deposit assets.
    pub symbols: Symbols,
    /// What the platform covers, encoded.
    pub stats: EncodedRow,
    /// Assets, reviewers and real-world assets' sources.
    pub assets: Arc<assets::Assets>,
}

/// A page of active vaults.
#[derive(Debug)]
pub struct Found<'a> {
    /// Their rows, in order.
    pub rows: Vec<&'a EncodedRow>,
    /// How many match on all pages.
    pub total: usize,
}

impl Catalog {
    /// The page of the active vaults that pass `filter`, in the order of `sort`: their list rows.
    pub fn select(&self, filter: &VaultFilter<'_>, sort: VaultSort, page: PageRequest) -> Found<'_> {
        self.select_as(filter, sort, page, |vault| &vault.encoded)
    }

    /// The same with another row of each vault.
    pub fn select_as<'a>(
        &'a self,
        filter: &VaultFilter<'_>,
        sort: VaultSort,
        page: PageRequest,
        row_of: impl Fn(&'a Vault) -> &'a EncodedRow,
    ) -> Found<'a> {
        let (vaults, total) = self.select_vaults(filter, sort, page);
        Found { rows: vaults.into_iter().map(row_of).collect(), total }
    }

    /// The same page with the vaults themselves, and how many match on all pages.
    pub fn select_vaults(&self, filter: &VaultFilter<'_>, sort: VaultSort, page: PageRequest) -> (Vec<&Vault>, usize) {
        let Selection { rows, total } = self.index.select(filter, sort, page);
        (rows.iter().filter_map(|row| self.active.get(*row as usize)).map(AsRef::as_ref).collect(), total)
    }

    /// The vault with this id, active or not.
    pub fn vault(&self, id: &VaultId) -> Option<&Arc<Vault>> {
        self.vaults.binary_search_by(|vault| vault.row.id.cmp(id)).ok().and_then(|place| self.vaults.get(place))
    }

    /// The vaults at this address, on whichever chains, active or not, in ascending order of ids.
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

    /// How many vaults are active.
    pub fn active_vaults(&self) -> usize {
        self.active.len()
    }

    /// The age at `now` of the newest reading of any active vault, and of the median vault's, in seconds; zeros without vaults.
    pub fn reading_ages(&self, now: Timestamp) -> (i64, i64) {
        let read_at = self.actives().filter_map(|vault| vault.row.last_synced_at);
        let mut ages: Vec<i64> = read_at.map(|at| now.seconds_since(at).max(0)).collect();
        ages.sort_unstable();
        (ages.first().copied().unwrap_or(0), ages.get(ages.len() / 2).copied().unwrap_or(0))
    }
}
