-- How far each family of facts has changed, and how far the edge knows it.

-- One row a tag, written last in every transaction that changes facts of the tag. The row's lock is held until the commit,
-- so versions become visible in their own order: whoever reads one has everything up to it.
create table data_tag (
    tag         text primary key,
    -- Milliseconds of the database's clock, or one more than before where that is not more: a database that was made anew or
    -- restored goes on above what the edge has seen of the one before it.
    version     bigint not null check (version > 0)
);
insert into data_tag (tag, version)
select tag, (extract(epoch from clock_timestamp()) * 1000)::bigint
from unnest(array['vaults', 'markets', 'feeds', 'assets', 'events', 'security', 'signals']) as tag;

-- The newest version of each tag that no isolate of the edge is behind.
create table edge_tag (
    tag         text primary key references data_tag,
    version     bigint not null
);

-- The message to the edge: at most one at a time, whoever sends it. It carries the newest versions, so changes that are
-- made while it is under way need one more, however many they are.
create table edge_tag_message (
    single      boolean primary key default true check (single),
    -- Who sends it: the count of those who have.
    attempt     bigint not null default 0,
    -- Failures in a row.
    failures    integer not null default 0,
    -- Nobody sends it before then (wall time): somebody is sending it, or has just failed to.
    not_before  timestamptz not null,
    -- When the latest acknowledged message was made: the edge knows everything up to then.
    told_at     timestamptz,
    -- Why the latest attempt failed; for operators.
    last_error  text
);
insert into edge_tag_message (not_before) values (to_timestamp(0));
