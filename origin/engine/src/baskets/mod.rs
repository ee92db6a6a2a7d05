//! Rebalances baskets. A rebalance creates a version, or returns the reason why it created none.
//!
//! ```text
//! not due ─► nothing       due ─► same constituents and weights ─► nothing
//!                            ├──► different: new version, webhook event, tags raised
//!                            └──► cannot be built from current data ─► the old version stays, one event is raised
//! ```
//!
//! In the mode `fail_closed` no version is created, because a version would record withheld scores permanently.
//!
//! The rules are `shared::rules::baskets`. A rebalance is one transaction that locks the basket's row and holds the writers' lock. Of two
//! concurrent rebalances, the second sees the first one's version and has nothing to do. A version is written once and never changed; its
//! support status ([`support`]) is stored in another table.
//!
//! # Invariants
//!
//! - A version is written once, under the lock of the basket's row, and the database refuses every change. Its deprecation and retirement
//!   are stored in another table (`origin/tests/it/baskets/versions.rs`).
//! - A version's ETag is its content hash as long as the response shows only hashed content. The response at the version's own URL changes
//!   only if a constituent is withheld or the version is retired; a retired version is answered with 410, whether it is requested by its id
//!   or by an instant at which it was in force.
//! - An index level follows from stored versions and readings alone, chained at the published level of each rebalance. A gap is never bridged; days that
//!   depend on a withheld chain are gaps (`origin/tests/it/assets/indices.rs`).

pub mod candidates;
pub mod default_baskets;
pub mod support;

use crate::clock::Clock;
use crate::publication::{self as events, How, OBSERVED_CHANGE_SOURCE, Operation};
use rds_facts::EventRecord;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::model::basket::{BasketNotice, BasketVersionRow, ConstituentType, ListedBasketVersion, ShownChanges};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::health::FailSafeMode;
use rds_shared::model::status::Severity;
use rds_shared::model::version_signature::VersionSignature;
use rds_shared::push::event_type::EventType;
use rds_shared::route::Tag;
use rds_shared::rules::baskets::definition::Definition;
use rds_shared::rules::baskets::rebalance::{Current, Halt, RebalanceOutcome, rebalance_for};
use rds_shared::rules::baskets::rebalance_triggers::{Trigger, triggers};
use rds_shared::rules::baskets::version::{BasketVersion, ChangeSet};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use rds_store::baskets::versions as table;
use rds_store::baskets::versions::LockedBasket;
use rds_store::baskets::{self, Members, StoredVersion, Support};
use rds_store::graph::signers;
use rds_store::ingest::publication as versions;
use rds_store::scoring::fail_safe;
use rds_store::service::tags;
use rds_store::{Db, StoreError, Tx, assets};
use std::collections::BTreeSet;

/// Tags that a rebalance touches: baskets, assets (which show their membership), and events (if the rebalance fails).
pub const SHOWN_IN: [Tag; 3] = [Tag::Baskets, Tag::Assets, Tag::Events];

/// The result of refreshing one basket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refreshed {
    /// No rebalance is due.
    NotDue,
    /// The basket has no active rules.
    NoRules,
    /// A rebalance was due and reproduces the version in force.
    Unchanged,
    /// A new version was created.
    Rebalanced { version_id: String, trigger: Trigger },
    /// Scores are withheld (`fail_closed`), so no version is created.
    Closed,
    /// No version can be built from the current data; the version in force, if there is one, stays.
    Halted { reason: String },
}

/// Rebalances every basket that is due, each in its own transaction; returns the results by basket id. `key` signs new versions if the
/// registry of signers allows it.
///
/// An error of one basket does not prevent the others: it is logged, and the first error is returned at the end.
pub async fn refresh(
    db: &Db,
    clock: &Clock,
    key: Option<&DecisionKey>,
) -> Result<Vec<(String, Refreshed)>, StoreError> {
    let (mut all, mut first) = (Vec::new(), None);
    for id in baskets::ids(db).await? {
        match run(db, clock, key, &id, None).await {
            Ok(refreshed) => all.extend(refreshed.map(|refreshed| (id, refreshed))),
            // The next basket would fail in the same way.
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            Err(error) => {
                tracing::error!(basket = %id, %error, "a basket could not be refreshed");
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

/// Rebalances one basket now. A rebalance that is not due counts as the basket's calendar rebalance. `None` if there is no such basket.
pub async fn rebalance(
    db: &Db,
    clock: &Clock,
    key: Option<&DecisionKey>,
    basket_id: &str,
) -> Result<Option<Refreshed>, StoreError> {
    run(db, clock, key, basket_id, Some(Trigger::Calendar)).await
}

async fn run(
    db: &Db,
    clock: &Clock,
    key: Option<&DecisionKey>,
    basket_id: &str,
    forced: Option<Trigger>,
) -> Result<Option<Refreshed>, StoreError> {
    let (now, key, basket_id) = (clock.now(), key.cloned(), basket_id.to_owned());
    db.run_tx("basket rebalance", move |tx| {
        let (key, basket_id) = (key.clone(), basket_id.clone());
        Box::pin(async move {
            versions::lock_writers(tx).await?;
            let Some(held) = table::lock(tx, &basket_id).await? else { return Ok(None) };
            // Locked, so that no version is created after an operator has set `fail_closed`.
            if fail_safe::lock(tx).await?.mode == FailSafeMode::FailClosed {
                return Ok(Some(Refreshed::Closed));
            }
            step(tx, &basket_id, &held, forced, key.as_ref(), now).await.map(Some)
        })
    })
    .await
}

/// The version in force with its constituents.
struct InForce {
    stored: StoredVersion,
    members: Members,
    content: BasketVersion,
}

impl InForce {
    async fn load(tx: &mut Tx<'_>, basket_id: &str) -> Result<Option<Self>, StoreError> {
        let Some(stored) = baskets::in_force(&mut **tx, basket_id, None).await? else { return Ok(None) };
        let id = stored.row.version_id.as_str();
        let members = baskets::members(&mut **tx, &[id]).await?.remove(id).unwrap_or_default();
        let content = stored.row.content(members.constituents.clone());
        Ok(Some(InForce { stored, members, content }))
    }

    fn current(&self) -> Current<'_> {
        Current {
            version_id: &self.stored.row.version_id,
            version: &self.content,
            last_rebalanced_at: self.stored.confirmed_at,
            confirmed_under: &self.stored.confirmed_under,
        }
    }
}

async fn step(
    tx: &mut Tx<'_>,
    basket_id: &str,
    held: &LockedBasket,
    forced: Option<Trigger>,
    key: Option<&DecisionKey>,
    now: Timestamp,
) -> Result<Refreshed, StoreError> {
    let Some(rules) = baskets::active_rules(tx, basket_id, now).await? else { return Ok(Refreshed::NoRules) };
    let in_force = InForce::load(tx, basket_id).await?;
    // If the clock has not advanced since the version in force, a new version could not be dated after it.
    if in_force.as_ref().is_some_and(|it| now <= it.content.effective_from) {
        return Ok(Refreshed::NotDue);
    }
    let due = due(tx, held, &rules, in_force.as_ref(), now).await?;
    let Some(trigger) = due.first().copied().or(forced) else {
        if held.halted_since.is_some() {
            table::note_halt(tx, basket_id, None).await?;
        }
        return Ok(Refreshed::NotDue);
    };
    let names = in_force.as_ref().map(|it| it.content.constituents.as_slice()).unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|it| it.id.as_str()).collect();
    let candidates = candidates::load(tx, held.constituent_type, &names, false, now).await?;
    let current = in_force.as_ref().map(InForce::current);
    match rebalance_for(trigger, &rules, current, &candidates, now) {
        Ok(RebalanceOutcome::Rebalanced { version, trigger, changes }) => {
            let signed = sign(tx, key, version.content_hash(), now).await?;
            let version_id = write(tx, held, in_force.as_ref(), (version, signed), trigger, &changes, now).await?;
            Ok(Refreshed::Rebalanced { version_id, trigger })
        }
        Ok(RebalanceOutcome::Unchanged | RebalanceOutcome::NotDue) => {
            if held.halted_since.is_some() {
                table::note_halt(tx, basket_id, None).await?;
            }
            // A rebalance for the calendar, new rules or an operator is recorded as done. Other triggers stay due while their cause lasts;
            // a record of each attempt would only add writes.
            let one_time = [Trigger::Calendar, Trigger::Methodology];
            let is_confirmed = forced.is_some() || due.iter().any(|trigger| one_time.contains(trigger));
            if let Some(it) = in_force.as_ref().filter(|_| is_confirmed) {
                // No response changes, so no tag is touched.
                table::confirm(tx, &it.stored.row.version_id, &rules.methodology_version, now).await?;
            }
            Ok(Refreshed::Unchanged)
        }
        Err(halt) => {
            let reason = halt.to_string();
            halted(tx, basket_id, held, &halt, in_force.is_some(), now).await?;
            Ok(Refreshed::Halted { reason })
        }
    }
}

/// The triggers that are due, most severe first. Usually no trigger is due, so only the constituents in force are loaded, not every
/// candidate.
async fn due(
    tx: &mut Tx<'_>,
    held: &LockedBasket,
    rules: &Definition,
    in_force: Option<&InForce>,
    now: Timestamp,
) -> Result<Vec<Trigger>, StoreError> {
    let Some(in_force) = in_force else { return Ok(triggers(&rules.methodology_version, None, &[], now)) };
    let names: Vec<&str> = in_force.content.constituents.iter().map(|it| it.id.as_str()).collect();
    let constituents = candidates::load(tx, held.constituent_type, &names, true, now).await?;
    Ok(triggers(&rules.methodology_version, Some(in_force.current()), &constituents, now))
}

/// Signs a version's content hash if a key is configured and active in the registry at `now`; otherwise the version is unsigned.
async fn sign(
    tx: &mut Tx<'_>,
    key: Option<&DecisionKey>,
    content: ContentHash,
    now: Timestamp,
) -> Result<VersionSignature, StoreError> {
    let Some(key) = key else { return Ok(VersionSignature::default()) };
    let key_id = signers::lock_active(tx, key.address().as_str(), now).await?;
    Ok(key_id.map(|key_id| VersionSignature::of(content, key, key_id)).unwrap_or_default())
}

/// Writes the next version, captures the webhook event, and touches the tags. Returns the version's id.
async fn write(
    tx: &mut Tx<'_>,
    held: &LockedBasket,
    in_force: Option<&InForce>,
    (version, signed): (BasketVersion, VersionSignature),
    trigger_reason: Trigger,
    changes: &ChangeSet,
    now: Timestamp,
) -> Result<String, StoreError> {
    let number = in_force.map_or(1, |it| it.stored.number.saturating_add(1));
    let content_hash = version.content_hash();
    let row = BasketVersionRow {
        version_id: format!("{}-v{number}", version.basket_id),
        basket_id: version.basket_id,
        effective_from: Micros(version.effective_from),
        trigger_reason,
        prior_version_id: version.prior_version_id,
        methodology_version: version.methodology_version,
        content_hash,
        signed,
        created_at: now,
    };
    table::insert(tx, (&held.name, number), &row, &version.constituents).await?;
    table::note_halt(tx, &row.basket_id, None).await?;
    // New constituents are on served chains; removed ones may be on withheld chains and are then not named.
    let withheld: BTreeSet<&str> = in_force.iter().flat_map(|it| &it.members.withheld).map(String::as_str).collect();
    let changes = ShownChanges::new(changes, |id| withheld.contains(id));
    let version_id = row.version_id.clone();
    tell(tx, EventType::BasketRebalanced, row, Support::default(), None, Some(changes), now).await?;
    let shown: &[Tag] = if held.is_basket_a { &[Tag::Baskets, Tag::Assets] } else { &[Tag::Baskets] };
    show(tx, shown, now).await?;
    Ok(version_id)
}

/// Captures the webhook event for subscribers of baskets. The event stream has no frame for baskets.
async fn tell(
    tx: &mut Tx<'_>,
    family: EventType,
    version: BasketVersionRow,
    support: Support,
    successor_version_id: Option<String>,
    changes: Option<ShownChanges>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let named: Vec<&str> = changes.iter().flat_map(ShownChanges::names).collect();
    // If one of these chains is withheld before the delivery, the event is not delivered.
    let chain_ids = table::chains_of(tx, &named).await?;
    let listed = ListedBasketVersion {
        support_status: support.status(),
        deprecated_at: support.deprecated_at,
        retired_at: support.retired_at,
        successor_version_id,
        version,
    };
    let notice = BasketNotice { listed, changes };
    let operation = Operation {
        family: Some(family),
        stream_op: None,
        event_id: notice.listed.version.version_id.clone(),
        vault_ids: Vec::new(),
        chain_ids,
        body: &notice,
    };
    events::capture(tx, now, operation).await
}

/// Records that the due rebalance failed, and raises one event. Further failures raise no event until a rebalance has succeeded or no
/// rebalance is due.
async fn halted(
    tx: &mut Tx<'_>,
    basket_id: &str,
    held: &LockedBasket,
    halt: &Halt,
    has_version: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    let reason = halt.to_string();
    table::note_halt(tx, basket_id, Some((held.halted_since.unwrap_or(now), &reason))).await?;
    if held.halted_since.is_some() {
        return Ok(());
    }
    let (severity, stays) = match has_version {
        true => (Severity::Warning, "The version in force stays."),
        false => (Severity::Info, "It has no version yet."),
    };
    // The event links to the constituent and does not name it in the text, so that the event is withheld if the constituent's chain is.
    let (why, about) = match halt {
        Halt::Infeasible(reason) => (reason.to_string(), Vec::new()),
        Halt::Stale { id, input } => {
            let about = if held.constituent_type == ConstituentType::Vault { vec![id.clone()] } else { Vec::new() };
            (format!("the data of a constituent is insufficient ({input})"), about)
        }
    };
    let event = EventRecord {
        description: Some(format!("The due rebalance created no version: {why}. {stays}")),
        ..EventRecord::new(
            format!("basket-halted:{basket_id}:{}", now.as_micros()),
            "BasketHalted",
            severity,
            format!("{} cannot be rebalanced", held.name),
            OBSERVED_CHANGE_SOURCE,
            now.into(),
        )
    }
    .about(about);
    events::publish_new(tx, &[event], How::Published, now).await?;
    show(tx, &[Tag::Baskets, Tag::Events], now).await
}

/// Records the change as a data version and touches the tags.
async fn show(tx: &mut Tx<'_>, shown_in: &[Tag], now: Timestamp) -> Result<(), StoreError> {
    let version = versions::current_version(tx).await? + 1;
    if shown_in.contains(&Tag::Assets) {
        assets::mark_changed(tx, version).await?;
    }
    let mut changed = serde_json::json!({ "basket": 1 });
    if shown_in.contains(&Tag::Events)
        && let Some(kinds) = changed.as_object_mut()
    {
        kinds.insert("event".to_owned(), 1.into());
    }
    versions::record_batch(tx, version, now.into(), 0, &changed).await?;
    versions::advance_to(tx, version).await?;
    tags::touch(tx, shown_in).await?;
    Ok(())
}
