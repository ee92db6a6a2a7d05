//! The Durable Object that keeps the versions: the runtime around [`super::register::Register`], and its disk.

use super::register::{EpochDisk, Register};
use super::{EpochMessage, EpochReply};
use crate::guard::DiskFault;
use crate::guard::key_object::respond;
use crate::guard::message;
use crate::guard::sql::{Database, number};
use core::cell::{Cell, RefCell};
use rds_shared::route::{Tag, TagVersions};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::web_sys::{Request, Response};
use worker::worker_sys::types::DurableObjectState;
use worker::{Env, State, console_error};

/// The name of the one object.
pub const NAME: &str = "tags";

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS versions (tag TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID";

/// The object. Bound by hand, as [`crate::guard::key_object`] says why.
#[wasm_bindgen]
pub struct Epochs {
    disk: Disk,
    /// Read from the disk at the first need, and again after a fault.
    register: RefCell<Option<Register>>,
}

struct Disk {
    database: Database,
    /// Whether the table is known to be there.
    ready: Cell<bool>,
}

#[wasm_bindgen]
impl Epochs {
    /// An instance over the object's storage; nothing is read yet.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, _: Env) -> Self {
        let disk = Disk { database: Database::of(&State::from(state)), ready: Cell::new(false) };
        Epochs { disk, register: RefCell::default() }
    }

    /// Exchanges what is known. Without a reply in the answer the Worker counts this object as unreachable.
    pub fn fetch(&self, request: &Request) -> Result<JsValue, JsValue> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        match self.exchange(&text) {
            Some(versions) => respond(&EpochReply { versions }),
            None => Ok(Response::new()?.into()),
        }
    }
}

impl Epochs {
    fn exchange(&self, text: &str) -> Option<TagVersions> {
        let EpochMessage { seen } = message::read(text)?;
        let mut slot = self.register.borrow_mut();
        let exchanged = (|| {
            let register = match slot.take() {
                Some(register) => register,
                None => Register::load(&self.disk)?,
            };
            slot.insert(register).exchange(&self.disk, &seen)
        })();
        if let Err(fault) = &exchanged {
            console_error!("the disk of the versions: {}", fault.0);
            *slot = None;
        }
        exchanged.ok()
    }
}

impl Disk {
    fn table(&self) -> Result<&Database, DiskFault> {
        if !self.ready.get() {
            self.database.run(TABLE, &[])?;
            self.ready.set(true);
        }
        Ok(&self.database)
    }
}

impl EpochDisk for Disk {
    fn read(&self) -> Result<TagVersions, DiskFault> {
        let mut versions = TagVersions::default();
        for mut row in self.table()?.rows("SELECT tag, version FROM versions", &[])? {
            // A tag that only newer code knows stays on the disk until that is back.
            if let (Some(tag), version) = (Tag::parse(&row.text()?), row.integer()?) {
                versions.raise(tag, version);
            }
        }
        Ok(versions)
    }

    fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault> {
        let statement = "INSERT OR REPLACE INTO versions VALUES (?, ?)";
        self.table()?.run(statement, &[tag.as_str().into(), number(version)])
    }
}
