-- What serving does and only the owner of a table may do: hourly partitions, and a look at the transactions of every role. These functions run
-- with the rights of the role that migrates, so the role that serves owns nothing and creates nothing itself.

-- The name of an hour's partition. `hour` counts from 1970.
CREATE FUNCTION partition_name(parent text, hour bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF parent IS NULL OR parent NOT IN ('push_operation', 'journal') OR hour IS NULL OR hour < 0 THEN
        RAISE EXCEPTION '% has no hourly partition %', parent, hour USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN parent || '_' || hour;
END $$;

-- Creates and attaches an hour's partition. The table is created separately and then attached, which does not wait for producers.
CREATE FUNCTION make_partition(parent text, hour bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    part text := partition_name(parent, hour);
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', part, parent);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, part,
                   to_timestamp(hour * 3600), to_timestamp((hour + 1) * 3600));
END $$;

CREATE FUNCTION detach_partition(parent text, hour bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, partition_name(parent, hour));
END $$;

-- Drops a partition that was detached. An attached one is refused: readers and producers still use it.
CREATE FUNCTION drop_partition(parent text, hour bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    part text := partition_name(parent, hour);
BEGIN
    IF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(part)) THEN
        RAISE EXCEPTION 'the partition % is attached', part USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    EXECUTE format('DROP TABLE %I', part);
END $$;

-- Age in seconds of the oldest open transaction in this database that has written something. The sessions of other roles are visible only if
-- the role that migrates is a member of pg_read_all_stats.
CREATE FUNCTION oldest_writer_seconds() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    RETURN (SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0)::bigint
            FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = current_database());
END $$;

-- Client connections to the server, from all clients; with the same limit on what is visible.
CREATE FUNCTION client_connections() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    RETURN (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend');
END $$;

-- A function that runs with its owner's rights finds tables in this schema only, never in one of the caller's.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['make_partition(text, bigint)', 'detach_partition(text, bigint)', 'drop_partition(text, bigint)',
                                'oldest_writer_seconds()', 'client_connections()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', name);
    END LOOP;
END $$;
