-- A row that is written anew every few seconds, so that a database which refuses writes is noticed.

-- Each write takes fresh space: the table is truncated first. Unlogged, for nothing in it has to survive a crash.
create unlogged table write_probe (
    -- When a write last succeeded, by the database's clock.
    written_at timestamptz not null,
    -- Random bytes, so that the write needs room on the disk.
    filler     bytea not null
);
