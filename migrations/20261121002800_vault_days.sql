-- Daily sums of `vault_snapshot`, so that a score run reads what changed and not a year of readings of every vault.
--
-- The sums follow from `vault_snapshot` alone and can be thrown away: without a row in `vault_sums` a vault is scored from its
-- readings, and the service makes its sums again, a few vaults at a time. Nothing is summed here.

-- One day of one vault. A day is what lies after a midnight (UTC) up to and including the next one, so that windows between
-- midnights are whole days. Prices are those above zero. Columns about prices are null on a day without one.
create table vault_day (
    vault_id      text not null references vault on delete cascade,
    -- The date of the day's first midnight, which is not in it.
    day           date not null,
    -- The newest reading of the day.
    last_at       timestamptz not null,
    -- The newest reading with a utilization, and the newest whose utilization was not above the limit of `high_util_72h`.
    used_at       timestamptz,
    calm_at       timestamptz,
    -- The two newest prices.
    priced_at     timestamptz,
    priced_before timestamptz,
    -- The greatest price, when it was last read, and the smallest.
    high          double precision,
    high_at       timestamptz,
    low           double precision,
    -- The greatest fall from the running peak within the day, in basis points rounded down, and when its peak was read.
    drawdown_bp   bigint,
    drawdown_from timestamptz,
    -- The first price and when it was read, and the last price.
    opened        double precision,
    opened_at     timestamptz,
    closed        double precision,
    -- The newest price that differs from the price before it on the same day.
    moved_at      timestamptz,
    -- The oldest price that is a leap over the price before it, whichever day that is of.
    leapt_at      timestamptz,
    primary key (vault_id, day)
);
create index vault_day_leapt on vault_day (leapt_at) include (vault_id) where leapt_at is not null;

-- A vault whose days are summed, and the sum of its closed days: those from `since` up to and including `closed_to`.
-- `closed_to` is null where the closed days have to be summed anew.
create table vault_sums (
    vault_id      text primary key references vault on delete cascade,
    closed_to     date,
    since         timestamptz,
    used_at       timestamptz,
    calm_at       timestamptz,
    priced_at     timestamptz,
    priced_before timestamptz,
    high          double precision,
    high_at       timestamptz,
    drawdown_bp   bigint,
    drawdown_from timestamptz
);

-- Days whose readings changed since they were summed, by whoever wrote them: the previous release and hands at a console too.
-- Rows are only added and deleted, never shared: a writer that has not committed keeps its own row, which nobody else can delete.
create table vault_day_change (
    id       bigint generated always as identity primary key,
    vault_id text not null,
    day      date not null
);
create index vault_day_change_by_vault on vault_day_change (vault_id);

-- The day that a reading of this instant belongs to.
create function vault_day_of(at timestamptz) returns date language sql immutable parallel safe as
    $$ select ((at - interval '1 microsecond') at time zone 'UTC')::date $$;

create function vault_snapshot_changed() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        insert into vault_day_change (vault_id, day)
            select vault_id, vault_day_of(observed_at) from before union select vault_id, vault_day_of(observed_at) from changed;
    elsif tg_op = 'TRUNCATE' then
        delete from vault_day;
        delete from vault_sums;
        delete from vault_day_change;
    else
        insert into vault_day_change (vault_id, day) select distinct vault_id, vault_day_of(observed_at) from changed;
    end if;
    return null;
end $$;

create trigger vault_snapshot_inserted after insert on vault_snapshot
    referencing new table as changed for each statement execute function vault_snapshot_changed();
create trigger vault_snapshot_updated after update on vault_snapshot
    referencing old table as before new table as changed for each statement execute function vault_snapshot_changed();
create trigger vault_snapshot_deleted after delete on vault_snapshot
    referencing old table as changed for each statement execute function vault_snapshot_changed();
create trigger vault_snapshot_truncated after truncate on vault_snapshot
    for each statement execute function vault_snapshot_changed();
