-- Whether the sequencer numbers on its own beat, because several producers commit at the same time. A producer then sends
-- no notification: commits that notify wait for each other. Only a hint: if it is wrong, operations are numbered a moment later.

ALTER TABLE journal_state ADD COLUMN is_busy boolean NOT NULL DEFAULT false;
