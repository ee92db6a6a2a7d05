//! What the migrations so far have created, as far as the rules need it.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{AlterTableOperation, Expr, ObjectType, Statement, TableConstraint};

use super::statements::{Parsed, plain};

/// Tables with a bounded and small number of rows, by construction. Locking or rewriting them takes milliseconds.
const SMALL: [&str; 16] = [
    "asset_registry",
    "basket",
    "basket_methodology",
    "chain",
    "chain_sync",
    "data_tag",
    "data_version",
    "decision_signer",
    "edge_tag",
    "edge_tag_message",
    "fail_safe",
    "graph_current",
    "graph_publication",
    "journal_consumer",
    "journal_state",
    "test_clock",
];

/// Tables and constraints.
#[derive(Default)]
pub(super) struct Schema {
    /// Every table, with the table that it is a partition of.
    tables: BTreeSet<String>,
    /// Constraints that were added to an existing table: the column that each requires, if it has the form `column IS NOT NULL`.
    constraints: BTreeMap<(String, String), Option<String>>,
    /// Columns of which a validated constraint says that they have no null.
    without_null: BTreeSet<(String, String)>,
}

impl Schema {
    /// Whether `table` exists and may be large.
    pub fn is_large(&self, table: &str) -> bool {
        self.tables.contains(table) && !SMALL.contains(&table)
    }

    /// Whether `table` exists.
    pub fn exists(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// Whether a validated constraint says that the column has no null, so that `SET NOT NULL` needs no scan.
    pub fn is_without_null(&self, table: &str, column: &str) -> bool {
        self.without_null.contains(&(table.to_owned(), column.to_owned()))
    }

    /// Whether an earlier file added the constraint, so that validating it holds no lock of its addition.
    pub fn has_constraint(&self, table: &str, name: &str) -> bool {
        self.constraints.contains_key(&(table.to_owned(), name.to_owned()))
    }

    /// Adds what a migration creates.
    pub fn apply(&mut self, migration: &Parsed) {
        for statement in migration.statements.iter().filter_map(|one| one.parsed.as_ref().ok()) {
            match statement {
                Statement::CreateTable(created) => {
                    self.tables.insert(plain(&created.name));
                }
                Statement::Drop { object_type: ObjectType::Table, names, .. } => {
                    for name in names {
                        self.tables.remove(&plain(name));
                    }
                }
                Statement::AlterTable(altered) => {
                    let table = plain(&altered.name);
                    for operation in &altered.operations {
                        self.alter(&table, operation);
                    }
                }
                _ => {}
            }
        }
    }

    fn alter(&mut self, table: &str, operation: &AlterTableOperation) {
        match operation {
            AlterTableOperation::AddConstraint { constraint, .. } => {
                if let Some((name, column)) = named(constraint) {
                    self.constraints.insert((table.to_owned(), name), column);
                }
            }
            AlterTableOperation::ValidateConstraint { name } => {
                let key = (table.to_owned(), name.value.to_lowercase());
                if let Some(Some(column)) = self.constraints.get(&key) {
                    self.without_null.insert((table.to_owned(), column.clone()));
                }
            }
            _ => {}
        }
    }
}

/// A constraint's name, and the column that it requires to be without null.
fn named(constraint: &TableConstraint) -> Option<(String, Option<String>)> {
    match constraint {
        TableConstraint::Check(check) => {
            let column = match &*check.expr {
                Expr::IsNotNull(inner) => match &**inner {
                    Expr::Identifier(column) => Some(column.value.to_lowercase()),
                    _ => None,
                },
                _ => None,
            };
            Some((check.name.as_ref()?.value.to_lowercase(), column))
        }
        TableConstraint::ForeignKey(key) => Some((key.name.as_ref()?.value.to_lowercase(), None)),
        _ => None,
    }
}
