-- How the service did, minute by minute: what the status feed's uptime and rates are counted from.

-- One row a minute in which any process took a sample. A minute without one was a minute down.
create table status_sample (
    minute  timestamptz primary key check (minute = date_trunc('minute', minute)),
    -- Whether any process found the service up.
    is_up   boolean not null,
    -- Whether it was reached from outside; null where nobody tried.
    reached boolean
);

-- Each process's answers of the last quarter of an hour, so that every process knows of all.
create table status_traffic (
    minute   timestamptz not null check (minute = date_trunc('minute', minute)),
    process  bigint not null,
    requests bigint not null check (requests >= 0),
    failed   bigint not null check (failed between 0 and requests),
    primary key (minute, process)
);
