-- How far each history is thinned: the day and the vault in it that come next. A process locks the row of a history for one step, so two
-- processes never thin the same history at a time, and a step and its position are committed together.

CREATE TABLE thinning (
    history    text PRIMARY KEY CHECK (history IN ('readings', 'chain_readings', 'holders')),
    -- Days before this one are thinned; a day begins after a midnight (UTC). Null until the first step.
    day        date,
    -- Vaults up to this one, by the bytes of their ids, are thinned on that day.
    vault_id   text NOT NULL DEFAULT ''
);
INSERT INTO thinning (history) VALUES ('readings'), ('chain_readings'), ('holders');
