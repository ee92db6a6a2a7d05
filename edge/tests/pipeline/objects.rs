//! Durable Objects in this process: the real rules of rate limits, a scripted register of keys, and switches to make
//! either fail.

use rds_edge::guard::keys::ledger::Ledger;
use rds_edge::guard::objects::message::{
    AddressTake, Around, KeyAsk, KeyMessage, KeyReply, LookUp, Reservation, ReserveAsk, Settled, Tally,
};
use rds_edge::ports::Unreachable;
use rds_shared::access::budget::{
    AddressBudget, AddressCount, AddressCounters, NeighbourhoodCount, Verdict, take_address,
};
use rds_shared::access::{KeyDigest, KeyRecord, Plan};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// The text of a key with this number.
pub fn key_text(number: u32) -> String {
    format!("pk_live_{number:032x}")
}

/// The `Authorization` header with this key.
pub fn bearer(number: u32) -> String {
    format!("Bearer {}", key_text(number))
}

pub fn record(plan: Plan, rpm: u32) -> KeyRecord {
    KeyRecord { id: 7, org_id: 3, plan, rpm, shared: false, active: true, version: 1 }
}

#[derive(Default)]
pub struct Objects {
    /// The existing keys.
    pub keys: RefCell<BTreeMap<KeyDigest, KeyRecord>>,
    /// Keys that the origin recognises only after it has received the key's text.
    pub older: RefCell<BTreeMap<KeyDigest, KeyRecord>>,
    /// Requests that isolates reported later, because the Durable Object had not counted them.
    pub tallies: RefCell<Vec<(KeyDigest, Tally)>>,
    /// Number of calls to Durable Objects of keys.
    pub key_calls: Cell<usize>,
    /// Number of calls to Durable Objects of addresses.
    pub address_calls: Cell<usize>,
    /// Whether the Durable Objects of keys and the registers do not answer.
    pub keys_are_away: Cell<bool>,
    /// Whether the Durable Objects of addresses do not answer.
    pub addresses_are_away: Cell<bool>,
    /// Whether Durable Objects of keys answer that the key cannot be judged.
    pub origin_is_away: Cell<bool>,
    /// Settled reservations in order.
    pub settled: RefCell<Vec<Settled>>,
    /// Requested reservations, each with the granted reservation, if any.
    pub reserved: RefCell<Vec<(ReserveAsk, Option<Reservation>)>>,
    ledgers: RefCell<BTreeMap<KeyDigest, Ledger>>,
    addresses: RefCell<BTreeMap<(u8, String, AddressBudget), AddressCount>>,
    /// Keys listed in registers.
    listed: RefCell<BTreeSet<KeyDigest>>,
    /// Look-ups at registers, in order.
    pub look_ups: RefCell<Vec<LookUp>>,
}

impl Objects {
    /// Creates a key.
    pub fn mint(&self, number: u32, record: KeyRecord) -> KeyDigest {
        let digest = KeyDigest::of(&key_text(number));
        self.keys.borrow_mut().insert(digest, record);
        digest
    }

    pub fn key(&self, digest: &KeyDigest, message: &KeyMessage, now: i64) -> Result<KeyReply, Unreachable> {
        self.key_calls.set(self.key_calls.get() + 1);
        if self.keys_are_away.get() {
            return Err(Unreachable("no answer".to_owned()));
        }
        match message {
            KeyMessage::LookUp(_) | KeyMessage::List { .. } => Err(Unreachable("no register".to_owned())),
            KeyMessage::Ask(ask) => Ok(self.ask(ask, now.div_euclid(1_000))),
            KeyMessage::Update { digest, record } => {
                let mut keys = self.keys.borrow_mut();
                if keys.get(digest).is_none_or(|known| record.supersedes(known)) {
                    keys.insert(*digest, *record);
                }
                Ok(KeyReply::Done)
            }
            KeyMessage::Report { tally } => {
                self.note(*digest, tally);
                Ok(KeyReply::Done)
            }
            KeyMessage::Reserve(asked) => Ok(self.reserve(asked, now)),
            KeyMessage::Settle { settled } => {
                self.settle(digest, settled);
                Ok(KeyReply::Done)
            }
        }
    }

    pub fn register(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable> {
        if self.keys_are_away.get() {
            return Err(Unreachable("no answer".to_owned()));
        }
        let mut listed = self.listed.borrow_mut();
        let KeyMessage::LookUp(asked) = message else {
            listed.insert(*digest);
            return Ok(KeyReply::Done);
        };
        self.look_ups.borrow_mut().push(asked.clone());
        if listed.contains(digest) {
            return Ok(KeyReply::Listed);
        }
        if self.origin_is_away.get() {
            return Ok(KeyReply::Unable);
        }
        let older = asked.text.is_some().then(|| self.older.borrow_mut().remove(digest)).flatten();
        self.keys.borrow_mut().extend(older.map(|record| (*digest, record)));
        if self.older.borrow().contains_key(digest) {
            return Ok(KeyReply::TextNeeded);
        }
        if !self.keys.borrow().contains_key(digest) {
            return Ok(KeyReply::Rejected);
        }
        listed.insert(*digest);
        Ok(KeyReply::Listed)
    }

    fn reserve(&self, asked: &ReserveAsk, now: i64) -> KeyReply {
        self.note(asked.ask.digest, &asked.ask.tally);
        self.settle(&asked.ask.digest, &asked.ask.settled);
        let Some(record) = self.keys.borrow().get(&asked.ask.digest).copied().filter(|record| record.active) else {
            return KeyReply::Rejected;
        };
        let mut ledgers = self.ledgers.borrow_mut();
        let ledger = ledgers.entry(asked.ask.digest).or_default();
        let reservation =
            ledger.reserve(&record, asked.class, asked.want, now.div_euclid(1_000)).map(|(size, allowance)| {
                let id = i64::try_from(self.reserved.borrow().len()).unwrap();
                Reservation { id, size, lasts: asked.lasts, allowance }
            });
        self.reserved.borrow_mut().push((asked.clone(), reservation));
        KeyReply::Reserved { record, reservation }
    }

    fn settle(&self, digest: &KeyDigest, settled: &[Settled]) {
        for one in settled {
            let (asked, reservation) = self.reserved.borrow()[usize::try_from(one.id).unwrap()].clone();
            let reservation = reservation.unwrap();
            let spent: u32 = one.spent.iter().map(|tally| tally.served).sum();
            let window = reservation.allowance.reset / 60 - 1;
            let mut ledgers = self.ledgers.borrow_mut();
            ledgers.get_mut(digest).unwrap().release(window, asked.class, reservation.size - spent);
            self.settled.borrow_mut().push(one.clone());
        }
    }

    fn ask(&self, ask: &KeyAsk, now: i64) -> KeyReply {
        if self.origin_is_away.get() {
            return KeyReply::Unable;
        }
        let older = self.older.borrow().get(&ask.digest).copied();
        if let Some(record) = older {
            if ask.text.is_none() {
                return KeyReply::TextNeeded;
            }
            self.older.borrow_mut().remove(&ask.digest);
            self.keys.borrow_mut().insert(ask.digest, record);
        }
        self.note(ask.digest, &ask.tally);
        self.settle(&ask.digest, &ask.settled);
        let Some(record) = self.keys.borrow().get(&ask.digest).copied().filter(|record| record.active) else {
            return KeyReply::Rejected;
        };
        let mut ledgers = self.ledgers.borrow_mut();
        let ledger = ledgers.entry(ask.digest).or_default();
        let verdict = ask.take.as_ref().and_then(|take| ledger.take(&record, take, now)).map(|(verdict, _)| verdict);
        KeyReply::Known { record, verdict }
    }

    fn note(&self, digest: KeyDigest, tally: &[Tally]) {
        self.tallies.borrow_mut().extend(tally.iter().map(|tally| (digest, tally.clone())));
    }

    pub fn address(&self, shard: u8, take: &AddressTake, now: i64) -> Result<Verdict, Unreachable> {
        self.address_calls.set(self.address_calls.get() + 1);
        if self.addresses_are_away.get() {
            return Err(Unreachable("no answer".to_owned()));
        }
        let mut addresses = self.addresses.borrow_mut();
        let key = |name: &str| (shard, name.to_owned(), take.budget);
        let around = take.neighbourhood.as_ref().filter(|around| around.charged);
        let mut own = addresses.get(&key(&take.address)).copied().unwrap_or_default();
        let mut shared = around.and_then(|around| addresses.get(&key(&around.name)).copied()).unwrap_or_default();
        let counters = match around {
            None => AddressCounters::Own(&mut own),
            Some(Around { times, .. }) => {
                AddressCounters::Both(&mut own, NeighbourhoodCount { count: &mut shared, ratio: *times })
            }
        };
        let verdict = take_address(counters, take.budget, now.div_euclid(1_000));
        addresses.insert(key(&take.address), own);
        addresses.extend(around.map(|around| (key(&around.name), shared)));
        Ok(verdict)
    }
}
