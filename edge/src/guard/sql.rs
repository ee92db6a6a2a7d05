//! An object's SQLite, as far as the guards need it.

use super::DiskFault;
use core::cell::Cell;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::Function;
use worker::wasm_bindgen::closure::Closure;
use worker::worker_sys::types::DurableObjectStorage;
use worker::{SqlStorage, SqlStorageValue, State};

#[wasm_bindgen]
extern "C" {
    /// Storage with the one method that the SDK does not bind.
    type Transactional;

    /// Runs the function in a transaction; what it throws rolls the transaction back.
    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(this: &Transactional, work: &Function) -> Result<JsValue, JsValue>;
}

/// A database. Every statement is on its way to the disk when it returns, and no answer leaves the object before it is there.
#[derive(Debug)]
pub struct Database {
    sql: SqlStorage,
    storage: JsValue,
}

/// A database with one table, which is made at the first need.
#[derive(Debug)]
pub struct Table {
    database: Database,
    create: &'static str,
    /// Whether the table is known to be there.
    ready: Cell<bool>,
}

impl Table {
    /// The table of an object; `create` makes it where it is missing.
    pub fn of(state: &State, create: &'static str) -> Self {
        Table { database: Database::of(state), create, ready: Cell::new(false) }
    }

    /// The database, with the table in it.
    pub fn there(&self) -> Result<&Database, DiskFault> {
        if !self.ready.get() {
            self.database.run(self.create, &[])?;
            self.ready.set(true);
        }
        Ok(&self.database)
    }

    /// The database, if `table`, which is the table's name, is in it: nothing is written.
    pub fn if_there(&self, table: &str) -> Result<Option<&Database>, DiskFault> {
        if !self.ready.get() {
            self.ready.set(self.database.has(table)?);
        }
        Ok(self.ready.get().then_some(&self.database))
    }
}

/// One row, column by column.
#[derive(Debug)]
pub struct Row(std::vec::IntoIter<SqlStorageValue>);

impl Database {
    /// The database of an object.
    pub fn of(state: &State) -> Self {
        let storage = state.storage();
        let raw: &DurableObjectStorage = storage.as_raw();
        Database { sql: storage.sql(), storage: JsValue::from(raw) }
    }

    /// Whether a table is there.
    pub fn has(&self, table: &str) -> Result<bool, DiskFault> {
        let found = self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", &[table.into()])?;
        Ok(!found.is_empty())
    }

    /// Runs a statement.
    pub fn run(&self, statement: &str, values: &[JsValue]) -> Result<(), DiskFault> {
        self.sql.exec_raw(statement, values.to_vec()).map(drop).map_err(fault)
    }

    /// Runs a query.
    pub fn rows(&self, query: &str, values: &[JsValue]) -> Result<Vec<Row>, DiskFault> {
        let cursor = self.sql.exec_raw(query, values.to_vec()).map_err(fault)?;
        cursor.raw().map(|row| row.map(|columns| Row(columns.into_iter())).map_err(fault)).collect()
    }

    /// Runs several statements, all or none of them.
    pub fn together(&self, statements: Vec<(&'static str, Vec<JsValue>)>) -> Result<(), DiskFault> {
        let sql = self.sql.clone();
        let mut work = Some(move || {
            for (statement, values) in statements {
                sql.exec_raw(statement, values).map_err(JsValue::from)?;
            }
            Ok::<_, JsValue>(JsValue::UNDEFINED)
        });
        let work = Closure::<dyn FnMut() -> Result<JsValue, JsValue>>::new(move || match work.take() {
            Some(work) => work(),
            None => Ok(JsValue::UNDEFINED),
        });
        let storage: &Transactional = self.storage.unchecked_ref();
        let outcome = storage.transaction_sync(work.as_ref().unchecked_ref());
        outcome.map(drop).map_err(|error| fault(error.into()))
    }
}

impl Row {
    /// The next column, a number.
    pub fn integer(&mut self) -> Result<i64, DiskFault> {
        match self.0.next() {
            Some(SqlStorageValue::Integer(value)) => Ok(value),
            other => Err(unexpected(other)),
        }
    }

    /// The next column, a count.
    pub fn count(&mut self) -> Result<u64, DiskFault> {
        self.integer().map(|value| u64::try_from(value).unwrap_or_default())
    }

    /// The next column, a count that a request adds one to.
    pub fn small(&mut self) -> Result<u32, DiskFault> {
        self.integer().map(|value| u32::try_from(value.max(0)).unwrap_or(u32::MAX))
    }

    /// The next column, a text.
    pub fn text(&mut self) -> Result<String, DiskFault> {
        match self.0.next() {
            Some(SqlStorageValue::String(value)) => Ok(value),
            other => Err(unexpected(other)),
        }
    }
}

/// A number as SQLite takes it. All of ours are instants, counts and versions: far from where a double loses whole numbers.
pub fn number(value: i64) -> JsValue {
    JsValue::from_f64(value as f64)
}

/// A count as SQLite takes it.
pub fn counted(value: u64) -> JsValue {
    JsValue::from_f64(value as f64)
}

fn fault(error: worker::Error) -> DiskFault {
    DiskFault(error.to_string())
}

fn unexpected(value: Option<SqlStorageValue>) -> DiskFault {
    DiskFault(format!("a column of another type: {value:?}"))
}
