-- Who answers otherwise than the other operators of a chain, for the status feed of every process.

CREATE TABLE chain_dissent (
    chain_id    bigint NOT NULL REFERENCES chain,
    -- Name of the operator in the file of providers.
    operator    text NOT NULL,
    -- Time of the newest block about which it answered otherwise.
    observed_at timestamptz NOT NULL,
    PRIMARY KEY (chain_id, operator)
);

COMMENT ON COLUMN vault_state.read_at IS
    'Time of the newest block of the chain at which the row was read, or found as it had been read; null without readings.';
