//! What a migration must not do to tables of earlier migrations.
//!
//! Sources: the sections "Notes" of `ALTER TABLE` and "Building Indexes Concurrently" of `CREATE INDEX` in the manual of Postgres.

use sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ColumnDef, ColumnOption, DataType, Expr, FromTable, FunctionArguments,
    ObjectType, Statement, TableConstraint, TableFactor, TableObject, TableWithJoins, UnaryOperator,
};

use super::schema::Schema;
use super::statements::{One, Parsed, plain};

/// Functions whose value is the same in a whole transaction, so that a column with this default is added without a rewrite.
const STABLE: [&str; 4] = ["now", "transaction_timestamp", "statement_timestamp", "current_timestamp"];

/// The rules that a migration breaks, each with its line.
pub(super) fn broken(migration: &Parsed, before: &Schema) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let count = migration.statements.len();
    if !migration.is_in_transaction && count != 1 {
        let rule =
            "a file without a transaction must have one statement: Postgres would run several in one transaction";
        found.push((1, rule.to_owned()));
    }
    for one in &migration.statements {
        let mut rules = Vec::new();
        match &one.parsed {
            Ok(statement) => examine(statement, one, migration.is_in_transaction, before, &mut rules),
            Err(_) if changes_only_functions(one) => {}
            Err(error) => rules.push(format!("the statement cannot be parsed, so its locks are unknown: {error}")),
        }
        found.extend(rules.into_iter().map(|rule| (one.line, rule)));
    }
    found
}

/// Whether it is a `DO` whose code names functions and rights on them only, which are changed without a lock on a table.
fn changes_only_functions(one: &One) -> bool {
    const OTHERS: [&str; 13] = [
        "table",
        "index",
        "insert",
        "update",
        "delete",
        "truncate",
        "lock",
        "view",
        "constraint",
        "trigger",
        "cluster",
        "reindex",
        "select",
    ];
    let is_do = one.words.first().is_some_and(|word| word == "do") && !one.code.is_empty();
    let names_others = |text: &String| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| OTHERS.contains(&word.to_lowercase().as_str()))
    };
    is_do && !one.code.iter().any(names_others)
}

fn examine(statement: &Statement, one: &One, in_transaction: bool, before: &Schema, rules: &mut Vec<String>) {
    let mut say = |rule: String| rules.push(rule);
    match statement {
        Statement::CreateIndex(index) => {
            let table = plain(&index.table_name);
            if index.concurrently {
                if in_transaction {
                    say("CONCURRENTLY needs a file whose first line is `-- no-transaction`".to_owned());
                }
                if !index.if_not_exists {
                    say("CONCURRENTLY needs IF NOT EXISTS: the file runs again if it was not recorded".to_owned());
                }
            } else if before.is_large(&table) {
                say(format!("an index on {table} without CONCURRENTLY stops its writers until it is built"));
            }
        }
        Statement::AlterTable(altered) => {
            let table = plain(&altered.name);
            if before.exists(&table) {
                for operation in &altered.operations {
                    alter(&table, operation, before, &mut say);
                }
            }
        }
        Statement::Update(update) => written("UPDATE", std::slice::from_ref(&update.table), before, &mut say),
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            written("DELETE", from, before, &mut say);
        }
        Statement::Insert(insert) => {
            let into = match &insert.table {
                TableObject::TableName(name) => plain(name),
                _ => String::new(),
            };
            let read = one.words.iter().find(|word| **word != into && before.is_large(word));
            if let Some(table) = read {
                say(format!(
                    "INSERT from {table} takes as long as the table is large: let the service fill rows in batches"
                ));
            }
        }
        Statement::Truncate(truncate) => {
            for target in &truncate.table_names {
                only_add(&plain(&target.name), "TRUNCATE", before, &mut say);
            }
        }
        Statement::Drop { object_type, names, .. } => match object_type {
            ObjectType::Table | ObjectType::View | ObjectType::MaterializedView => {
                for name in names {
                    only_add(&plain(name), "DROP", before, &mut say);
                }
            }
            ObjectType::Index => {
                let is_concurrent = one.words.iter().any(|word| word == "concurrently");
                if !is_concurrent {
                    say("DROP INDEX without CONCURRENTLY waits for every reader, and stops those after it".to_owned());
                } else if in_transaction {
                    say("CONCURRENTLY needs a file whose first line is `-- no-transaction`".to_owned());
                }
            }
            _ => {}
        },
        Statement::Lock(lock) => {
            for target in &lock.tables {
                let table = plain(&target.name);
                if before.exists(&table) {
                    say(format!("LOCK {table} stops the service"));
                }
            }
        }
        Statement::Vacuum(_) => say("VACUUM is the server's work, and VACUUM FULL rewrites the table".to_owned()),
        Statement::Call(_) => say("what a procedure locks is unknown".to_owned()),
        // Statements about functions, types, triggers, comments and views take short locks.
        _ => {}
    }
}

fn only_add(table: &str, verb: &str, before: &Schema, say: &mut impl FnMut(String)) {
    if before.exists(table) {
        say(format!("{verb} {table}: migrations only add, because the previous release still uses the table"));
    }
}

/// Reports the existing tables that are updated or deleted from.
fn written(verb: &str, tables: &[TableWithJoins], before: &Schema, say: &mut impl FnMut(String)) {
    for table in tables {
        if let TableFactor::Table { name, .. } = &table.relation {
            let table = plain(name);
            if before.is_large(&table) {
                say(format!(
                    "{verb} of {table} locks its rows until the migration ends: let the service do it in batches"
                ));
            }
        }
    }
}

fn alter(table: &str, operation: &AlterTableOperation, before: &Schema, say: &mut impl FnMut(String)) {
    use AlterTableOperation as Op;
    let is_large = before.is_large(table);
    match operation {
        Op::AddColumn { column_def, .. } if is_large => add_column(table, column_def, say),
        Op::AddConstraint { constraint, not_valid } if is_large => match constraint {
            TableConstraint::Check(_) | TableConstraint::ForeignKey(_) if !not_valid => {
                say(format!("a constraint on {table} needs NOT VALID, and VALIDATE CONSTRAINT in a later file"));
            }
            TableConstraint::Unique(_) | TableConstraint::PrimaryKey(_) => say(format!(
                "a key of {table} builds its index under a lock: create the index CONCURRENTLY, then add the key USING INDEX"
            )),
            _ => {}
        },
        Op::ValidateConstraint { name } if is_large => {
            let name = name.value.to_lowercase();
            if !before.has_constraint(table, &name) {
                say(format!(
                    "{name} of {table} must be validated in a later file than the one that adds it: the lock of its addition is held"
                ));
            }
        }
        Op::AlterColumn { column_name, op } => match op {
            AlterColumnOperation::SetDataType { .. } => {
                say(format!(
                    "the type of {table}.{column_name} cannot change: Postgres rewrites the table, and the previous release reads the old type"
                ));
            }
            AlterColumnOperation::SetNotNull
                if is_large && !before.is_without_null(table, &column_name.value.to_lowercase()) =>
            {
                say(format!(
                    "SET NOT NULL on {table}.{column_name} scans the table under a lock, unless an earlier file validated CHECK ({column_name} IS NOT NULL)"
                ));
            }
            AlterColumnOperation::AddGenerated { .. } if is_large => {
                say(format!("{table}.{column_name} becomes NOT NULL with an identity"));
            }
            _ => {}
        },
        Op::DropColumn { column_names, .. } => {
            for column in column_names {
                say(format!(
                    "DROP COLUMN {table}.{column}: migrations only add, because the previous release still reads it"
                ));
            }
        }
        Op::RenameColumn { .. } | Op::RenameTable { .. } => {
            say(format!("RENAME in {table}: the previous release uses the old name"));
        }
        Op::SetLogged | Op::SetUnlogged if is_large => say(format!("SET LOGGED or UNLOGGED rewrites {table}")),
        Op::AttachPartitionOf { partition, .. } => {
            let partition = plain(partition);
            if before.is_large(&partition) {
                say(format!(
                    "ATTACH PARTITION scans {partition} under a lock, unless a validated constraint has the same bounds"
                ));
            }
        }
        Op::DetachPartitionOf { mode: None, .. } if is_large => {
            say(format!(
                "DETACH PARTITION of {table} without CONCURRENTLY waits for every reader, and stops those after it"
            ));
        }
        _ => {}
    }
}

fn add_column(table: &str, column: &ColumnDef, say: &mut impl FnMut(String)) {
    let name = format!("{table}.{}", column.name);
    if let DataType::Custom(kind, _) = &column.data_type
        && plain(kind).ends_with("serial")
    {
        say(format!("{name} is filled from a sequence, which rewrites the table"));
    }
    let (mut is_not_null, mut default) = (false, None);
    for option in &column.options {
        match &option.option {
            ColumnOption::NotNull => is_not_null = true,
            ColumnOption::Default(value) => default = Some(value),
            ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_) => {
                say(format!("the key {name} builds its index under a lock"));
            }
            ColumnOption::Generated { .. } | ColumnOption::Identity(_) => {
                say(format!("{name} is generated, which rewrites the table"));
            }
            ColumnOption::Check(_) | ColumnOption::ForeignKey(_) => {
                say(format!(
                    "the constraint of {name} is checked under a lock: add it NOT VALID in a statement of its own"
                ));
            }
            _ => {}
        }
    }
    if is_not_null && default.is_none() {
        say(format!("{name} is NOT NULL without a default: rows exist, and the previous release writes no value"));
    }
    if let Some(value) = default.filter(|value| !is_constant(value)) {
        say(format!("the default of {name}, {value}, may differ from row to row, which rewrites the table"));
    }
}

/// Whether Postgres evaluates the default once, for all rows that exist.
fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_constant(expr),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus | UnaryOperator::Not, expr } => {
            is_constant(expr)
        }
        Expr::Array(array) => array.elem.iter().all(is_constant),
        Expr::Function(call) => {
            let has_arguments = matches!(&call.args, FunctionArguments::List(list) if !list.args.is_empty());
            !has_arguments && STABLE.contains(&plain(&call.name).as_str())
        }
        _ => false,
    }
}
