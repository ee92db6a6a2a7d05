//! The Durable Object that keeps tag versions and response counts. It runs [`super::register::Register`] and
//! [`super::answer_totals::Answers`] on SQLite storage.

use super::answer_totals::{Answers, AnswersDisk, Change, Stored};
use super::register::{EpochDisk, Register};
use super::{TagMessage, TagReply, Withheld};
use crate::guard::DiskFault;
use crate::guard::keys::object::respond;
use crate::guard::objects::lazy_state::LazyState;
use crate::guard::objects::message;
use crate::guard::objects::sql::{Table, counted, number};
use crate::origin_link::retry::{CallOutcome, exchange};
use crate::origin_link::signed_call::{CallStamp, UnsignedCall};
use crate::runtime::{self, ambient, calls};
use core::cell::Cell;
use core::time::Duration;
use rds_shared::access::link::{AnsweredMinute, EDGE, EDGE_ANSWERS, EdgeAnswers};
use rds_shared::route::{Method, Tag, TagVersions};
use rds_shared::wire::RequestId;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Date, Object, Promise};
use worker::wasm_bindgen_futures::future_to_promise;
use worker::web_sys::{Request, Response};
use worker::worker_sys::types::DurableObjectState;
use worker::{Env, State, console_error};

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS versions (tag TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS withheld (
        one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, chains TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS withheld_since (
        one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, since INTEGER NOT NULL)";

const ANSWERS_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS answers (
        minute INTEGER PRIMARY KEY, good INTEGER NOT NULL, refused INTEGER NOT NULL, failed INTEGER NOT NULL,
        told INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS answers_isolate (
        name TEXT PRIMARY KEY, sequence INTEGER NOT NULL, minute INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS answers_source (one INTEGER PRIMARY KEY CHECK (one = 1), source INTEGER NOT NULL)";

/// Delay before counts are sent to the origin, so that more are collected.
const SEND_DELAY: Duration = Duration::from_secs(5);
/// Delay before a failed delivery is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(15);

/// The Durable Object. Bound by hand, because the SDK's macro copies every request and response once more (see
/// [`crate::guard::keys::object`]).
#[wasm_bindgen]
pub struct Epochs {
    inner: Rc<Inner>,
}

struct Inner {
    state: State,
    env: Env,
    disk: Table,
    register: LazyState<Register>,
    answers_disk: AnswersTables,
    answers: LazyState<Answers>,
    /// Whether this instance has set the alarm for the next delivery.
    alarm_is_set: Cell<bool>,
}

/// The tables of the counts.
struct AnswersTables(Table);

#[wasm_bindgen]
impl Epochs {
    /// Creates an instance; storage is read at first use.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, env: Env) -> Self {
        let state = State::from(state);
        let (disk, register) = (Table::of(&state, TABLE), LazyState::new("storage of the tag versions"));
        let answers_disk = AnswersTables(Table::of(&state, ANSWERS_TABLES));
        let (answers, alarm_is_set) = (LazyState::new("storage of the response counts"), Cell::new(false));
        Epochs { inner: Rc::new(Inner { state, env, disk, register, answers_disk, answers, alarm_is_set }) }
    }

    /// Exchanges versions. After a storage fault the response has no reply, which the Worker treats as unreachable.
    pub fn fetch(&self, request: &Request) -> Result<JsValue, JsValue> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        match self.inner.exchange(&text) {
            Some(reply) => respond(&reply),
            None => Ok(Response::new()?.into()),
        }
    }

    /// Sends the counts to the origin and schedules the next delivery.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        future_to_promise(async move {
            inner.tell().await;
            Ok(JsValue::UNDEFINED)
        })
    }
}

impl Inner {
    fn exchange(&self, text: &str) -> Option<TagReply> {
        let message: TagMessage = message::read(text)?;
        if let Some(report) = &message.answered {
            let (now, [a, b, c, d, e, f, ..]) = (ambient::now_millis().div_euclid(60_000), ambient::random());
            let source = i64::from_be_bytes([0, 0, a, b, c, d, e, f]);
            self.with(|answers, disk| answers.take(disk, report, now, source)).ok()?;
            self.arrange(SEND_DELAY);
        }
        let exchanged =
            self.register.with(|| Register::load(&self.disk), |register| register.exchange(&self.disk, &message));
        exchanged.ok()
    }

    fn with<T>(&self, step: impl FnOnce(&mut Answers, &AnswersTables) -> Result<T, DiskFault>) -> Result<T, DiskFault> {
        self.answers.with(|| Answers::load(&self.answers_disk), |answers| step(answers, &self.answers_disk))
    }

    async fn tell(&self) {
        self.alarm_is_set.set(false);
        let Ok(Some(out)) = self.with(|answers, _| Ok(answers.unacknowledged())) else { return };
        let delivered = self.deliver(&out).await && self.with(|answers, disk| answers.acknowledged(disk, &out)).is_ok();
        match self.with(|answers, _| Ok(answers.unacknowledged().is_some())) {
            Ok(true) if delivered => self.arrange(SEND_DELAY),
            Ok(false) => {}
            _ => self.arrange(RETRY_DELAY),
        }
    }

    async fn deliver(&self, out: &EdgeAnswers) -> bool {
        let (Some(config), Ok(body)) = (runtime::config(&self.env), serde_json::to_vec(out)) else { return false };
        let request_id = RequestId::from_random(ambient::random());
        let mut question = UnsignedCall::new(Method::Post, EDGE_ANSWERS, body, EDGE.to_owned(), request_id);
        // The counts are totals per minute, so sending them twice is harmless.
        question.is_repeatable = true;
        let seal = || CallStamp { now: ambient::now(), nonce: ambient::random() };
        let send = async |call: &_, limit| calls::call(&config, call, limit).await;
        match exchange(&config.assertion_key, &question, config.origin_timeout, seal, send).await {
            CallOutcome::Answered(answer) if answer.status == 204 => true,
            CallOutcome::Answered(answer) => {
                console_error!("the edge's response counts could not be sent: status {}", answer.status);
                false
            }
            outcome => {
                console_error!(
                    "the edge's response counts could not be sent: {}",
                    outcome.log_line().unwrap_or_default()
                );
                false
            }
        }
    }

    fn arrange(&self, wait: Duration) {
        if !self.alarm_is_set.get() {
            let at = ambient::now_millis().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
            let at = Date::new(&JsValue::from_f64(at as f64));
            let set = self.state.storage().as_raw().set_alarm(at, Object::new());
            self.alarm_is_set.set(set.is_ok());
        }
    }
}

impl AnswersDisk for AnswersTables {
    fn read(&self) -> Result<Stored, DiskFault> {
        let database = self.0.there()?;
        let source = database.rows("SELECT source FROM answers_source", &[])?;
        let minutes = database.rows("SELECT minute, good, refused, failed, told FROM answers", &[])?;
        let isolates = database.rows("SELECT name, sequence, minute FROM answers_isolate", &[])?;
        Ok(Stored {
            source: source.into_iter().next().map(|mut row| row.integer()).transpose()?,
            minutes: minutes
                .into_iter()
                .map(|mut row| {
                    let (minute, good, refused, failed) = (row.integer()?, row.count()?, row.count()?, row.count()?);
                    Ok((AnsweredMinute { minute, good, refused, failed }, row.integer()? != 0))
                })
                .collect::<Result<_, DiskFault>>()?,
            isolates: isolates
                .into_iter()
                .map(|mut row| Ok((row.text()?, row.count()?, row.integer()?)))
                .collect::<Result<_, DiskFault>>()?,
        })
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        let database = self.0.there()?;
        match *change {
            Change::Create { source } => {
                database.run("INSERT OR REPLACE INTO answers_source VALUES (1, ?)", &[number(source)])
            }
            Change::Take { isolate, sequence, minute, totals } => {
                let number_of = "INSERT OR REPLACE INTO answers_isolate VALUES (?, ?, ?)";
                let taken = (number_of, vec![isolate.into(), counted(sequence), number(minute)]);
                let total = |it: &AnsweredMinute| {
                    let values = vec![number(it.minute), counted(it.good), counted(it.refused), counted(it.failed)];
                    ("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, 0)", values)
                };
                database.together(std::iter::once(taken).chain(totals.iter().map(total)).collect())
            }
            Change::Acknowledged(totals) => {
                let acknowledge =
                    |it: &AnsweredMinute| ("UPDATE answers SET told = 1 WHERE minute = ?", vec![number(it.minute)]);
                database.together(totals.iter().map(acknowledge).collect())
            }
            Change::Forget { minutes, isolates } => database.together(vec![
                ("DELETE FROM answers WHERE minute < ?", vec![number(minutes)]),
                ("DELETE FROM answers_isolate WHERE minute < ?", vec![number(isolates)]),
            ]),
        }
    }
}

impl EpochDisk for Table {
    fn read(&self) -> Result<TagVersions, DiskFault> {
        let mut versions = TagVersions::default();
        for mut row in self.there()?.rows("SELECT tag, version FROM versions", &[])? {
            // A tag written by a newer release is skipped and stays stored.
            if let (Some(tag), version) = (Tag::parse(&row.text()?), row.integer()?) {
                versions.raise(tag, version);
            }
        }
        Ok(versions)
    }

    fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault> {
        let statement = "INSERT OR REPLACE INTO versions VALUES (?, ?)";
        self.there()?.run(statement, &[tag.as_str().into(), number(version)])
    }

    fn read_withheld(&self) -> Result<Withheld, DiskFault> {
        // An earlier release writes only the first table.
        let sql = "SELECT version, chains, coalesce((SELECT s.since FROM withheld_since s WHERE s.version = withheld.version), version) \
                   FROM withheld";
        let rows = self.there()?.rows(sql, &[])?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(Withheld::default()) };
        let (version, text, same_since) = (row.integer()?, row.text()?, row.integer()?);
        let chains = serde_json::from_str(&text).map_err(|error| DiskFault(format!("withheld chains: {error}")))?;
        Ok(Withheld { version, chains, same_since })
    }

    fn write_withheld(&self, withheld: &Withheld) -> Result<(), DiskFault> {
        let chains = serde_json::to_string(&withheld.chains).map_err(|error| DiskFault(error.to_string()))?;
        let statement = "INSERT OR REPLACE INTO withheld_since VALUES (1, ?, ?)";
        self.there()?.run(statement, &[number(withheld.version), number(withheld.since())])?;
        let statement = "INSERT OR REPLACE INTO withheld VALUES (1, ?, ?)";
        self.there()?.run(statement, &[number(withheld.version), chains.as_str().into()])
    }
}
