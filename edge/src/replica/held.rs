//! The rows of an isolate, and the answers made from them.

use super::documents::{Fault, Opened, Segments, weight};
use super::timing::Timing;
use crate::cache::memory::{ISOLATE_BYTES, RESPONSE_BYTES};
use crate::cache::policy::{Condition, Lifetime};
use crate::tag_versions::withheld::{self, Withheld};
use rds_shared::model::ids::ChainId;
use rds_shared::read_model::{self, ReadModel};
use rds_shared::replica::{Family, Row, Rows, Stamp, StateId};
use rds_shared::route::{Route, RouteId, TagVersions};
use rds_shared::wire::Timestamp;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum bytes of the rows and their model: what the cached responses leave of the isolate's memory.
pub const MAX_BYTES: usize = ISOLATE_BYTES - RESPONSE_BYTES;

/// What an isolate knows of the replica.
#[derive(Debug)]
pub struct IsolateReplica {
    held: Option<Rc<Held>>,
    /// Maximum bytes of the rows and their model.
    pub max_bytes: usize,
    pub timing: Timing,
    /// Number of the Durable Object that this isolate asks; drawn at the first question.
    pub object: Option<u32>,
    /// Number of documents and segments that were refused.
    pub refused: u64,
}

impl Default for IsolateReplica {
    fn default() -> Self {
        IsolateReplica { held: None, max_bytes: MAX_BYTES, timing: Timing::default(), object: None, refused: 0 }
    }
}

/// Rows of one state, with what the origin said about them.
#[derive(Debug)]
pub struct Held {
    pub stamp: Stamp,
    /// When the origin confirmed the stamp, by this isolate's clock.
    pub confirmed_at: Timestamp,
    rows: Rows,
    model: ReadModel,
    /// The model without the rows of some chains, made when it was first needed.
    masked: RefCell<Option<Masked>>,
}

/// A model without the rows of some chains.
#[derive(Debug)]
struct Masked {
    chains: Vec<ChainId>,
    /// `None` if the other rows are no model.
    model: Option<Rc<ReadModel>>,
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

    /// Whether the rows include a change that `stamp` lacks.
    pub fn is_newer_than(&self, stamp: &Stamp) -> bool {
        self.held.as_ref().is_some_and(|held| !stamp.tags.covers(&held.stamp.tags))
    }

    /// Takes an update that the origin confirmed at `confirmed_at`. After an error everything is as before.
    pub fn take(&mut self, update: &Opened, segments: &Segments, confirmed_at: Timestamp) -> Result<(), Fault> {
        self.held = Some(Rc::new(self.next(update, segments, confirmed_at)?));
        Ok(())
    }

    fn next(&self, update: &Opened, segments: &Segments, confirmed_at: Timestamp) -> Result<Held, Fault> {
        let before = self.held.as_deref();
        let stamp = update.stamp.clone();
        if self.is_newer_than(&stamp) {
            return Err(Fault::Older);
        }
        let masked = RefCell::default();
        // Rows of one state have one name: nothing but the stamp is new, whatever the update brings.
        if let Some(before) = before.filter(|before| before.stamp.state == stamp.state) {
            let mut model = before.model.clone();
            model.version = stamp.version;
            let confirmed_at = confirmed_at.max(before.confirmed_at);
            return Ok(Held { stamp, confirmed_at, rows: before.rows.clone(), model, masked });
        }
        let rows = update.rows(before.map(|before| (&before.rows, before.stamp.state)), segments)?;
        let bytes = weight(&rows);
        if bytes > self.max_bytes {
            return Err(Fault::TooLarge { bytes });
        }
        let previous = before.map(|before| (&before.model, &before.rows));
        let model = ReadModel::from_rows(stamp.version, &rows, previous).ok_or(Fault::NoModel)?;
        Ok(Held { stamp, confirmed_at, rows, model, masked })
    }
}

impl Held {
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
        let mut kept = self.masked.borrow_mut();
        let model = match &*kept {
            Some(Masked { chains, model }) if *chains == mask => model.clone(),
            _ => {
                let model = self.without(&mask).map(Rc::new);
                *kept = Some(Masked { chains: mask, model: model.clone() });
                model
            }
        };
        model.map(Model::Masked)
    }

    /// The withheld chains of which the rows may still have something.
    pub fn mask(&self, withheld: &Withheld) -> Vec<ChainId> {
        if withheld.version <= self.stamp.tags.of(withheld::TAG) {
            return Vec::new();
        }
        withheld.chains.iter().filter(|chain| !self.stamp.withheld.contains(chain)).copied().collect()
    }

    fn without(&self, chains: &[ChainId]) -> Option<ReadModel> {
        let is_shown =
            |family: Family, row: &&Row| read_model::chain_of(family, row).is_none_or(|chain| !chains.contains(&chain));
        let mut rows = self.rows.clone();
        for family in Family::ALL {
            let all = self.rows.of(family);
            let shown: Vec<Row> = all.iter().filter(|row| is_shown(family, row)).cloned().collect();
            if shown.len() < all.len() {
                rows.set(family, Arc::new(shown))?;
            }
        }
        ReadModel::from_rows(self.stamp.version, &rows, Some((&self.model, &self.rows)))
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
