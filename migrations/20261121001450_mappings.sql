-- What things have in common: bridges, sets of signers, oracle vendors, clusters of operators, each with all that is mapped to it;
-- and the assets of liquidity hubs.

CREATE TABLE mapping (
    mapping_type text NOT NULL CHECK (mapping_type IN ('bridge', 'signer_set', 'oracle_vendor', 'operator_cluster')),
    mapping_id   text NOT NULL,
    name         text,
    is_active    boolean NOT NULL,
    -- Whether a source says what is mapped to it.
    verified     boolean NOT NULL,
    -- A fraction of at most six places, as in `applies_to`.
    confidence   double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    -- {form, chain_id, address, threshold, owners, delay_seconds, proxy_admin, roles, permissions}
    signers      jsonb,
    -- {system, symbol, ends: [{chain, chain_id, protocol, address, symbol, decimals, standard, collateral}]}
    bridge       jsonb,
    operators    text[] NOT NULL,
    -- [{type, id, verified, confidence, reason}]; a null says what the mapping says.
    applies_to   jsonb NOT NULL,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (mapping_type, mapping_id),
    CONSTRAINT details_fit_the_type CHECK (
        (signers IS NULL OR mapping_type = 'signer_set') AND (bridge IS NULL OR mapping_type = 'bridge')
        AND (operators = '{}' OR mapping_type = 'operator_cluster'))
);
-- Finds what a subject is mapped to.
CREATE INDEX mapping_by_subject ON mapping USING gin (applies_to jsonb_path_ops);

CREATE TABLE hub_asset (
    -- "{chain_id}:{hub_address}"
    hub                    text NOT NULL,
    asset_address          text NOT NULL,
    protocol_id            text NOT NULL REFERENCES protocol,
    protocol_version       text NOT NULL,
    chain_id               bigint NOT NULL REFERENCES chain,
    hub_address            text NOT NULL,
    hub_name               text NOT NULL,
    asset_symbol           text NOT NULL,
    interest_rate_strategy text,
    wrapper_address        text,
    is_active              boolean NOT NULL,
    source                 text NOT NULL,
    observed_at            timestamptz NOT NULL,
    content_hash           bytea NOT NULL,
    PRIMARY KEY (hub, asset_address)
);
