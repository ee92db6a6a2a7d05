//! The Durable Object that keeps the versions: the runtime around [`super::register::Register`], and its disk.

use super::register::{EpochDisk, Register};
use super::{EpochMessage, EpochReply};
use crate::guard::DiskFault;
use crate::guard::key_object::respond;
use crate::guard::message;
use crate::guard::reloaded::Reloaded;
use crate::guard::sql::{Table, number};
use rds_shared::route::{Tag, TagVersions};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::web_sys::{Request, Response};
use worker::worker_sys::types::DurableObjectState;
use worker::{Env, State};

/// The name of the one object.
pub const NAME: &str = "tags";

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS versions (tag TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID";

/// The object. Bound by hand, as [`crate::guard::key_object`] says why.
#[wasm_bindgen]
pub struct Epochs {
    disk: Table,
    register: Reloaded<Register>,
}

#[wasm_bindgen]
impl Epochs {
    /// An instance over the object's storage; nothing is read yet.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, _: Env) -> Self {
        let disk = Table::of(&State::from(state), TABLE);
        Epochs { disk, register: Reloaded::new("the disk of the versions") }
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
        let exchanged =
            self.register.with(|| Register::load(&self.disk), |register| register.exchange(&self.disk, &seen));
        exchanged.ok()
    }
}

impl EpochDisk for Table {
    fn read(&self) -> Result<TagVersions, DiskFault> {
        let mut versions = TagVersions::default();
        for mut row in self.there()?.rows("SELECT tag, version FROM versions", &[])? {
            // A tag that only newer code knows stays on the disk until that is back.
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
}
