-- The journal: every captured operation's place in the one order that all subscribers see.
--
-- Numbers are dense, grow in the order in which operations became visible, and are never given twice. A sequencer gives
-- them: it remembers the snapshot up to which everything visible has been numbered, and numbers exactly what a later
-- snapshot sees and that one did not. What commits late is numbered when it commits; what rolls back never is.

CREATE TABLE journal (
    seq          bigint NOT NULL CHECK (seq > 0),
    -- The operation, by its key: `recorded_at` leads to its partition.
    operation_id bigint NOT NULL,
    recorded_at  timestamptz NOT NULL,
    -- When it was numbered; never before its predecessor.
    at           timestamptz NOT NULL,
    PRIMARY KEY (seq, at)
) PARTITION BY RANGE (at);
CREATE INDEX journal_by_at ON journal (at, seq);
-- When an hour of operations may go, and what of it has a number: asked of that hour alone, never of the whole window.
CREATE INDEX journal_by_recorded_at ON journal (recorded_at);

-- Takes what is numbered in an hour that nobody has made a partition for.
CREATE TABLE journal_other PARTITION OF journal DEFAULT;

-- Which cluster this is, and which of its timelines: another one means that the facts were restored from elsewhere or
-- from earlier, and that numbers above the head may have been given already.
CREATE FUNCTION journal_incarnation() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT system_identifier::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()
$$;

-- Exactly one row. Its lock is the turn of the one who numbers.
CREATE TABLE journal_state (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    -- The last number given.
    head        bigint NOT NULL CHECK (head >= 0),
    -- When it was given.
    head_at     timestamptz NOT NULL,
    -- Everything visible here has its number.
    snap        pg_snapshot NOT NULL,
    -- Where `head` and `snap` hold.
    incarnation text NOT NULL
) WITH (fillfactor = 10);
INSERT INTO journal_state (head, head_at, snap, incarnation)
VALUES (0, '-infinity', pg_current_snapshot(), journal_incarnation());

-- The jumps of the numbering: numbers above `from_seq` up to `to_seq` belonged to a timeline that is gone, or to nobody.
CREATE TABLE incarnation (
    from_seq    bigint PRIMARY KEY,
    to_seq      bigint NOT NULL CHECK (to_seq > from_seq),
    at          timestamptz NOT NULL,
    incarnation text NOT NULL,
    reason      text NOT NULL
);

-- Who reads the journal at their own pace, and the last number they have taken in. What one of them has not read is kept.
CREATE TABLE journal_consumer (
    name     text PRIMARY KEY,
    position bigint NOT NULL CHECK (position >= 0)
);

-- An open stream. The rows are the count: a stream is admitted when there are too few of its key and of its viewer.
CREATE TABLE stream_lease (
    id         bigint PRIMARY KEY,
    -- The process that serves it; when that is gone the row counts no more.
    process    bigint NOT NULL,
    -- Null where no key is needed.
    key_id     bigint,
    -- The end viewer, where one is told.
    viewer     text,
    opened_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_stream_is_somebodys CHECK (num_nonnulls(key_id, viewer) > 0)
);
CREATE INDEX stream_lease_by_key ON stream_lease (key_id, viewer);
CREATE INDEX stream_lease_by_viewer ON stream_lease (viewer) WHERE key_id IS NULL;
CREATE INDEX stream_lease_by_process ON stream_lease (process);

-- A process that serves streams, and until when it is believed to be alive. By the database's own clock.
CREATE TABLE stream_process (
    id          bigint PRIMARY KEY,
    alive_until timestamptz NOT NULL
);

-- When a stream's client last read too slowly, for the status page.
CREATE TABLE stream_overflow (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    at  timestamptz NOT NULL
);
