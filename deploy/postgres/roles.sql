-- The database roles of the Risk Data Service, with the least rights: rds_migrate owns the tables and changes the schema, rds_serve runs the
-- service and the operators' commands, rds_read reads what contains no secret.
--
-- Run it in the service's database as a superuser, or as the administrator of a managed Postgres, and set the passwords:
--
--     psql -d rds -f deploy/postgres/roles.sql
--     psql -d rds -c '\password rds_migrate' -c '\password rds_serve' -c '\password rds_read'
--
-- Then `rds-origin migrate`, as rds_migrate, creates the tables and grants the other two their rights on them; each later `migrate` does so for
-- the tables that it adds. The file may be run again. If the tables exist and belong to another role, they get rds_migrate as their owner.
--
-- Roles belong to a whole cluster. If several installations share one, replace the three names by names of this installation, and pass those of
-- the last two to `rds-origin migrate --serve-role NAME --read-role NAME`. Statements are separated by blank lines, for `postgres --single -j`.

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['rds_migrate', 'rds_serve', 'rds_read'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I LOGIN NOCREATEDB NOCREATEROLE', name);
        END IF;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), name);
    END LOOP;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    -- Only a member of a role may make it the owner of something.
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT rds_migrate TO %I', current_user);
    END IF;
END $$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;

GRANT USAGE, CREATE ON SCHEMA public TO rds_migrate;

GRANT USAGE ON SCHEMA public TO rds_serve, rds_read;

-- Two functions that rds_migrate owns count all connections and look for the oldest writing transaction, also of other roles.
GRANT pg_read_all_stats TO rds_migrate;

ALTER ROLE rds_read SET default_transaction_read_only = on;

-- A statement that runs for hours would hold up vacuum.
ALTER ROLE rds_read SET statement_timeout = '10min';

-- Tables that another role created. Sequences of columns follow their tables, and what belongs to an extension is left alone.
DO $$
DECLARE
    change text;
BEGIN
    FOR change IN
        WITH mine AS (SELECT oid FROM pg_roles WHERE rolname = 'rds_migrate'), here AS (SELECT 'public'::regnamespace::oid AS oid)
        SELECT format('ALTER %s %s OWNER TO rds_migrate',
                      CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.oid::regclass)
        FROM pg_class c, mine, here
        WHERE c.relnamespace = here.oid AND c.relkind IN ('r', 'p', 'v', 'S') AND c.relowner <> mine.oid
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                              AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO rds_migrate', p.oid::regprocedure)
        FROM pg_proc p, mine, here
        WHERE p.pronamespace = here.oid AND p.proowner <> mine.oid
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        UNION ALL
        SELECT format('ALTER TEXT SEARCH CONFIGURATION %s OWNER TO rds_migrate', g.oid::regconfig)
        FROM pg_ts_config g, mine, here WHERE g.cfgnamespace = here.oid AND g.cfgowner <> mine.oid
        UNION ALL
        SELECT format('ALTER TEXT SEARCH DICTIONARY %s OWNER TO rds_migrate', t.oid::regdictionary)
        FROM pg_ts_dict t, mine, here WHERE t.dictnamespace = here.oid AND t.dictowner <> mine.oid
    LOOP
        EXECUTE change;
    END LOOP;
END $$;
