//! The rows of an isolate, and the answers made from them.

use super::choice::{PEAK_BYTES, Sizes, Usage, choose};
use super::documents::{Content, Fault};
use super::message::Holder;
use super::timing::Timing;
use crate::cache::memory::{ISOLATE_BYTES, MIN_RESPONSE_BYTES};
use crate::cache::policy::{Condition, Lifetime};
use crate::tag_versions::withheld::{self, Withheld};
use rds_shared::model::ids::ChainId;
use rds_shared::pace::Pace;
use rds_shared::read_model::{ALWAYS, ReadModel};
use rds_shared::replica::{Families, Family, Stamp, StateId};
use rds_shared::route::{Route, RouteId, TagVersions};
use rds_shared::wire::Timestamp;
use std::rc::Rc;

/// Maximum bytes of the rows and their model: what the fewest cached responses leave of the isolate's memory.
pub const MAX_BYTES: usize = ISOLATE_BYTES - MIN_RESPONSE_BYTES;
/// About how many bytes of rows are changed by a byte of a delta that changes many, and how many bytes it takes unpacked.
const ROW_BYTES_OF_DELTA_BYTE: usize = 36;
const UNPACKED_DELTA: usize = 10;
/// Time between two considerations of which families to hold.
pub const REVIEW_AFTER_MILLIS: i64 = 60_000;

/// What an isolate knows of the replica.
#[derive(Debug)]
pub struct IsolateReplica {
    held: Option<Rc<Held>>,
    /// Maximum bytes of the rows and their model.
    pub max_bytes: usize,
    /// Maximum bytes of rows that are held and of those that are about to replace them.
    pub peak_bytes: usize,
    pub timing: Timing,
    /// Number of the Durable Object that this isolate asks; drawn at the first question.
    pub object: Option<u32>,
    /// Random name of the isolate; drawn at the first question.
    pub name: String,
    /// Number of documents and segments that were refused.
    pub refused: u64,
    pub usage: Usage,
    /// The families that are not held because they do not fit.
    left_out: Families,
    /// The families that are being fetched after those that requests wait for.
    coming: Families,
    /// Estimated sizes of the families that are not held.
    absent: Sizes,
    reviewed_at: Option<Timestamp>,
}

impl Default for IsolateReplica {
    fn default() -> Self {
        IsolateReplica {
            held: None,
            max_bytes: MAX_BYTES,
            peak_bytes: PEAK_BYTES,
            timing: Timing::default(),
            object: None,
            name: String::new(),
            refused: 0,
            usage: Usage::default(),
            left_out: Families::NONE,
            coming: Families::NONE,
            absent: Sizes::default(),
            reviewed_at: None,
        }
    }
}

/// Rows of one state, with what the origin said about them.
#[derive(Debug)]
pub struct Held {
    pub stamp: Stamp,
    /// When the origin confirmed the stamp, by this isolate's clock.
    pub confirmed_at: Timestamp,
    content: Content,
    /// Bytes in memory of each family.
    sizes: Sizes,
    model: ReadModel,
}

/// A model from which an answer may be made.
#[derive(Debug, Clone)]
pub enum Model {
    Whole(Rc<Held>),
    /// Without the rows of chains that were withheld after the stamp.
    Masked(Rc<ReadModel>),
}

impl Model {
    pub fn get(&self) -> &ReadModel {
        match self {
            Model::Whole(held) => &held.model,
            Model::Masked(model) => model,
        }
    }
}

impl IsolateReplica {
    /// The newest rows, if any.
    pub fn held(&self) -> Option<&Rc<Held>> {
        self.held.as_ref()
    }

    /// The name of the rows held.
    pub fn state(&self) -> Option<StateId> {
        self.held.as_ref().map(|held| held.stamp.state)
    }

    /// The rows held.
    pub fn content(&self) -> Option<&Content> {
        self.held.as_ref().map(|held| &held.content)
    }

    /// Whether the rows include a change that `stamp` lacks.
    pub fn is_newer_than(&self, stamp: &Stamp) -> bool {
        self.held.as_ref().is_some_and(|held| !stamp.tags.covers(&held.stamp.tags))
    }

    /// Whether rows are held, but of one of these families none are held or on their way.
    pub fn lacks(&self, families: Families) -> bool {
        self.held.as_ref().is_some_and(|held| !held.content.families.and(self.coming).has_all(families))
    }

    /// The rows held, if those of these families are among them.
    pub fn held_with(&self, families: Families) -> Option<&Rc<Held>> {
        self.held.as_ref().filter(|held| held.content.families.has_all(families))
    }

    /// Those of the `wanted` families that are fetched first. An isolate that holds no rows begins with the families that requests have asked for.
    pub fn wanted_first(&self, wanted: Families) -> Families {
        let asked = Family::ALL.into_iter().filter(|family| self.usage.of(*family) > 0).collect::<Families>();
        if self.held.is_some() || asked.is_empty() { wanted } else { wanted.shared_with(asked.and(ALWAYS)) }
    }

    /// Notes the families that are fetched after the others.
    pub fn begin_coming(&mut self, families: Families) {
        self.coming = families;
    }

    /// Notes that no family is being fetched any more. What is still missing is considered again with the next update.
    pub fn end_coming(&mut self) {
        let coming = core::mem::replace(&mut self.coming, Families::NONE);
        if self.lacks(coming) {
            self.left_out = self.left_out.and(coming);
            self.reviewed_at = None;
        }
    }

    /// Estimated bytes in memory of each family.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = self.absent;
        if let Some(held) = &self.held {
            held.content.families.iter().for_each(|family| sizes.set(family, held.sizes.of(family)));
        }
        sizes
    }

    /// The families for which there is no room.
    pub fn left_out(&self) -> Families {
        self.left_out
    }

    /// What this isolate says about itself when it asks.
    pub fn holder(&self) -> Holder {
        Holder { isolate: self.name.clone(), left_out: self.left_out }
    }

    /// Whether a family should be held that is not, considered once in a while.
    pub fn review(&mut self, now: Timestamp) -> bool {
        let Some(held) = &self.held else { return false };
        let since = |at: Timestamp| now.as_millis().saturating_sub(at.as_millis());
        if self.reviewed_at.is_some_and(|at| (0..REVIEW_AFTER_MILLIS).contains(&since(at))) {
            return false;
        }
        self.reviewed_at = Some(now);
        self.choose(&self.sizes()).is_some_and(|wanted| !held.content.families.has_all(wanted))
    }

    /// The families to hold, given estimated sizes. The sizes of `carried` families are known, because they are held.
    pub fn wanted(&mut self, estimate: impl Fn(Family) -> usize, carried: Families) -> Result<Families, Fault> {
        let mut sizes = Sizes::default();
        for family in Family::ALL {
            let held = self.held.as_ref().filter(|_| carried.has(family));
            sizes.set(family, held.map_or_else(|| estimate(family), |held| held.sizes.of(family)));
        }
        self.absent = sizes;
        self.choose(&sizes).ok_or(Fault::TooLarge { bytes: sizes.total(ALWAYS) })
    }

    /// Lets go of the rows held if they and those of the `wanted` families, which are about to be fetched, are too many to be in memory together.
    /// The origin answers meanwhile.
    pub fn make_room(&mut self, wanted: Families) {
        let held = self.held.as_ref().map_or(0, |held| held.bytes());
        if held.saturating_add(self.absent.total(wanted)) > self.peak_bytes {
            self.held = None;
        }
    }

    /// The rows held, to be changed by deltas of so many bytes. If they and what they become are too many to be in memory together, they are let go
    /// of, so that each row is freed when it is replaced. The origin answers meanwhile.
    pub fn changing(&mut self, delta_bytes: usize) -> Option<Content> {
        let held = self.held.as_ref()?.bytes();
        let next = held.min(delta_bytes.saturating_mul(ROW_BYTES_OF_DELTA_BYTE));
        let unpacked = delta_bytes.saturating_mul(UNPACKED_DELTA);
        if held.saturating_add(next).saturating_add(unpacked) <= self.peak_bytes {
            return self.content().cloned();
        }
        // A request that is being answered may still have them for a moment.
        self.held.take().map(|held| match Rc::try_unwrap(held) {
            Ok(held) => held.content,
            Err(held) => held.content.clone(),
        })
    }

    fn choose(&self, sizes: &Sizes) -> Option<Families> {
        let held = self.held.as_ref().map_or(Families::NONE, |held| held.content.families);
        choose(sizes, &self.usage, held, self.max_bytes)
    }

    /// The rows of an update as far as they fit: the least used families are left out.
    pub fn fitting(&mut self, content: Content) -> Result<Content, Fault> {
        let sizes = content.sizes();
        let fitting = choose(&sizes, &self.usage, content.families, self.max_bytes);
        let fitting = fitting.ok_or(Fault::TooLarge { bytes: sizes.total(ALWAYS) })?;
        for family in content.families.without(fitting).iter() {
            self.absent.set(family, sizes.of(family));
        }
        Ok(content.only(fitting))
    }

    /// Notes that an update does not fit at all: without rows, every family is left out.
    pub fn nothing_fits(&mut self) {
        if self.held.is_none() {
            self.left_out = Families::ALL;
        }
    }

    /// Holds `next`, which was made from `before`. An error if other rows are held by now.
    pub fn replace(&mut self, before: Option<&Rc<Held>>, next: Held) -> Result<(), Fault> {
        let is_same = match (&self.held, before) {
            (Some(held), Some(before)) => Rc::ptr_eq(held, before),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            return Err(Fault::Older);
        }
        self.left_out = Families::ALL.without(next.content.families.and(self.coming));
        self.held = Some(Rc::new(next));
        Ok(())
    }
}

impl Held {
    /// The rows `content` of the state that the origin stamped at `confirmed_at`, for a holder of the rows `before`.
    pub async fn of(
        stamp: Stamp,
        confirmed_at: Timestamp,
        content: Content,
        before: Option<&Held>,
        pace: &Pace<'_>,
    ) -> Result<Self, Fault> {
        let previous = before.map(|before| (&before.model, &before.content.rows));
        let model = ReadModel::make(stamp.version, content.families, &content.rows, previous, pace).await;
        let model = model.ok_or(Fault::NoModel)?;
        let confirmed_at = match before {
            Some(before) if before.stamp.state == stamp.state => confirmed_at.max(before.confirmed_at),
            _ => confirmed_at,
        };
        Ok(Held { stamp, confirmed_at, sizes: content.sizes(), content, model })
    }

    /// The rows held.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Bytes in memory of each family.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Bytes in memory of the rows and their model.
    pub fn bytes(&self) -> usize {
        self.sizes.total(self.content.families)
    }

    /// Whole seconds since the origin confirmed the rows.
    pub fn age(&self, now: Timestamp) -> u64 {
        u64::try_from(now.seconds_since(self.confirmed_at)).unwrap_or(0)
    }

    /// What the rows may be used for at `now`, for answers of `route`, given the tag versions known: as for a cached response.
    pub fn condition(&self, route: &Route, now: Timestamp, known: &TagVersions) -> Condition {
        match lifetime(route).condition(self.age(now)) {
            Condition::Fresh if !self.stamp.tags.covers(known) => Condition::Stale,
            condition => condition,
        }
    }

    /// The model for answers of `route`, given the chains known to be withheld. `None` if only the origin can answer without them.
    pub fn model(self: &Rc<Self>, route: RouteId, withheld: &Withheld) -> Option<Model> {
        let mask = self.mask(withheld);
        if mask.is_empty() {
            return Some(Model::Whole(Rc::clone(self)));
        }
        if !keeps_chains_apart(route) {
            return None;
        }
        Some(Model::Masked(Rc::new(self.model.without_chains(&mask))))
    }

    /// The withheld chains of which the rows may still have something.
    pub fn mask(&self, withheld: &Withheld) -> Vec<ChainId> {
        if withheld.version <= self.stamp.tags.of(withheld::TAG) {
            return Vec::new();
        }
        withheld.chains.iter().filter(|chain| !self.stamp.withheld.contains(chain)).copied().collect()
    }
}

/// How long an answer from rows can be used, as a cached response of the route.
pub fn lifetime(route: &Route) -> Lifetime {
    Lifetime { fresh: route.cache.fresh, stale_if_error: route.cache.stale_if_error }
}

/// Whether every row of the route's answers is of one chain or of none. Other answers add up over chains, or have cases of several chains, as
/// the security registry has with `hasLoss`.
const fn keeps_chains_apart(route: RouteId) -> bool {
    use RouteId::{Chains, MarketList, OracleByAddress, OracleList, Royco, VaultList, VaultScores};
    matches!(route, VaultList | VaultScores | Royco | Chains | MarketList | OracleList | OracleByAddress)
}
