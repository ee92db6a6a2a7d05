-- Pasts: what a restore takes back is told apart from what is given after it (see the origin's store/journal/step.rs).

-- Which database this is: the cluster, its timeline, and the database in it. A dump that is loaded into another database of the same
-- server is another one, too. `journal_state` says where its numbers were given; a database that is where it was stays so.
UPDATE journal_state SET incarnation = incarnation || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE incarnation = journal_incarnation();
CREATE OR REPLACE FUNCTION journal_incarnation() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT system_identifier::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
        || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
    FROM pg_control_system()
$$;

-- A step jumps over data versions as it does over the journal's numbers: versions above `data_from` and below `data_to` belonged to a
-- past that is gone, or to nobody. Null where a release stepped that jumped over none.
ALTER TABLE incarnation
    ADD COLUMN data_from bigint,
    ADD COLUMN data_to   bigint,
    ADD CONSTRAINT both_ends_of_a_jump CHECK ((data_from IS NULL) = (data_to IS NULL) AND data_to > data_from);

-- Until a restored database has made its step no data version is given in it, whichever release or command writes: it might be one
-- that the past which is gone gave, too. The same goes for a writer that began before the step and would set the version back. To
-- writers the database is not ready yet (57P03): they are to try again.
CREATE FUNCTION a_data_version_is_given_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version < OLD.version THEN
        RAISE EXCEPTION 'data version % is below %: the numbers were stepped over meanwhile', NEW.version, OLD.version
            USING ERRCODE = 'cannot_connect_now';
    END IF;
    IF NOT (SELECT incarnation = journal_incarnation() FROM journal_state) THEN
        RAISE EXCEPTION 'this database was restored, and its numbers have yet to be stepped over: a running service does that, or rds-origin journal step'
            USING ERRCODE = 'cannot_connect_now';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_data_version_is_given_once BEFORE UPDATE ON data_version
    FOR EACH ROW EXECUTE FUNCTION a_data_version_is_given_once();
