//! Connects [`crate::guard::known_keys::state::Register`] to the runtime. A register is a Durable Object of the keys' class under a name that is not a
//! digest, because a separate class would need a deployment migration, which cannot be rolled back.

use crate::guard::DiskFault;
use crate::guard::keys::object::Inner;
use crate::guard::known_keys::state::{Entry, Register, RegisterDisk};
use crate::guard::objects::lazy_state::LazyState;
use crate::guard::objects::message::{KeyReply, LookUp};
use crate::guard::objects::semaphore::QueuedSemaphore;
use crate::guard::objects::single_flight::SingleFlight;
use crate::guard::objects::sql::Table;
use crate::runtime::ambient;
use core::cell::RefCell;
use rds_shared::access::KeyDigest;
use rds_shared::access::link::{KEY_LOOKUP_PATH, KeyLookup, KeyLookupResult};
use std::collections::BTreeMap;
use std::rc::Rc;
use worker::{State, console_error};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS listed (digest TEXT PRIMARY KEY) WITHOUT ROWID";

/// Concurrent look-ups of one register, and the length of its queue.
const LOOK_UPS: (usize, usize) = (4, 256);
/// Concurrent look-ups and queue length for addresses that have used up their limit for rejected keys, so that guesses
/// delay only guesses.
const SPENT_LOOK_UPS: (usize, usize) = (1, 32);

/// A register's state and storage.
pub(in crate::guard) struct RegisterState {
    disk: Table,
    machine: LazyState<Register>,
    places: Rc<QueuedSemaphore>,
    spent_places: Rc<QueuedSemaphore>,
    /// Look-ups in flight, by key and whether its text is sent; identical ones wait for the same answer.
    out: RefCell<BTreeMap<(KeyDigest, bool), Rc<PendingLookUp>>>,
}

/// A look-up at the origin and its reply.
struct PendingLookUp {
    flight: Rc<SingleFlight>,
    reply: RefCell<KeyReply>,
}

impl Default for PendingLookUp {
    fn default() -> Self {
        PendingLookUp { flight: Rc::default(), reply: RefCell::new(KeyReply::Unable) }
    }
}

impl RegisterState {
    pub(in crate::guard) fn new(state: &State) -> Self {
        let (places, spent_places) =
            (QueuedSemaphore::new(LOOK_UPS.0, LOOK_UPS.1), QueuedSemaphore::new(SPENT_LOOK_UPS.0, SPENT_LOOK_UPS.1));
        let (disk, machine) = (Table::of(state, TABLE), LazyState::new("storage of a register"));
        RegisterState { disk, machine, places, spent_places, out: RefCell::default() }
    }

    fn with<T>(&self, step: impl FnOnce(&mut Register, &Table) -> Result<T, DiskFault>) -> Result<T, DiskFault> {
        self.machine.with(|| Ok(Register::default()), |machine| step(machine, &self.disk))
    }

    /// The reply, if it does not require a look-up at the origin.
    pub(in crate::guard) fn known_reply(&self, digest: &KeyDigest) -> Option<KeyReply> {
        match self.with(|register, disk| register.entry(disk, digest, ambient::now_millis())) {
            Ok(Entry::Listed) => Some(KeyReply::Listed),
            Ok(Entry::Refused) => Some(KeyReply::Rejected),
            Ok(Entry::New) => None,
            Err(_) => Some(KeyReply::Unable),
        }
    }

    /// Lists a key because of a message of the origin.
    pub(in crate::guard) fn list(&self, digest: &KeyDigest) -> KeyReply {
        match self.with(|register, disk| register.list(disk, digest)) {
            Ok(()) => KeyReply::Done,
            Err(_) => KeyReply::Unable,
        }
    }
}

impl Inner {
    /// Looks a key up at the origin when the queue allows, or waits for an identical look-up in flight.
    pub(in crate::guard) async fn look_up(self: &Rc<Self>, asked: LookUp) -> KeyReply {
        let named = (asked.digest, asked.text.is_some());
        let pending = Rc::clone(self.register_state.out.borrow_mut().entry(named).or_default());
        if let Some(ticket) = pending.flight.begin() {
            let (inner, pending) = (Rc::clone(self), Rc::clone(&pending));
            // The caller may disconnect; the others still wait for the answer.
            self.state.wait_until(async move {
                let places =
                    if asked.spent { &inner.register_state.spent_places } else { &inner.register_state.places };
                if let Some(_place) = places.place().await {
                    pending.reply.replace(inner.ask_origin(&asked).await);
                }
                inner.register_state.out.borrow_mut().remove(&named);
                drop(ticket);
            });
        }
        match pending.flight.done().await {
            true => pending.reply.borrow().clone(),
            false => KeyReply::Unable,
        }
    }

    async fn ask_origin(&self, asked: &LookUp) -> KeyReply {
        let LookUp { digest, shown, text, .. } = asked.clone();
        let answered = self.post(KEY_LOOKUP_PATH, &KeyLookup { digest, shown, text }).await;
        let understood = match &answered {
            Ok(answer) if answer.status == 200 => serde_json::from_slice::<KeyLookupResult>(&answer.body).ok(),
            _ => None,
        };
        let Some(answer) = understood else {
            console_error!("{digest:?}: the origin did not answer whether it knows the key");
            return KeyReply::Unable;
        };
        let noted =
            self.register_state.with(|register, disk| register.answered(disk, &digest, &answer, ambient::now_millis()));
        match (noted, answer) {
            (Err(_), _) => KeyReply::Unable,
            (Ok(()), KeyLookupResult::Known { .. }) => KeyReply::Listed,
            (Ok(()), KeyLookupResult::Unknown) => KeyReply::Rejected,
            (Ok(()), KeyLookupResult::TextNeeded) => KeyReply::TextNeeded,
        }
    }
}

impl RegisterDisk for Table {
    fn has(&self, digest: &KeyDigest) -> Result<bool, DiskFault> {
        // The table exists only after the first listing, so a guess writes nothing.
        let Some(database) = self.if_there("listed")? else { return Ok(false) };
        let found = database.rows("SELECT 1 FROM listed WHERE digest = ?", &[digest.to_hex().into()])?;
        Ok(!found.is_empty())
    }

    fn list(&self, digest: &KeyDigest) -> Result<(), DiskFault> {
        self.there()?.run("INSERT OR IGNORE INTO listed VALUES (?)", &[digest.to_hex().into()])
    }
}
