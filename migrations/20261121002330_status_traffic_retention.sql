-- What the table of answers is for, as the store keeps it.

comment on table status_traffic is
    'Each process''s answers minute by minute, so that every process knows of all. Kept for an hour; the feed counts the last quarter of it.';
