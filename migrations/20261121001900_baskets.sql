-- Baskets: what they are made by, their versions, which never change, and how far a version is still supported.

CREATE TABLE basket (
    id               text PRIMARY KEY,
    name             text NOT NULL,
    constituent_type text NOT NULL CHECK (constituent_type IN ('vault', 'asset')),
    -- The one whose constituents `in_basket_a` tells of.
    is_basket_a      boolean NOT NULL,
    source           text NOT NULL,
    observed_at      timestamptz NOT NULL,
    content_hash     bytea NOT NULL,
    -- Written by rebalances alone; observations leave them as they are: since when the due one cannot be carried out, and why.
    halted_since     timestamptz,
    halt_reason      text,
    CONSTRAINT only_assets_know_basket_a CHECK (NOT is_basket_a OR constituent_type = 'asset'),
    CONSTRAINT a_halt_has_a_reason CHECK ((halted_since IS NULL) = (halt_reason IS NULL)),
    -- Asked at the commit: one batch may take it from one basket and give it to another.
    CONSTRAINT one_is_basket_a EXCLUDE USING btree (is_basket_a WITH =) WHERE (is_basket_a) DEFERRABLE INITIALLY DEFERRED
);

-- The rules that a basket's versions are made by. The newest is in force from its `observed_at` on; none is ever rewritten.
CREATE TABLE basket_methodology (
    basket_id        text NOT NULL REFERENCES basket,
    version          text NOT NULL,
    summary          text NOT NULL,
    doc_url          text,
    -- As it is served: what it leaves out asks nothing.
    eligibility_rule jsonb NOT NULL,
    -- Milli-points; parts per million of the basket.
    pivot            integer NOT NULL CHECK (pivot BETWEEN 0 AND 10000),
    min_constituents integer NOT NULL CHECK (min_constituents > 0),
    single_name      integer NOT NULL CHECK (single_name BETWEEN 1 AND 1000000),
    issuer           integer NOT NULL CHECK (issuer BETWEEN 1 AND 1000000),
    floor            integer NOT NULL CHECK (floor BETWEEN 0 AND single_name),
    source           text NOT NULL,
    observed_at      timestamptz NOT NULL,
    content_hash     bytea NOT NULL,
    PRIMARY KEY (basket_id, version)
);

-- A version, in force from `effective_from`, that instant included, until the next one's. The greatest number is current.
CREATE TABLE basket_version (
    version_id          text PRIMARY KEY,
    basket_id           text NOT NULL REFERENCES basket,
    -- As the basket was called when the version was made: its address goes on saying so.
    basket_name         text NOT NULL,
    number              integer NOT NULL CHECK (number > 0),
    -- Unique: no version has two that follow it.
    prior_version_id    text UNIQUE REFERENCES basket_version,
    effective_from      timestamptz NOT NULL,
    trigger_reason      text NOT NULL,
    methodology_version text NOT NULL,
    -- SHA-256 of what the version is; anyone recomputes it from what is served.
    content_hash        bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    -- Null while the service has no signing key.
    signing_key_id      text,
    created_at          timestamptz NOT NULL,
    UNIQUE (basket_id, number),
    UNIQUE (basket_id, effective_from),
    FOREIGN KEY (basket_id, methodology_version) REFERENCES basket_methodology (basket_id, version),
    CONSTRAINT the_first_follows_none CHECK ((number = 1) = (prior_version_id IS NULL))
);

CREATE TABLE basket_constituent (
    version_id text NOT NULL REFERENCES basket_version,
    -- A vault's or an asset's id.
    id         text NOT NULL,
    -- What the issuer cap groups by.
    issuer     text NOT NULL,
    score      integer NOT NULL CHECK (score BETWEEN 0 AND 10000),
    -- Parts per million; those of a version sum to 1 000 000.
    weight     integer NOT NULL CHECK (weight BETWEEN 1 AND 1000000),
    PRIMARY KEY (version_id, id)
);
CREATE INDEX basket_constituent_by_id ON basket_constituent (id);

-- When a rebalance last reproduced a version while it was in force, and by which rules. One that none reproduced has no row.
CREATE TABLE basket_version_confirmed (
    version_id          text PRIMARY KEY REFERENCES basket_version,
    confirmed_at        timestamptz NOT NULL,
    methodology_version text NOT NULL
);

-- What is said of a version later: it is deprecated, then retired in favour of another. A version of which nothing is said has
-- no row.
CREATE TABLE basket_version_support (
    version_id    text PRIMARY KEY REFERENCES basket_version,
    deprecated_at timestamptz NOT NULL,
    retired_at    timestamptz,
    successor_id  text REFERENCES basket_version,
    CONSTRAINT the_retired_name_who_follows CHECK (retired_at IS NULL OR successor_id IS NOT NULL),
    CONSTRAINT nobody_follows_himself CHECK (successor_id <> version_id)
);

-- A version is whole when it is committed, and nothing can be put into it later: weights are above zero.
CREATE FUNCTION a_basket_is_whole() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT coalesce(sum(weight), 0) FROM basket_constituent c WHERE c.version_id = NEW.version_id) <> 1000000 THEN
        RAISE EXCEPTION 'the weights of basket version % do not sum to one', NEW.version_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER a_basket_is_whole AFTER INSERT ON basket_version
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION a_basket_is_whole();
CREATE CONSTRAINT TRIGGER a_basket_is_whole AFTER INSERT ON basket_constituent
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION a_basket_is_whole();

CREATE FUNCTION a_basket_version_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a row of % is final', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER a_basket_version_is_final BEFORE UPDATE OR DELETE ON basket_version
    FOR EACH ROW EXECUTE FUNCTION a_basket_version_is_final();
CREATE TRIGGER a_basket_version_is_final BEFORE UPDATE OR DELETE ON basket_constituent
    FOR EACH ROW EXECUTE FUNCTION a_basket_version_is_final();
CREATE TRIGGER a_basket_version_is_final BEFORE UPDATE OR DELETE ON basket_methodology
    FOR EACH ROW EXECUTE FUNCTION a_basket_version_is_final();

CREATE FUNCTION only_what_is_in_force_is_confirmed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR EXISTS (SELECT FROM basket_version n WHERE n.prior_version_id = NEW.version_id) THEN
        RAISE EXCEPTION 'basket version % is not in force', coalesce(NEW.version_id, OLD.version_id) USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER only_what_is_in_force_is_confirmed BEFORE INSERT OR UPDATE OR DELETE ON basket_version_confirmed
    FOR EACH ROW EXECUTE FUNCTION only_what_is_in_force_is_confirmed();

-- Support is taken away step by step, and never given back.
CREATE FUNCTION basket_support_only_ends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR OLD.retired_at IS NOT NULL
            OR (NEW.version_id, NEW.deprecated_at) IS DISTINCT FROM (OLD.version_id, OLD.deprecated_at) THEN
        RAISE EXCEPTION 'what is said of basket version % stands', OLD.version_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER basket_support_only_ends BEFORE UPDATE OR DELETE ON basket_version_support
    FOR EACH ROW EXECUTE FUNCTION basket_support_only_ends();

-- What subscribers of baskets are told of. `event_id` is the version's id; the body names basket and version.
ALTER TABLE push_operation DROP CONSTRAINT push_operation_family_check;
ALTER TABLE push_operation ADD CONSTRAINT push_operation_family_check CHECK (family IN (
    'event.published', 'event.retracted', 'rating.changed', 'security_event.published',
    'basket.rebalanced', 'basket.version.deprecated', 'basket.version.retired'
));

INSERT INTO data_tag (tag, version) VALUES ('baskets', (extract(epoch from clock_timestamp()) * 1000)::bigint);
