//! The Durable Object that counts 1/256 of all addresses. It runs [`crate::guard::addresses::state::AddressGuard`] on SQLite storage.

use crate::guard::DiskFault;
use crate::guard::addresses::state::{AddressDisk, AddressGuard as Machine, Key};
use crate::guard::keys::object::respond;
use crate::guard::objects::group_commit::{GroupCommit, Waiting};
use crate::guard::objects::lazy_state::LazyState;
use crate::guard::objects::message::{self, AddressTake};
use crate::guard::objects::sql::{Table, number};
use crate::runtime::ambient;
use rds_shared::access::budget::{AddressBudget, AddressCount, Count, Verdict};
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::web_sys::{Request, Response};
use worker::worker_sys::types::DurableObjectState;
use worker::{Env, State};

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS counts (
        address TEXT NOT NULL, budget TEXT NOT NULL, minute INTEGER NOT NULL, in_minute INTEGER NOT NULL,
        day INTEGER NOT NULL, in_day INTEGER NOT NULL, PRIMARY KEY (address, budget)) WITHOUT ROWID";

/// The Durable Object. Bound by hand for the reason given in [`crate::guard::keys::object`].
#[wasm_bindgen]
pub struct AddressGuard {
    inner: Rc<Inner>,
}

struct Inner {
    state: State,
    disk: Table,
    machine: LazyState<Machine>,
    asked: Rc<GroupCommit<AddressTake>>,
}

#[wasm_bindgen]
impl AddressGuard {
    /// Creates an instance; storage is read at first use.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, _: Env) -> Self {
        let state = State::from(state);
        let (disk, machine) = (Table::of(&state, TABLE), LazyState::new("storage of the addresses"));
        AddressGuard { inner: Rc::new(Inner { state, disk, machine, asked: Rc::default() }) }
    }

    /// Charges a request. After a fault the response has no verdict, which the Worker treats as unreachable.
    pub fn fetch(&self, request: &Request) -> Result<JsValue, JsValue> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        let Some(take) = message::read(&text) else { return Ok(Response::new()?.into()) };
        let inner = Rc::clone(&self.inner);
        let answer = move |waiting: Vec<Waiting<AddressTake>>| {
            for waiting in waiting {
                let verdict = inner.take(&waiting.request);
                waiting.answer(verdict.map_or_else(|| Response::new().map(JsValue::from), |verdict| respond(&verdict)));
            }
        };
        Ok(self.inner.asked.join(&self.inner.state, take, answer).into())
    }
}

impl Inner {
    fn take(&self, take: &AddressTake) -> Option<Verdict> {
        let now = ambient::now_millis().div_euclid(1_000);
        let taken = self.machine.with(|| Machine::load(&self.disk), |machine| machine.take(&self.disk, take, now));
        taken.ok()
    }
}

impl AddressDisk for Table {
    fn stored(&self) -> Result<usize, DiskFault> {
        let rows = self.there()?.rows("SELECT count(*) FROM counts", &[])?;
        let count = rows.into_iter().next().map(|mut row| row.count()).transpose()?;
        Ok(usize::try_from(count.unwrap_or_default()).unwrap_or(usize::MAX))
    }

    fn latest(&self) -> Result<i64, DiskFault> {
        let rows = self.there()?.rows("SELECT coalesce(max(minute), 0) FROM counts", &[])?;
        rows.into_iter().next().map_or(Ok(0), |mut row| row.integer())
    }

    fn read(&self, address: &str, budget: AddressBudget) -> Result<Option<AddressCount>, DiskFault> {
        let query = "SELECT minute, in_minute, day, in_day FROM counts WHERE address = ? AND budget = ?";
        let rows = self.there()?.rows(query, &[address.into(), budget.as_str().into()])?;
        let read = |mut row: crate::guard::objects::sql::Row| {
            Ok(AddressCount {
                minute: Count { window: row.integer()?, used: row.small()? },
                day: Count { window: row.integer()?, used: row.small()? },
            })
        };
        rows.into_iter().next().map(read).transpose()
    }

    fn write(&self, rows: &[(Key, AddressCount)]) -> Result<(), DiskFault> {
        if rows.is_empty() {
            return Ok(());
        }
        // A single statement is atomic.
        let statement =
            format!("INSERT OR REPLACE INTO counts VALUES {}", vec!["(?, ?, ?, ?, ?, ?)"; rows.len()].join(","));
        let values = |((address, budget), AddressCount { minute, day }): &(Key, AddressCount)| {
            [
                address.as_str().into(),
                budget.as_str().into(),
                number(minute.window),
                number(minute.used.into()),
                number(day.window),
                number(day.used.into()),
            ]
        };
        self.there()?.run(&statement, &rows.iter().flat_map(values).collect::<Vec<_>>())
    }

    fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault> {
        // A single statement, because each one scans the whole table while the new window's requests wait.
        let daily = AddressBudget::ALL.iter().filter(|budget| budget.per_day().is_some());
        let daily = daily.map(|budget| format!("'{}'", budget.as_str())).collect::<Vec<_>>().join(",");
        let sweep = format!("DELETE FROM counts WHERE CASE WHEN budget IN ({daily}) THEN day < ? ELSE minute < ? END");
        self.there()?.run(&sweep, &[number(day), number(window)])
    }
    fn delete_idle(&self, window: i64, most: usize) -> Result<(), DiskFault> {
        let idle = "DELETE FROM counts WHERE (address, budget) IN
                    (SELECT address, budget FROM counts WHERE minute < ? ORDER BY in_day LIMIT ?)";
        self.there()?.run(idle, &[number(window), number(i64::try_from(most).unwrap_or(i64::MAX))])
    }
}
