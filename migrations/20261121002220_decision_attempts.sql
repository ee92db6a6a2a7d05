-- A decision whose signer turns out to have been retired when it was made is void, and its check is decided afresh. The void one
-- stays under its id: whoever holds it is told that its signer was not active.

alter table decision
    -- How often the check had been decided before. A void decision stays void, for a retirement only moves to an earlier instant:
    -- so the one of the greatest number is the one that counts.
    add column attempt integer not null default 0 check (attempt >= 0),
    drop constraint decision_pkey,
    add primary key (org_id, subject, attempt);
alter table decision alter column attempt drop default;

-- What a key signed last, for it is retired after that.
create index decision_by_signer on decision (key_id, created_at desc);
