//! The SQLite storage of a Durable Object.

use crate::guard::DiskFault;
use core::cell::Cell;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::Function;
use worker::wasm_bindgen::closure::Closure;
use worker::worker_sys::types::DurableObjectStorage;
use worker::{SqlStorage, SqlStorageValue, State};

#[wasm_bindgen]
extern "C" {
    /// The storage method that the SDK does not bind.
    type Transactional;

    /// Runs the function in a transaction, which is rolled back if it throws.
    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(this: &Transactional, work: &Function) -> Result<JsValue, JsValue>;
}

/// A database. A write is durable before any answer leaves the Durable Object (output gate).
#[derive(Debug)]
pub struct Database {
    sql: SqlStorage,
    storage: JsValue,
}

/// A database with one table, created when it is first needed.
#[derive(Debug)]
pub struct Table {
    database: Database,
    create: &'static str,
    /// Whether the table is known to exist.
    ready: Cell<bool>,
}

impl Table {
    /// The table of a Durable Object; `create` is its `CREATE TABLE` statement.
    pub fn of(state: &State, create: &'static str) -> Self {
        Table { database: Database::of(state), create, ready: Cell::new(false) }
    }

    /// The database; creates the table if necessary.
    pub fn there(&self) -> Result<&Database, DiskFault> {
        if !self.ready.get() {
            self.database.run(self.create, &[])?;
            self.ready.set(true);
        }
        Ok(&self.database)
    }

    /// The database if it has the table named `table`. Writes nothing.
    pub fn if_there(&self, table: &str) -> Result<Option<&Database>, DiskFault> {
        if !self.ready.get() {
            self.ready.set(self.database.has(table)?);
        }
        Ok(self.ready.get().then_some(&self.database))
    }
}

/// A row, read column by column.
#[derive(Debug)]
pub struct Row(std::vec::IntoIter<SqlStorageValue>);

impl Database {
    pub fn of(state: &State) -> Self {
        let storage = state.storage();
        let raw: &DurableObjectStorage = storage.as_raw();
        Database { sql: storage.sql(), storage: JsValue::from(raw) }
    }

    /// Whether a table exists.
    pub fn has(&self, table: &str) -> Result<bool, DiskFault> {
        let found = self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", &[table.into()])?;
        Ok(!found.is_empty())
    }

    pub fn run(&self, statement: &str, values: &[JsValue]) -> Result<(), DiskFault> {
        self.sql.exec_raw(statement, values.to_vec()).map(drop).map_err(fault)
    }

    pub fn rows(&self, query: &str, values: &[JsValue]) -> Result<Vec<Row>, DiskFault> {
        let cursor = self.sql.exec_raw(query, values.to_vec()).map_err(fault)?;
        cursor.raw().map(|row| row.map(|columns| Row(columns.into_iter())).map_err(fault)).collect()
    }

    /// Runs several statements in one transaction.
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
    /// The next column, an integer.
    pub fn integer(&mut self) -> Result<i64, DiskFault> {
        match self.0.next() {
            Some(SqlStorageValue::Integer(value)) => Ok(value),
            other => Err(unexpected(other)),
        }
    }

    /// The next column, a count; negative values become 0.
    pub fn count(&mut self) -> Result<u64, DiskFault> {
        self.integer().map(|value| u64::try_from(value).unwrap_or_default())
    }

    /// The next column, a count of 32 bits; values out of range are clamped.
    pub fn small(&mut self) -> Result<u32, DiskFault> {
        self.integer().map(|value| u32::try_from(value.max(0)).unwrap_or(u32::MAX))
    }

    /// The next column, bytes.
    pub fn blob(&mut self) -> Result<Vec<u8>, DiskFault> {
        match self.0.next() {
            Some(SqlStorageValue::Blob(value)) => Ok(value),
            other => Err(unexpected(other)),
        }
    }

    /// The next column, a text.
    pub fn text(&mut self) -> Result<String, DiskFault> {
        match self.0.next() {
            Some(SqlStorageValue::String(value)) => Ok(value),
            other => Err(unexpected(other)),
        }
    }
}

/// A number for SQLite. All values here are instants, counts and versions, far below the limit of exact integers in a double.
pub fn number(value: i64) -> JsValue {
    JsValue::from_f64(value as f64)
}

/// A count for SQLite.
pub fn counted(value: u64) -> JsValue {
    JsValue::from_f64(value as f64)
}

fn fault(error: worker::Error) -> DiskFault {
    DiskFault(error.to_string())
}

fn unexpected(value: Option<SqlStorageValue>) -> DiskFault {
    DiskFault(format!("a column has an unexpected type: {value:?}"))
}
