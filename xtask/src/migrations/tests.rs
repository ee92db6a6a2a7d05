//! Bad migrations, each with the rule that refuses it, and good ones that do the same.

use super::{EXEMPT, LAST_EXEMPT, Migration, check, violations};

const TABLES: &str = "CREATE TABLE reading (id bigint PRIMARY KEY, at timestamptz, value text);\n\
                      CREATE TABLE journal_state (head bigint);";

/// The violations of one migration after [`TABLES`], without the file's name.
fn of(text: &str) -> Vec<String> {
    after(&[TABLES], text)
}

/// The violations of the last of several migrations.
fn after(earlier: &[&str], text: &str) -> Vec<String> {
    let all: Vec<Migration> = earlier
        .iter()
        .chain([&text])
        .enumerate()
        .map(|(number, text)| Migration { name: format!("{number}.sql"), text: (*text).to_owned() })
        .collect();
    let found = violations(&all, &[]);
    let last = format!("migrations/{}.sql:", earlier.len());
    found.iter().map(|one| one.strip_prefix(&last).expect("only the last migration breaks a rule").to_owned()).collect()
}

#[test]
fn what_locks_or_rewrites_a_table_of_an_earlier_migration_is_refused() {
    for (sql, rule) in [
        ("CREATE INDEX i ON reading (at)", "without CONCURRENTLY"),
        ("CREATE UNIQUE INDEX i ON public.Reading (at)", "without CONCURRENTLY"),
        ("CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON reading (at)", "no-transaction"),
        ("DROP INDEX i", "without CONCURRENTLY"),
        ("ALTER TABLE reading ALTER COLUMN value TYPE varchar(8)", "the type of reading.value"),
        ("ALTER TABLE reading ALTER value SET DATA TYPE json USING value::json", "the type of reading.value"),
        ("ALTER TABLE reading ALTER COLUMN at SET NOT NULL", "SET NOT NULL"),
        ("ALTER TABLE reading ADD COLUMN n bigint NOT NULL", "without a default"),
        ("ALTER TABLE reading ADD COLUMN made timestamptz DEFAULT clock_timestamp()", "may differ"),
        ("ALTER TABLE reading ADD COLUMN key text DEFAULT gen_random_uuid()::text", "may differ"),
        ("ALTER TABLE reading ADD COLUMN n bigint GENERATED ALWAYS AS IDENTITY", "is generated"),
        ("ALTER TABLE reading ADD COLUMN n text GENERATED ALWAYS AS (lower(value)) STORED", "is generated"),
        ("ALTER TABLE reading ADD COLUMN n bigserial", "sequence"),
        ("ALTER TABLE reading ADD COLUMN n bigint UNIQUE", "index under a lock"),
        ("ALTER TABLE reading ADD COLUMN n bigint CHECK (n > 0)", "NOT VALID"),
        ("ALTER TABLE reading ADD COLUMN n bigint REFERENCES journal_state", "NOT VALID"),
        ("ALTER TABLE reading ADD CONSTRAINT c CHECK (id > 0)", "NOT VALID"),
        ("ALTER TABLE reading ADD FOREIGN KEY (id) REFERENCES journal_state (head)", "NOT VALID"),
        ("ALTER TABLE reading ADD CONSTRAINT c UNIQUE (at)", "USING INDEX"),
        ("ALTER TABLE reading SET UNLOGGED", "rewrites"),
        ("ALTER TABLE reading DROP COLUMN value", "only add"),
        ("ALTER TABLE reading RENAME COLUMN value TO text", "old name"),
        ("ALTER TABLE reading RENAME TO readings", "old name"),
        ("DROP TABLE reading", "only add"),
        ("TRUNCATE reading", "only add"),
        ("UPDATE reading SET value = 'a' WHERE value IS NULL", "in batches"),
        ("DELETE FROM reading WHERE at < now()", "in batches"),
        ("CREATE TABLE copy (id bigint); INSERT INTO copy SELECT id FROM reading", "in batches"),
        ("LOCK TABLE reading IN SHARE MODE", "stops the service"),
        ("VACUUM FULL reading", "VACUUM"),
        ("DO $$ BEGIN DELETE FROM reading; END $$", "cannot be parsed"),
        ("CLUSTER reading", "cannot be parsed"),
    ] {
        let found = of(&format!("-- Why.\n\n{sql};\n"));
        assert_eq!(found.len(), 1, "{sql}: {found:?}");
        assert!(found[0].starts_with("3: ") && found[0].contains(rule), "{sql}: {found:?}");
    }
}

#[test]
fn what_takes_a_short_lock_is_accepted() {
    for sql in [
        "ALTER TABLE reading ADD COLUMN n bigint",
        "ALTER TABLE reading ADD COLUMN n boolean NOT NULL DEFAULT false, ADD COLUMN t text[] NOT NULL DEFAULT '{}'",
        "ALTER TABLE reading ADD COLUMN n integer DEFAULT -1, ADD COLUMN at_all timestamptz DEFAULT now()",
        "ALTER TABLE reading ADD COLUMN j jsonb NOT NULL DEFAULT '[]'::jsonb",
        "ALTER TABLE reading ADD CONSTRAINT c CHECK (id > 0) NOT VALID",
        "ALTER TABLE reading ALTER COLUMN value SET DEFAULT 'a', ALTER COLUMN at DROP NOT NULL",
        "ALTER TABLE reading DROP CONSTRAINT IF EXISTS c",
        "ALTER TABLE reading ADD CONSTRAINT c UNIQUE USING INDEX reading_by_at",
        "ALTER TABLE journal_state ALTER COLUMN head SET NOT NULL; UPDATE journal_state SET head = 0",
        "CREATE TABLE other (id bigint); CREATE INDEX i ON other (id); INSERT INTO other VALUES (1); UPDATE other SET id = 2",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM reading; RETURN NULL; END $$; \
         CREATE TRIGGER t AFTER INSERT ON reading FOR EACH ROW EXECUTE FUNCTION f()",
        "COMMENT ON TABLE reading IS 'Rows; semicolons; -- and more.'",
    ] {
        assert_eq!(of(&format!("-- Why.\n{sql};\n")), [""; 0], "{sql}");
    }
}

#[test]
fn an_index_is_built_concurrently_in_a_file_of_its_own() {
    let index = "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON reading (at);\n";
    assert_eq!(of(&format!("-- no-transaction\n-- Why.\n{index}")), [""; 0]);
    assert_eq!(of("-- no-transaction\nDROP INDEX CONCURRENTLY IF EXISTS i;"), [""; 0]);
    let two = of(&format!("-- no-transaction\n{index}{}", index.replace(" i ", " j ")));
    assert!(two.len() == 1 && two[0].contains("one statement"), "{two:?}");
    let unsafe_to_repeat = of(&format!("-- no-transaction\n{}", index.replace("IF NOT EXISTS ", "")));
    assert!(unsafe_to_repeat.len() == 1 && unsafe_to_repeat[0].contains("IF NOT EXISTS"), "{unsafe_to_repeat:?}");
}

#[test]
fn a_column_becomes_not_null_in_three_files() {
    let add = "ALTER TABLE reading ADD CONSTRAINT at_known CHECK (at IS NOT NULL) NOT VALID;";
    let validate = "ALTER TABLE reading VALIDATE CONSTRAINT at_known;";
    let set = "ALTER TABLE reading ALTER COLUMN at SET NOT NULL;";
    assert_eq!(after(&[TABLES, add], validate), [""; 0]);
    assert_eq!(after(&[TABLES, add, validate], set), [""; 0]);
    assert_eq!(after(&[TABLES, add], set).len(), 1);
    let at_once = after(&[TABLES], &format!("{add}\n{validate}"));
    assert!(at_once.len() == 1 && at_once[0].starts_with("2: ") && at_once[0].contains("later file"), "{at_once:?}");
}

#[test]
fn only_released_files_can_be_exempt_and_only_while_they_need_it() {
    let migration = |name: &str, text: &str| Migration { name: name.to_owned(), text: text.to_owned() };
    let released =
        [migration("20261101000000_a.sql", TABLES), migration("20261102000000_b.sql", "DROP TABLE reading;")];
    assert_eq!(violations(&released, &[]).len(), 1);
    assert_eq!(violations(&released, &[("20261102000000_b.sql", "why")]), [""; 0]);
    let needless = violations(&released, &[("20261101000000_a.sql", "why"), ("20261102000000_b.sql", "why")]);
    assert!(needless.len() == 1 && needless[0].contains("must not be exempt"), "{needless:?}");
    let later = [migration("20270101000000_a.sql", "CLUSTER;")];
    let found = violations(&later, &[("20270101000000_a.sql", "why")]);
    assert!(found.len() == 1 && found[0].contains(LAST_EXEMPT), "{found:?}");
}

#[test]
fn the_migrations_of_this_clone_follow_the_rules() {
    assert_eq!(check().expect("the migrations can be read"), [""; 0]);
    assert!(EXEMPT.iter().all(|(_, reason)| reason.len() > 20));
}

#[test]
fn code_may_change_functions_and_nothing_else() {
    let with = |what: &str| format!("DO $$ BEGIN EXECUTE format('{what}', 'x'); END $$");
    assert_eq!(of(&with("ALTER FUNCTION %s SET search_path = public, pg_temp")), Vec::<String>::new());
    assert_eq!(of(&with("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC")), Vec::<String>::new());
    for what in ["ALTER TABLE %s SET UNLOGGED", "DELETE FROM %s", "CREATE INDEX ON %s (at)", "Update %s SET at = now()"]
    {
        let [found] = of(&with(what)).try_into().expect("one violation");
        assert!(found.contains("cannot be parsed"), "{found}");
    }
}
