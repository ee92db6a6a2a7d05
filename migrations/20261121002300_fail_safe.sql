-- What the platform does while its scores cannot be trusted: what an operator said, what the guard of score runs found, and when
-- which mode came of it.

create table fail_safe (
    single     boolean primary key default true check (single),
    -- What an operator said last, and why.
    mode       text not null default 'normal' check (mode in ('normal', 'degraded', 'fail_closed')),
    reason     text,
    -- When what is in force came to be in force; null while nothing ever changed it.
    since      timestamptz,
    -- Why score runs are held back; null when the latest one over everything was published.
    held       text check (held in ('non_finite_input', 'contradiction', 'stale_inputs', 'mass_move')),
    -- When a run was held back last; the next one is tried a while after that.
    tried_at   timestamptz,
    -- An operator has looked at what was held back: the next run over everything is due, and may move as many tiers as it does.
    accepted   boolean not null default false,
    constraint an_operator_says_why check (mode = 'normal' or reason is not null)
);
insert into fail_safe default values;

-- Every change of the mode or of its reason: who, when, why.
create table fail_safe_change (
    id         bigint generated always as identity primary key,
    changed_at timestamptz not null,
    -- In force from then on.
    mode       text not null check (mode in ('normal', 'degraded', 'fail_closed')),
    -- An operator's name, or the guard.
    said_by    text not null,
    reason     text not null
);

create function what_was_said_stays_said() returns trigger language plpgsql as $$
begin
    raise exception 'a change of the mode is never rewritten' using errcode = 'integrity_constraint_violation';
end $$;
create trigger what_was_said_stays_said before update or delete on fail_safe_change
    for each row execute function what_was_said_stays_said();

-- The mode travels as this tag's version: a multiple of four is normal, one more degraded, two more fail-closed.
insert into data_tag (tag, version) values ('fail_safe', ((extract(epoch from clock_timestamp()) * 1000)::bigint / 4 + 1) * 4);
